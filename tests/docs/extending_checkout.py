"""A checkout of links to this one, with the files of docs/extending in the places that their pages name."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import flitgym.simcore

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "docs" / "extending" / "examples"
PLACES = {
    "linear.py": "agents/linear.py",
    "neighbours": "experiments/studies/neighbours",
}

# The path comes before the import finder of an editable installation.
_RUN = """
import runpy, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
sys.path.insert(0, {path!r})
runpy.run_module("flitgym", run_name="__main__", alter_sys=True)
"""


class Checkout:
    """The packages of this repository under `path`/flitgym, file by file as links."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for package in ("agents", "configs", "env", "experiments", "simcore"):
            shutil.copytree(
                REPOSITORY / package,
                path / "flitgym" / package,
                copy_function=os.symlink,
                ignore=shutil.ignore_patterns("__pycache__", "src", "include", "tests", "bench", "bindings", "cmake"),
            )
        for own in (REPOSITORY / "experiments" / "flitgym").glob("*.py"):
            (path / "flitgym" / own.name).symlink_to(own)
        core = Path(flitgym.simcore._core.__file__)
        for compiled in (core, *core.parent.glob("libflitgym_core.*")):
            if not (path / "flitgym" / "simcore" / compiled.name).exists():
                (path / "flitgym" / "simcore" / compiled.name).symlink_to(compiled)

    def add(self, name: str) -> None:
        """Copy an example to the place that its page names."""
        source, target = EXAMPLES / name, self.path / "flitgym" / PLACES[name]
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)

    def run(self, command: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """`flitgym <command> <arguments>` of this checkout, in its folder."""
        return subprocess.run(
            [sys.executable, "-c", _RUN.format(path=str(self.path)), command, *arguments],
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
