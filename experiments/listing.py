"""`flitgym list [group]` and `--version`: the choices of a group as a table, without importing Hydra."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..simcore import ConfigError, CoreError, __version__, registered
from ..simcore._core import nodes
from ..simcore._words import unknown
from ..simcore.plugins import files
from .presets import comment_of, preset_files, values_of

# The groups in the order of the table, and their descriptions.
GROUPS = {
    "topology": "the network",
    "router": "buffers, links and latencies of each router",
    "routing": "the choice of paths",
    "traffic": "the destinations of packets",
    "workload": "jobs instead of a traffic pattern",
    "congestion_control": "the time at which a network interface may send",
    "run": "the windows of a run, and the files that it keeps",
    "motif": "the communication of a job, for workload=jobs",
    "agent": "a learning algorithm, for flitgym train",
    "worlds": "networks and traffic to train on, for flitgym train",
    "engine": "the algorithm of a forwarding table, for flitgym route",
    "seed": "the random choices that have a seed of their own; by default they follow from `seed`",
}
_SEEDED = ("topology", "failures", "traffic", "workload", "motif", "routing", "engine")
_REGISTERED = ("topology", "router", "routing", "traffic", "congestion_control", "motif", "engine")
_SENTENCE = re.compile(r"(?<=[^.]{4}[a-z0-9)%]\.) (?=[A-Z])")
_SHORT = 60  # characters; after a shorter first sentence the second one follows
_AGENTS = Path(__file__).resolve().parent.parent / "agents"
_LONGEST = 110  # characters of the parameters of a choice
_WIDTH = 140  # columns of tables that do not go to a terminal


def version_text() -> str:
    """The versions of flitgym and its core: `flitgym 0.1.0 (core 85d79c8.535a9e50)`."""
    release, _, core = __version__.partition("+")
    return f"flitgym {release} (core {core})" if core else f"flitgym {release}"


def choices(group: str) -> list[tuple[str, str, str]]:
    """The choices of a group of `GROUPS`: name, description, and size and parameters."""
    if group in ("agent", "seed"):
        return list(_agents() if group == "agent" else _seeds())
    found = []
    for name, spec in _core(group).items():
        values = {key: param["default"] for key, param in spec["params"].items()}
        found.append((name, spec["summary"], _details(group, {"name": name}, values)))
    for preset, path in preset_files(group).items():
        values = values_of(group, preset)
        own = {key: value for key, value in values.items() if key != "name" and "${" not in str(value)}
        first, *others = _SENTENCE.split(comment_of(path))
        text = " ".join([first, *others[:1]]) if len(first) < _SHORT else first
        found.append((preset, text, _details(group, values, own)))
    return found


def names(group: str) -> list[str]:
    """The names of the choices of a group."""
    if group in ("agent", "seed"):
        return list(dict.fromkeys(name for name, *_ in choices(group)))
    return [*_core(group), *preset_files(group)]


def main(words: Sequence[str]) -> int:
    """Print the choices of the named groups, all groups, or `cost` with its keys. Returns the exit status."""
    if words[:1] == ["cost"]:
        from .hardware.table import main as cost

        return cost(words[1:])
    words = [word for word in words if word not in ("-h", "--help")]
    for word in words:
        if word not in GROUPS:
            print(unknown("flitgym list", word, GROUPS, "group"), file=sys.stderr)
            return 2
    if not words:
        lines = [(group, text, ", ".join(names(group))) for group, text in GROUPS.items()]
        _print(("group", "description", "choices"), lines)
        print("`flitgym list <group>` describes each choice; `<group>=<choice>` selects it: topology=dragonfly_72")
        print("`flitgym list cost routing=par,dqn` measures the cost of routings in the hardware of a router")
    for group in words:
        heads = ("random choice", "used by") if group == "seed" else ("description", "size and parameters")
        _print((group, *heads), choices(group))
        if group == "seed":
            print("null, the default of each key: `seed` draws the choice; a number keeps it")
    return 0


def _print(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    from rich.text import Text

    from .terminal.tables import console, terminal_table

    table = terminal_table(heads, left=heads)
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.ratio = 1
    for line in lines:
        table.add_row(*map(Text, line))
    console(_WIDTH).print(table)


def _core(group: str) -> Mapping[str, Any]:
    return registered(group) if group in _REGISTERED else {}


def _details(group: str, section: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """The number of terminals of a network, and the parameters as words of the command line."""
    words = ""
    for key, value in values.items():
        word = f"{key}={_text(value)}"
        if words and len(words) + len(word) > _LONGEST:
            words += " ..."
            break
        words += f" {word}" if words else word
    if group == "topology":
        with suppress(ConfigError, CoreError, OSError):  # of a network that needs a file
            words = f"{nodes(dict(section)):,} terminals; {words}"
    return words


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value) or "''"


def _seeds() -> Iterator[tuple[str, str, str]]:
    """The seeds of random choices as the core declares them: key, choices, and the components with the key."""
    found: dict[str, tuple[dict[str, None], list[str]]] = {}
    for group in _SEEDED:
        for name, spec in registered(group).items():
            for key, param in spec["params"].items():
                if param["draws"]:
                    shown = f"{key} of a job" if group == "motif" else f"{group}.{key}"
                    drawn, used = found.setdefault(shown, ({}, []))
                    drawn[param["doc"].removeprefix("seed of ").partition("; null")[0]] = None
                    used.append(group if name == group else f"{group}={name}")
    return ((key, "; ".join(drawn), ", ".join(used)) for key, (drawn, used) in found.items())


def _agents() -> Iterator[tuple[str, str, str]]:
    """The agents. Their files are parsed and not imported, because an import would load torch."""
    own = [*sorted(_AGENTS.glob("[a-z]*.py")), _AGENTS / "rllib" / "agent.py"]
    for path in [*own, *(path for _, path in files("agents", "*.py"))]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        if {"Config", "Agent"} <= classes.keys():
            fields = _fields(classes["Config"])
            yield fields.pop("name", path.stem), _first_sentence(tree), _details("agent", {}, fields)
        for node in tree.body:  # a file of several agents has them in a dictionary
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "AGENTS":
                assert isinstance(node.value, ast.Dict)
                yield from ((ast.literal_eval(key), _first_sentence(tree), "") for key in node.value.keys if key)


def _fields(config: ast.ClassDef) -> dict[str, Any]:
    """The hyperparameters whose defaults are literals in the file."""
    found: dict[str, Any] = {}
    for node in config.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            with suppress(ValueError):
                found[node.target.id] = ast.literal_eval(node.value)
    return found


def _first_sentence(tree: ast.Module) -> str:
    text = " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())
    return text.removesuffix(".")
