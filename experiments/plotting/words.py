"""Labels of axes and legends for any column of a table of results, with units."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ...simcore import registered

_FLITS = "flits per terminal per flit time"
_LABELS = {
    "traffic.load": f"offered load ({_FLITS})",
    "offered_load": f"offered load ({_FLITS})",
    "accepted_load": f"accepted load ({_FLITS})",
    "packet_latency_mean_ns": "mean packet latency (ns)",
    "packet_latency_p99_ns": "p99 packet latency (ns)",
    "hops_mean": "mean hops per packet",
    "nonminimal_fraction": "fraction of packets on non-minimal paths",
    "flows.slowdown_mean": "mean slowdown of flows",
    "flows.slowdown_p99": "p99 slowdown of flows",
    "flows.late_share": "share of late packets",
    "queue.wait_ns_mean": "mean waiting time (ns)",
    "queue.slowdown_mean": "mean slowdown, relative to a run alone",
    "queue.bounded_slowdown_mean": "mean bounded slowdown",
    "queue.utilisation": "utilisation",
    "topology": "topology",
    "routing": "routing",
    "seed": "seed",
}
_QUANTITIES = {"comm_time_mean_ns": "mean_communication_time_ns", "comm_time_max_ns": "longest_communication_time_ns"}
# Units by the end of a column's name.
_UNITS = {"_ns": "ns", "_mb": "MB", "_seconds": "s", "_gb_per_s": "GB/s", "_gb_per_ms": "GB/ms", "_gb": "GB"}


def axis_label(column: str) -> str:
    """The label of an axis: a description of the column, with its unit in brackets."""
    if column in _LABELS:
        return _LABELS[column]
    section, _, key = column.partition(".")
    if section == "jobs":
        job, _, quantity = key.rpartition(".")
        return f"{job}: {_with_unit(_QUANTITIES.get(quantity, quantity))}"
    if section in _sections() and key:
        unit = _sections()[section].get(key, "")
        return f"{column} ({unit})" if unit else _with_unit(column, plain=False)
    return _with_unit(column)


def value_label(column: str, value: Any, alone: bool = False) -> str:
    """The label of one value of a column: `par`, `dragonfly_72`, `vcs=4`. A section has a component as its value.

    None stands for a run without this key. `alone` leaves out the name of the key, because the axis has it.
    """
    if column == "routing":
        return str(value)
    absent = "none" if column.startswith("failures.") else "default"
    text = absent if value is None else str(value).lower() if isinstance(value, bool) else _number(value)
    return text if alone or "." not in column else f"{column.rpartition('.')[2]}={text}"


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _with_unit(column: str, plain: bool = True) -> str:
    for end, unit in _UNITS.items():
        if column.endswith(end):
            stem = column.removesuffix(end)
            return f"{stem.replace('_', ' ') if plain else column} ({unit})"
    return column.replace("_", " ") if plain else column


@cache
def _sections() -> Mapping[str, Mapping[str, str]]:
    """The unit of every parameter of the core, by section."""
    return {
        kind: {key: spec["unit"] for one in registered(kind).values() for key, spec in one["params"].items()}
        for kind in ("topology", "router", "routing", "traffic", "congestion_control", "workload", "failures")
    } | {"run": {}}
