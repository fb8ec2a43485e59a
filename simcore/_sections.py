"""Files and arrays in the sections `routing` and `traffic`, which are loaded as objects of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._core import ConfigError
from ._demand import read_demand
from ._table import ChannelGraph, ForwardingTable


def in_traffic(config: Any) -> Any:
    """Return the configuration with a loaded `matrix` instead of a file or an array in `traffic`."""
    rest = _section(config, "traffic", "matrix")
    file, matrix = rest.pop("file", None), rest.pop("matrix", None)
    if file and matrix is not None:
        raise ConfigError("traffic.matrix: both a file and a matrix are given; give one of them")
    if not file and matrix is None:
        return config  # the core's message lists the keys
    rest["matrix"] = read_demand(file or matrix, _graph(config), "traffic.file" if file else "traffic.matrix")
    return {**config, "traffic": rest}


def in_routing(config: Any) -> Any:
    """Return the configuration with loaded objects instead of the files of a table and a demand in `routing`."""
    rest = _section(config, "routing", "table")
    if rest.get("file"):
        if "table" in rest:
            raise ConfigError("routing.table: both a file and a table are given; give one of them")
        rest["table"] = ForwardingTable.load(rest.pop("file"), _graph(config))
    if rest.get("demand") is not None and not (isinstance(rest["demand"], str) and not rest["demand"]):
        rest["demand"] = read_demand(rest["demand"], _graph(config))
    return {**config, "routing": rest} if rest else config


def _section(config: Any, kind: str, name: str) -> dict[str, Any]:
    """A copy of the section if it has this name; otherwise empty."""
    section = config.get(kind) if isinstance(config, Mapping) else None
    given = section.get("name") if isinstance(section, Mapping) else None
    return dict(section) if isinstance(given, str) and given == name else {}  # type: ignore[arg-type]


def _graph(config: Mapping[str, Any]) -> ChannelGraph:
    # Links that fail later change no terminal, and a graph knows no time.
    failures = {key: value for key, value in (config.get("failures") or {}).items() if key != "events"}
    return ChannelGraph(config["topology"], failures or None, config.get("seed", 1))
