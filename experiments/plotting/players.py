"""Who routes, as tables and figures call it: a routing, or the file of a learned policy."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def file_name(path: str) -> str:
    """A policy or a table by its file; where the file is called as all of them are, by its folder."""
    whole = Path(path).resolve()
    return whole.parent.name if whole.stem in ("policy", "table") else whole.stem


def player(routing: Mapping[str, Any]) -> str:
    """Of the section `routing` of a configuration: its name, or that of the file it plays."""
    name, path = str(routing["name"]), routing.get("path")
    return file_name(str(path)) if name == "policy" and path else name


def player_of(row: Mapping[str, Any]) -> str:
    """Of a row: the name that its `policy` was given, otherwise as `player`."""
    given = row.get("policy")
    return str(given) if given else player({"name": row["routing.name"], "path": row.get("routing.path")})
