"""The names under which tables and figures show routings, learned policies and traffic patterns."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ...configs import file_label
from ...simcore import registered


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


def pattern_of(row: Mapping[str, Any]) -> str:
    """The name of a row's traffic pattern, with the parameters that differ from their defaults.

    Examples are `uniform`, `adversarial` and `adversarial, shift=4`. Seeds of random patterns are left out.
    """
    name = str(row["traffic.name"])
    found = ((key, default, row.get(f"traffic.{key}")) for key, default in _parameters(name).items())
    return name + "".join(f", {key}={value}" for key, default, value in found if value is not None and value != default)


@cache
def _parameters(name: str) -> dict[str, Any]:
    """The parameters that not all patterns have, with their defaults."""
    every = registered("traffic")
    if name not in every:  # the row comes from a core with another plugin
        return {}
    common = set.intersection(*(set(one["params"]) for one in every.values()))
    own = {key: spec["default"] for key, spec in every[name]["params"].items() if key not in common}
    return {key: default for key, default in own.items() if not key.endswith("_seed")}
