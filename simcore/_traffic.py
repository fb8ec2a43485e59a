"""Traffic by a matrix: loads the file or the array of the section `traffic` as the core's `Demand`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._core import ConfigError
from ._demand import read_demand
from ._table import ChannelGraph


def in_traffic(config: Any) -> Any:
    """Return the configuration with a loaded `matrix` instead of a file or an array.

    Raises:
        ConfigError: Both a file and a matrix are given, or `read_demand` refuses the input.
        OSError: The file cannot be read.
    """
    traffic = config.get("traffic") if isinstance(config, Mapping) else None
    if not isinstance(traffic, Mapping):
        return config
    name = traffic.get("name")
    if not isinstance(name, str) or name != "matrix":  # the truth value of an array is an error
        return config
    rest = dict(traffic)
    file, matrix = rest.pop("file", None), rest.pop("matrix", None)
    if file and matrix is not None:
        raise ConfigError("traffic.matrix: both a file and a matrix are given; give one of them")
    if not file and matrix is None:
        return config  # the core's message lists the keys
    # Links that fail later change no terminal, and a graph knows no time.
    failures = {key: value for key, value in (config.get("failures") or {}).items() if key != "events"}
    graph = ChannelGraph(config["topology"], failures or None, config.get("seed", 1))
    rest["matrix"] = read_demand(file or matrix, graph, "traffic.file" if file else "traffic.matrix")
    return {**config, "traffic": rest}
