"""Makes or reads one forwarding table from a resolved configuration, measures it and writes its result."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...configs import core_failures
from ...configs.routes import route_hash, table_label
from ...simcore import (
    Bisection,
    ChannelGraph,
    ConfigError,
    Demand,
    ForwardingTable,
    Quality,
    __version__,
    read_demand,
    read_flows,
    registered,
)
from ...simcore.plugins import mentioned, versions
from ..results.files import finished, remove_if_unused, require_writable, write_result, write_table
from ..terminal.progress import Report

Config = Mapping[str, Any]  # resolved

KIND = "forwarding table"  # `kind` of a result, which results of simulations lack
_DUMP_LINES = 1_000_000  # largest dump that dump=auto writes

# Attributes of `Quality` that a result has under the same names.
_NUMBERS = (
    *("terminal_forwarding_index", "load_mean", "load_least", "load_deviation", "load_mean_minimal"),
    *("channels_unused", "hops_mean", "hops_max", "minimal", "layers", "acyclic", "cycle", "routes"),
)


def obtain(config: Config, directory: Path, report: Report, keep_refusals: bool) -> tuple[dict[str, Any], bool]:
    """The result of `config`: the finished one in `directory`, or a new one.

    The second value is whether it was made in this call. With `keep_refusals`, as in a sweep, the refusal of an engine
    is a result with `routed` false and not an error.
    """
    if not config["overwrite"]:
        known = finished(directory, route_hash(config), __version__)
        if known is not None and (known["routed"] or keep_refusals):
            return known, False
    require_writable(directory)
    with remove_if_unused(directory, parents=False):
        return _make(config, directory, report, keep_refusals), True


def channel_graph(config: Config) -> ChannelGraph:
    """The network of a configuration without its failed parts."""
    return ChannelGraph(config["topology"], core_failures(config) or None, config["seed"])


def files(config: Config, graph: ChannelGraph) -> tuple[Demand | None, Any]:
    """The demand and the flows that a configuration names; None for a file that it does not name."""
    demand = read_demand(config["demand"], graph) if config["demand"] else None
    return demand, read_flows(config["flows"], graph) if config["flows"] else None


def _make(config: Config, directory: Path, report: Report, keep_refusals: bool) -> dict[str, Any]:
    report("network", 0.0)
    graph = channel_graph(config)
    demand, flows = files(config, graph)
    report("table", 0.05)
    began = time.process_time()
    try:
        table = _table(config, graph, demand)
    except ConfigError as error:
        if not keep_refusals or config["file"]:
            raise
        result = {"routed": False, "note": str(error), **_about(config, graph)}
        write_result(directory, result)
        return result
    seconds = time.process_time() - began
    began = time.process_time()
    report("loads", 0.5)
    quality = table.quality()
    under = table.quality(demand) if demand is not None else None
    bisection = _bisection(config, table, report)
    result = {
        "routed": True,
        "note": "",
        **_numbers(quality),
        "under_demand": _numbers(under) if under else None,
        "ebb_mean": bisection.mean if bisection else None,
        "ebb_standard_error": bisection.standard_error if bisection else None,
        "ebb_patterns": config["patterns"] if bisection else 0,
        "flows": None if flows is None else _congestion(table, flows),
        "route_cpu_seconds": None if config["file"] else seconds,
        "quality_cpu_seconds": time.process_time() - began,
        **_about(config, graph),
    }
    report("files", 0.95)
    result["files"] = _write(config, directory, table, under or quality, bisection, result)
    write_result(directory, result)
    return result


def _table(config: Config, graph: ChannelGraph, demand: Demand | None) -> ForwardingTable:
    if config["file"]:
        return ForwardingTable.load(config["file"], graph)
    engine = dict(config["engine"])
    name = engine.pop("name")
    # Other engines ignore the demand, which then affects only the measured loads.
    balances = name in (known := registered("engine")) and known[name]["facts"]["balances"]
    return ForwardingTable.route(graph, name, engine, demand if balances else None, config["seed"])


def _numbers(quality: Quality) -> dict[str, Any]:
    index = float(quality.edge_forwarding_index)
    numbers = {name: getattr(quality, name) for name in _NUMBERS}
    return {"edge_forwarding_index": int(index) if index.is_integer() else index, **numbers}


def _bisection(config: Config, table: ForwardingTable, report: Report) -> Bisection | None:
    # A bisection needs at least one pattern and two terminals.
    if config["patterns"] == 0 or table.graph.terminals < 2:
        return None

    def advance(part: float) -> None:
        report("patterns", 0.6 + 0.35 * part)

    return table.effective_bisection(config["patterns"], config["seed"], both_ways=config["both_ways"], report=advance)


def _congestion(table: ForwardingTable, flows: Any) -> dict[str, Any]:
    """The congestion of the flows of a file, on their routes and at their end points."""
    source, destination, weight = flows
    found = table.congestion(source, destination, weight)
    return {
        "count": int(source.size),
        "congestion_max": float(found["flow"].max()),
        "congestion_mean": float(np.average(found["flow"], weights=weight)),
        "bandwidth_mean": float(np.average(weight / found["flow"], weights=weight)),
        "endpoint_congestion_max": float(found["endpoint"].max()),
        "endpoint_congestion_mean": float(np.average(found["endpoint"], weights=weight)),
    }


def _about(config: Config, graph: ChannelGraph) -> dict[str, Any]:
    return {
        "kind": KIND,
        "table": table_label(config),
        "switches": graph.switches,
        "terminals": graph.terminals,
        "channels": graph.channels,
        "jobs": {},
        "files": {},
        "version": __version__,
        "plugins": versions(mentioned(config)),
        "config_hash": route_hash(config),
        "config": config,
    }


def _write(
    config: Config,
    directory: Path,
    table: ForwardingTable,
    quality: Quality,
    bisection: Bisection | None,
    result: Mapping[str, Any],
) -> dict[str, str]:
    """Write all files except `result.json`, which comes last because it marks a complete result."""
    # The import of Matplotlib takes longer than a small table, and reading finished results does not need it.
    from ..plotting.drawing import save_figure
    from .figure import draw
    from .text import network_label

    written = {"table": "table.npz", "loads": "loads.parquet"}
    table.save(directory / written["table"])
    write_table(directory / written["loads"], loads_by_channel(table.graph, quality))
    if bisection is not None:
        written["patterns"] = "patterns.parquet"
        write_table(directory / written["patterns"], {"bandwidth": bisection.values})
    ports, wanted = table.arrays().get("port"), config["dump"]
    small = ports is not None and ports.size <= _DUMP_LINES and ports.shape[1] < 40_000
    if wanted == "always" or (wanted == "auto" and small):
        written["dump"] = "lfts.dump"
        table.save_dump(directory / written["dump"])
        if 1 < table.layers <= 16:
            written["service_levels"] = "lfts.sl.csv"
            table.save_service_levels(directory / written["service_levels"])
    title = f"{result['table']} on {network_label(result).partition(':')[0]}"
    written["figure"] = save_figure(draw(title, result, quality), directory / "loads", "loads", ["png"])[0].name
    return written


def loads_by_channel(graph: ChannelGraph, quality: Quality) -> dict[str, NDArray[Any]]:
    """The columns of `loads.parquet`: rows for channels between switches, then for links from and to terminals."""
    arrays, names, hosts = graph.arrays(), graph.switch_names, graph.terminal_names
    loads = quality.loads
    homes = [names[s] for s in arrays["terminal_switch"]]
    return {
        "from": np.array([names[s] for s in arrays["from"]] + hosts + homes, dtype=str),
        "to": np.array([names[s] for s in arrays["to"]] + homes + hosts, dtype=str),
        "port": np.concatenate([arrays["port"], np.zeros(len(hosts), np.uint16), arrays["terminal_port"]]),
        "kind": np.repeat(["channel", "from_terminal", "to_terminal"], [graph.channels, len(hosts), len(hosts)]),
        "load": np.concatenate([loads["channel"], loads["from_terminal"], loads["to_terminal"]]),
    }
