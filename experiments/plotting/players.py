"""The names under which tables and figures show a routing or a learned policy."""

from collections.abc import Mapping
from typing import Any

from ...configs import file_label


def player(routing: Mapping[str, Any]) -> str:
    """The name of a section `routing`: that of the routing, or that of the policy's file."""
    name, path = str(routing["name"]), routing.get("path")
    return file_label(str(path)) if name == "policy" and path else name


def player_of(row: Mapping[str, Any]) -> str:
    """The name of a row's routing: its label `policy`, otherwise the result of `player`."""
    given = row.get("policy")
    if given or row.get("routing.name") is None:  # a forwarding table has no routing
        return str(given or "")
    return player({"name": row["routing.name"], "path": row.get("routing.path")})
