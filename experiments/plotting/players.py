"""Who routes, as tables and figures call it: a routing, or the file of a learned policy."""

from collections.abc import Mapping
from typing import Any

from ...configs import file_label


def player(routing: Mapping[str, Any]) -> str:
    """Of the section `routing` of a configuration: its name, or that of the file it plays."""
    name, path = str(routing["name"]), routing.get("path")
    return file_label(str(path)) if name == "policy" and path else name


def player_of(row: Mapping[str, Any]) -> str:
    """Of a row: the name that its `policy` was given, otherwise as `player`."""
    given = row.get("policy")
    return str(given) if given else player({"name": row["routing.name"], "path": row.get("routing.path")})
