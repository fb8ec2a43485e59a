"""The keys of the commands, from the YAML files that hold their defaults and say what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Root, the command that it is of, and the title of its section.
ROOTS = {
    "config": "flitgym-simulate",
    "train": "flitgym-train",
    "evaluate": "flitgym-evaluate",
    "regret": "flitgym-regret",
    "route": "flitgym-route",
}
# Pages that list the options of a group.
PAGES = {
    "topology": "topologies",
    "router": "routers",
    "routing": "routings",
    "traffic": "traffic",
    "workload": "workloads",
    "agent": "agents",
    "engine": "engines",
}
_OPTION = re.compile(r"  - (?P<key>\w+): (?P<default>\S+)(?: # (?P<words>.*))?$")
_KEY = re.compile(r"(?P<indent> *)(?P<key>\w+):(?: (?P<default>.*?))?(?: # (?P<words>.*))?$")
_HIDDEN = ("defaults", "hydra")


@dataclass(frozen=True)
class Key:
    """A key of a command.

    Args:
        name: With its section, `evaluation.every`; of a section as a whole, `evaluation`.
        default: As the file has it; empty for a section.
        words: What the file says of it.
    """

    name: str
    default: str
    words: str


def options_of(path: Path) -> list[Key]:
    """The groups that a command takes an option of each of, with the one that it takes unless told otherwise."""
    return [Key(found["key"], found["default"], found["words"] or "") for found in _matches(path, _OPTION)]


def keys_of(path: Path) -> list[Key]:
    """The other keys, in their order; what is said of one stands behind or above it."""
    keys: list[Key] = []
    section, above = "", list[str]()
    for line in path.read_text().splitlines():
        if line.lstrip().startswith("#"):
            above.append(line.lstrip("# "))
            continue
        found = _KEY.match(line)
        if found and not found["indent"]:
            section = found["key"]
        if found and section not in _HIDDEN:
            name = f"{section}.{found['key']}" if found["indent"] else section
            keys.append(Key(name, found["default"] or "", " ".join([*above, found["words"] or ""]).strip()))
        above = []
    return keys


def _matches(path: Path, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    return (found for line in path.read_text().splitlines() if (found := pattern.match(line)))
