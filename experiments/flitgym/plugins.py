"""`python -m flitgym.plugins` lists the plugins and their parts; or it prints where CMake finds flitgym.

`flitgym.simcore.plugins` finds and loads plugins. This module needs no core. The core refuses a plugin's library that
was built against another flitgym, and then cannot be imported; CMake must still find the headers to build that library
again.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import flitgym


def get_cmake_dir() -> str:
    """The folder of flitgymConfig.cmake, for `find_package(flitgym)`.

    Raises:
        FileNotFoundError: flitgym is not installed; only its sources are here.
    """
    return _next_to_core("cmake")


def get_include() -> str:
    """The folder of the core's headers.

    Raises:
        FileNotFoundError: as `get_cmake_dir`.
    """
    return _next_to_core("include")


def _next_to_core(folder: str) -> str:
    # An editable installation keeps its compiled part and its Python in different folders.
    for root in map(Path, flitgym.__path__):
        if (root / folder).is_dir() and (root / "simcore").is_dir():
            return str(root / folder)
    raise FileNotFoundError(2, "flitgym was not installed with its headers (pip install)", folder)


def main(words: Sequence[str]) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(
        "python -m flitgym.plugins", description="List the plugins and their parts, or print a folder of flitgym."
    )
    parser.add_argument("--cmake-dir", action="store_true", help="print the folder for find_package(flitgym)")
    parser.add_argument("--include-dir", action="store_true", help="print the folder of the core's headers")
    asked = parser.parse_args(words)
    if asked.cmake_dir or asked.include_dir:
        print(get_cmake_dir() if asked.cmake_dir else get_include())
        return 0
    try:
        from flitgym.simcore import _core, plugins  # loads the libraries of plugins

        print(_core.core_described())
        for plugin in plugins.installed():
            print("\n".join(plugins.described(plugin)))
        if not plugins.installed():
            print(f"no plugins (docs/extending/plugins.md, {plugins.VARIABLE})")
    except ValueError as error:
        print(f"flitgym.plugins: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
