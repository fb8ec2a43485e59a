"""The keys of the commands, read from the YAML files with their defaults and descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Root configuration -> command.
ROOTS = {
    "config": "flitgym simulate",
    "train": "flitgym train",
    "evaluate": "flitgym evaluate",
    "saturate": "flitgym saturate",
    "benchmark": "flitgym benchmark",
    "route": "flitgym route",
    "reproduce": "flitgym reproduce",
}
# Pages that list the options of a group.
PAGES = {
    "topology": "topologies",
    "router": "routers",
    "routing": "routings",
    "traffic": "traffic",
    "workload": "workloads",
    "congestion_control": "congestion",
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
        name: `evaluation.every` for a key, `evaluation` for a section.
        default: The default in the file; empty for a section.
        words: The comment in the file.
    """

    name: str
    default: str
    words: str


def options_of(path: Path) -> list[Key]:
    """The groups of a command, with their default options."""
    return [Key(found["key"], found["default"], found["words"] or "") for found in _matches(path, _OPTION)]


def keys_of(path: Path) -> list[Key]:
    """The other keys in their order. The comment of a key is on its line or above it."""
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
