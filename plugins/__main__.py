"""`python -m flitgym.plugins`: which plugins there are and what they add; or where CMake finds flitgym."""

import argparse
import sys
from collections.abc import Mapping, Sequence

from . import VARIABLE, Plugin, brought, files, get_cmake_dir, get_include, installed

_FOLDERS = {
    "agents": "[a-z]*.py",
    "blocks": "[a-z]*.py",
    "configs": "*/*.yaml",
    "figures": "*/config.yaml",
    "studies": "*/config.yaml",
    "suites": "*.yaml",
}


def described(plugin: Plugin, libraries: Mapping[str, Sequence[str]]) -> list[str]:
    """A plugin with what it has, a line for each kind."""
    lines = [f"{plugin.name} {plugin.version} ({plugin.distribution})"]
    for folder, pattern in _FOLDERS.items():
        names = sorted({_name(folder, path) for own, path in files(folder, pattern) if own == plugin})
        if names:
            lines.append(f"  {folder}: {', '.join(names)}")
    return [*lines, *(f"  {kind}: {', '.join(names)}" for kind, names in libraries.items())]


def _name(folder: str, path: object) -> str:
    from pathlib import Path

    assert isinstance(path, Path)
    if folder == "configs":
        return f"{path.parent.name}={path.stem}"
    return path.parent.name if path.name == "config.yaml" else path.stem


def main(words: Sequence[str]) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser("python -m flitgym.plugins", description=__doc__)
    parser.add_argument("--cmake-dir", action="store_true", help="folder for find_package(flitgym)")
    parser.add_argument("--include-dir", action="store_true", help="folder of the core's headers")
    asked = parser.parse_args(words)
    if asked.cmake_dir or asked.include_dir:
        print(get_cmake_dir() if asked.cmake_dir else get_include())
        return 0
    try:
        from ..simcore import _core  # loads their libraries

        print(_core.core_described())
        for plugin in installed():
            print("\n".join(described(plugin, brought.get(plugin.name, {}))))
        if not installed():
            print(f"no plugins (docs/extending/plugins.md, {VARIABLE})")
    except ValueError as error:
        print(f"flitgym.plugins: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
