"""Finds lines of Markdown, CMake and YAML beyond 120 columns (`make lint`).

Rows of tables and lines with a URL may be longer.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

COLUMNS = 120
_PATTERNS = ("*.md", "*CMakeLists.txt", "*.cmake", "*.yaml", "*.yml", "*.cff")


def long_lines(path: Path) -> Iterator[int]:
    """The numbers of the long lines of a file."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if len(line) > COLUMNS and "://" not in line and not line.lstrip().startswith("|"):
            yield number


def main(names: list[str]) -> int:
    """Report the long lines of the named files, or of all files in git."""
    if not names:
        listed = subprocess.run(["git", "ls-files", "-z", "--", *_PATTERNS], check=True, capture_output=True, text=True)
        names = [name for name in listed.stdout.split("\0") if name and Path(name).exists()]
    found = [f"{name}:{number}: longer than {COLUMNS} columns" for name in names for number in long_lines(Path(name))]
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
