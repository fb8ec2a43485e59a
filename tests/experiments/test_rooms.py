"""The rooms of `experiments`: each says what belongs in it, they stand in layers, and none needs a command."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from flitgym import experiments
from flitgym.experiments import entry

FLOOR = Path(experiments.__path__[0])
# The folder `flitgym` is the package itself, above all rooms.
ROOMS = {path.parent.name: path for path in FLOOR.glob("*/__init__.py") if path.parent.name != "flitgym"}
# On the ground floor beside the commands; of no room, and open to all.
OPEN = {"metrics", "presets", "listing"}


def imports(path: Path) -> Iterator[str]:
    """The modules of `experiments` that a file imports, also inside of functions: `results.files`, `metrics`."""
    inside = path.relative_to(FLOOR.parent).parts[:-1]  # ("experiments", "running")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level <= len(inside):
            base = [*inside[: len(inside) - node.level + 1], *(node.module or "").split(".")]
            whole = [word for word in base if word] if node.level else (node.module or "").split(".")[1:]
            if whole[:1] == ["experiments"]:
                yield from (".".join([*whole[1:], name.name]) for name in node.names)


def test_every_room_says_in_one_line_what_belongs_in_it() -> None:
    assert {"results", "running", "training", "workload"} <= ROOMS.keys()
    assert {path.parent.name for path in FLOOR.glob("*/*.py")} - {"flitgym"} == ROOMS.keys()
    for name, path in ROOMS.items():
        text = ast.get_docstring(ast.parse(path.read_text()))
        assert text, f"{name}/__init__.py has no docstring"
        assert "\n" not in text, name


def test_rooms_stand_in_layers_and_need_no_command() -> None:
    commands = {path.stem for path in FLOOR.glob("*.py")} - OPEN - {"__init__", "entry"}
    assert {"simulate", "gather"} <= commands
    needs: dict[str, set[str]] = {}
    for path in FLOOR.glob("*/**/*.py"):
        room = needs.setdefault(path.relative_to(FLOOR).parts[0], set())
        for module in imports(path):
            other = module.split(".")[0]
            assert other not in commands, f"{path} imports the command {module}"
            if other not in OPEN | {path.relative_to(FLOOR).parts[0]}:
                assert other in ROOMS, f"{path} imports {module}"
                room.add(other)
    assert needs["running"] >= {"results", "workload"}
    tuple(TopologicalSorter(needs).static_order())  # CycleError names the rooms


def test_every_command_has_an_entry() -> None:
    commands = {path.stem for path in FLOOR.glob("*.py")} - OPEN - {"__init__", "entry"}
    assert commands | {"report"} == {name for name in vars(entry) if not name.startswith("_")} - {
        "importlib",
        "signal",
        "sys",
    }
