"""Draws decisions at the source, on two networks, with and without failures.

The quantities are flow completion times of long messages, and latencies of packets under three patterns.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...plotting.drawing import Row, latency_axis
from ...plotting.markdown import section
from ...plotting.panels import draw_bars
from ...plotting.players import pattern_of, player_of
from ...plotting.runs import Runs

PATTERNS = ("uniform", "permutation", "adversarial")
# Routings, and the choices of `source_paths`.
ROUTINGS = (
    *("ecmp", "packet_spray", "flowlet", "reps", "ugal", "q_adaptive"),
    *(f"source_paths {choice}" for choice in ("flow", "spray", "recycle", "learned")),
    "dqn_source",
)
LEARNED, TRAINED = "source_paths learned", "dqn_source"
AT_SOURCE = ("ecmp", "packet_spray", "flowlet", "reps")  # baselines at the source, over minimal paths
_OF_PACKETS = tuple(name for name in ROUTINGS if name != "q_adaptive")  # its tables need longer windows
_NETWORKS = ("dragonfly", "slim_fly")
_COLORS = ("#0072B2", "#D55E00")
_STATES = {False: "all links", True: "5 % of the links fail"}
_STATISTICS = ("mean", "p99")


class Study:
    """The rows of the figure by network, messages or pattern, routing, and state of the links."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.runs = Runs(rows, network="topology.name", demand=_demand, routing=_routing, failures=_failed)
        self.sizes = sorted(demand for demand in self.runs.values("demand") if isinstance(demand, int))
        self.demands: list[int | str] = [*self.sizes, *PATTERNS]

    def mean(self, column: str, network: str, demand: int | str, routing: str, failed: bool) -> float:
        """The mean of a column over the seeds."""
        return self.runs.mean(column, network=network, demand=demand, routing=routing, failures=failed)

    def time_ns(self, statistic: str, network: str, demand: int | str, routing: str, failed: bool) -> float:
        """A flow completion time or a packet latency: its mean or its 99th percentile (`p99`)."""
        kind = "jobs.flows.message" if isinstance(demand, int) else "packet"
        return self.mean(f"{kind}_latency_{statistic}_ns", network, demand, routing, failed)

    def accepted(self, network: str, pattern: str, routing: str, failed: bool) -> float:
        """The accepted part of the offered load."""
        where = (network, pattern, routing, failed)
        return self.mean("accepted_load", *where) / self.mean("offered_load", *where)

    def gain(self, statistic: str, network: str, demand: int | str, agent: str, failed: bool) -> float:
        """The time of the best baseline at the source, relative to an agent."""
        best = min(self.time_ns(statistic, network, demand, name, failed) for name in AT_SOURCE)
        return best / self.time_ns(statistic, network, demand, agent, failed)


def _demand(row: Row) -> int | str:
    return int(row["workload.jobs"][0]["bytes"]) if row.get("workload.name", "none") != "none" else pattern_of(row)


def _routing(row: Row) -> str:
    return f"{player_of(row)} {row.get('routing.choice') or ''}".strip()


def _failed(row: Row) -> bool:
    return bool(row.get("failures.events"))


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A column per network, a row per size of the messages and per pattern: each routing, without and with failures."""
    study = Study(rows)
    figure = Figure(figsize=(13, 2.7 * len(study.demands)), layout="constrained")
    panels = figure.subplots(len(study.demands), len(_NETWORKS)).flat
    for ax, (demand, network) in zip(panels, itertools.product(study.demands, _NETWORKS), strict=True):
        draw_panel(ax, study, network, demand)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    return figure


def draw_panel(ax: Axes, study: Study, network: str, demand: int | str) -> None:
    """Draw flow completion times of messages of a size, or packet latencies under a pattern.

    A dotted line is the time of an idle network. A number above the bars is the accepted part of the load, if it is
    below 0.95.
    """
    names, factor = (ROUTINGS, 1e-3) if isinstance(demand, int) else (_OF_PACKETS, 1.0)
    mean, tail = (
        np.array([[factor * study.time_ns(key, network, demand, name, failed) for name in names] for failed in _STATES])
        for key in _STATISTICS
    )
    labels = [name.replace("source_paths ", "source\n").replace("_", "_\n") for name in names]
    places = draw_bars(ax, mean, _COLORS, labels, [f"mean, {state}" for state in _STATES.values()])
    ax.plot(places.flat, tail.flat, linestyle="none", marker="_", markersize=9, color="k", label="p99")
    ax.tick_params(axis="x", labelsize=7)
    look: dict[Literal["fontsize", "fontweight"], Any] = {"fontsize": 10, "fontweight": "bold"}
    if isinstance(demand, int):
        idle = demand / float(study.rows[0]["router.link_bandwidth_gb_per_s_host"]) * 1e-3
        ax.axhline(idle, color="#444444", linestyle=":", linewidth=1, label="size / bandwidth of a link")
        ax.set_ylim(0, 1.08 * max(mean.max(), tail.max()))
        ax.set_title(f"{network}, permutation of {demand >> 10:,} KiB", **look)
        ax.set_ylabel("flow completion time (us)")
        return
    for failed, name in itertools.product(_STATES, names):
        if (part := study.accepted(network, demand, name, failed)) < 0.95:
            at = int(failed), names.index(name)
            ax.annotate(f"{part:.2f}", (places[at], tail[at]), xytext=(0, 3), textcoords="offset points", ha="center",
                        fontsize=7)  # fmt: skip
    latency_axis(ax)
    ax.set_ylim(top=1.4 * max(mean.max(), tail.max()))
    load = study.runs.at(network=network, demand=demand)[0]["traffic.load"]
    ax.set_title(f"{network}, {demand} at {load:g}", **look)
    ax.set_ylabel("packet latency (ns)")


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    study, numbers = Study(rows), dict[str, float | None]()
    for network, (failed, end) in itertools.product(_NETWORKS, ((False, ""), (True, "_failed"))):
        sizes = ("small", study.sizes[0]), ("large", study.sizes[-1])
        for (what, size), key in itertools.product(sizes, _STATISTICS):
            numbers[f"flows_{network}_{what}_{key}{end}"] = study.gain(key, network, size, TRAINED, failed)
        for pattern in PATTERNS:
            numbers[f"{network}_{pattern}{end}"] = study.gain("mean", network, pattern, LEARNED, failed)
    return numbers


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of flow completion times, and of packet latencies and accepted parts of the load."""
    study, parts = Study(rows), []

    def cell(network: str, demand: int | str, name: str, failed: bool) -> str:
        form, factor = ("{:.1f}", 1e-3) if isinstance(demand, int) else ("{:,.0f}", 1)
        found = [form.format(factor * study.time_ns(key, network, demand, name, failed)) for key in _STATISTICS]
        if isinstance(demand, str):
            found.append(f"{study.accepted(network, demand, name, failed):.2f}")
        return ", ".join(found)

    for network, demand in itertools.product(_NETWORKS, study.demands):
        names, title = _OF_PACKETS, f"{demand}: mean latency, p99 (ns), accepted / offered load"
        if isinstance(demand, int):
            names = ROUTINGS
            title = f"permutation of {demand >> 10:,} KiB: mean and p99 of flow completion times (us)"
        lines = [[name, *(cell(network, demand, name, failed) for failed in _STATES)] for name in names]
        parts.append(section(f"{network}, {title}", ["routing", *_STATES.values()], lines))
    return "\n".join(parts)
