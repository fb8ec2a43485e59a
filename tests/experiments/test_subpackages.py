"""The subpackages of `experiments` have a docstring, form layers, and do not import commands."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from flitgym import experiments

PACKAGE = Path(experiments.__path__[0])
# The folder `flitgym` is the package itself.
SUBPACKAGES = {path.parent.name: path for path in PACKAGE.glob("*/__init__.py") if path.parent.name != "flitgym"}
# Modules next to the commands that every subpackage may import.
OPEN = {"metrics", "presets", "listing", "templates", "examples", "completion", "entry"}


def imports(path: Path) -> Iterator[str]:
    """The modules of `experiments` that a file imports, also within functions: `results.files`, `metrics`."""
    inside = path.relative_to(PACKAGE.parent).parts[:-1]  # ("experiments", "running")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level <= len(inside):
            base = [*inside[: len(inside) - node.level + 1], *(node.module or "").split(".")]
            whole = [word for word in base if word] if node.level else (node.module or "").split(".")[1:]
            if whole[:1] == ["experiments"]:
                yield from (".".join([*whole[1:], name.name]) for name in node.names)


def test_subpackages_form_layers_and_import_no_command() -> None:
    commands = {path.stem for path in PACKAGE.glob("*.py")} - OPEN - {"__init__"}
    assert {"simulate", "export"} <= commands
    needs: dict[str, set[str]] = {}
    for path in PACKAGE.glob("*/**/*.py"):
        subpackage = needs.setdefault(path.relative_to(PACKAGE).parts[0], set())
        for module in imports(path):
            other = module.split(".")[0]
            if other in commands:  # `api` offers the commands in Python
                assert path.parent.name == "api", f"{path} imports the command {module}"
                continue
            if path.is_relative_to(PACKAGE / "figures") and other == "studies":  # figures of the runs of a study
                continue
            if other not in OPEN | {path.relative_to(PACKAGE).parts[0]}:
                assert other in SUBPACKAGES, f"{path} imports {module}"
                subpackage.add(other)
    assert needs["running"] >= {"results", "workload"}
    tuple(TopologicalSorter(needs).static_order())  # a CycleError names the subpackages
