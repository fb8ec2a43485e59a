"""Draws decisions at the source, on two networks, with and without failures.

The quantities are flow completion times of long messages, and latencies of packets under three patterns.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...plotting.drawing import Row, latency_axis, polish, select
from ...plotting.patterns import title_of
from ...plotting.players import player_of

PATTERNS = ("uniform", "permutation", "adversarial1")
# Name of the routing, and the choice of `source_paths`.
Name = tuple[str, str]
ROUTINGS: dict[Name, str] = {
    ("ecmp", ""): "ECMP",
    ("packet_spray", ""): "spraying",
    ("flowlet", ""): "flowlets",
    ("reps", ""): "REPS-like",
    ("ugal", ""): "UGAL",
    ("q_adaptive", ""): "Q-adaptive",
    ("source_paths", "flow"): "source, hash",
    ("source_paths", "spray"): "source, random",
    ("source_paths", "recycle"): "source, recycling",
    ("source_paths", "learned"): "source, learned",
    ("dqn_source", ""): "source, trained",
}
LEARNED, TRAINED = ("source_paths", "learned"), ("dqn_source", "")
AT_SOURCE = ("ecmp", "packet_spray", "flowlet", "reps")  # baselines at the source, over minimal paths
_OF_FLOWS = "q_adaptive"  # has no latencies, whose windows are too short for its tables
_NETWORKS = ("dragonfly", "slim_fly")
_COLORS = {False: "#0072B2", True: "#D55E00"}
_STATES = {False: "all links", True: "5 % of the links fail"}
_STATISTICS = ("mean", "p99")


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A column per network, a row per size of the messages and per pattern: each routing, without and with failures.

    Raises:
        ValueError: a routing has no row.
    """
    lines = [*sizes(rows), *PATTERNS]
    figure = Figure(figsize=(13, 2.7 * len(lines)), layout="constrained")
    panels = figure.subplots(len(lines), len(_NETWORKS), squeeze=False)
    for column, network in enumerate(_NETWORKS):
        below = panels[len(lines) - len(PATTERNS) :, column]
        for ax, pattern in zip(below, PATTERNS, strict=True):
            draw_latencies(ax, rows, network, pattern)
        for ax, size in zip(panels[:, column], sizes(rows), strict=False):
            draw_flows(ax, rows, network, size)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    return figure


def draw_flows(ax: Axes, rows: Sequence[Row], network: str, size: int) -> None:
    """Draw the flow completion times of messages of a size; a dotted line is the time of an idle network."""
    times = {
        (name, failed, statistic): flow_us(rows, network, size, name, failed, statistic)
        for name in ROUTINGS
        for failed in _STATES
        for statistic in _STATISTICS
    }
    _bars(ax, ROUTINGS, times)
    ax.axhline(idle_us(rows, size), color="#444444", linestyle=":", linewidth=1, label="size / bandwidth of a link")
    ax.set_ylim(0, 1.08 * max(times.values()))
    ax.set_title(f"{network}, permutation of {size >> 10:,} KiB", fontsize=10, fontweight="bold")
    ax.set_ylabel("flow completion time (us)")


def draw_latencies(ax: Axes, rows: Sequence[Row], network: str, pattern: str) -> None:
    """Draw packet latencies under a pattern.

    A number above the bars is the accepted part of the load, if it is below 0.95.
    """
    names = [name for name in ROUTINGS if name[0] != _OF_FLOWS]
    times = {
        (name, failed, statistic): value(rows, network, pattern, name, failed, f"packet_latency_{statistic}_ns")
        for name in names
        for failed in _STATES
        for statistic in _STATISTICS
    }
    for x, name, failed in _bars(ax, names, times):
        if (part := accepted(rows, network, pattern, name, failed)) < 0.95:
            at = (x, times[name, failed, "p99"])
            ax.annotate(f"{part:.2f}", at, xytext=(0, 3), textcoords="offset points", ha="center", fontsize=7)
    latency_axis(ax)
    ax.set_ylim(top=1.4 * max(times.values()))
    load = select(_of_traffic(rows), pattern)[0]["traffic.load"]
    ax.set_title(f"{network}, {title_of(pattern)} at {load:g}", fontsize=10, fontweight="bold")
    ax.set_ylabel("packet latency (ns)")


def _bars(
    ax: Axes, names: Sequence[Name] | Mapping[Name, str], times: Mapping[tuple[Name, bool, str], float]
) -> list[tuple[float, Name, bool]]:
    """A bar per routing and state of the links for the mean, and a mark for the p99; returns their places."""
    places = []
    for failed, links in _STATES.items():
        at = np.arange(len(names)) + (0.2 if failed else -0.2)
        mean, tail = ([times[name, failed, statistic] for name in names] for statistic in _STATISTICS)
        ax.bar(at, mean, 0.38, color=_COLORS[failed], label=f"mean, {links}")
        ax.plot(at, tail, linestyle="none", marker="_", markersize=9, color="k", label="" if failed else "p99")
        places += [(float(x), name, failed) for x, name in zip(at, names, strict=True)]
    labels = [ROUTINGS[name].replace(", ", ",\n").replace("Q-", "Q-\n") for name in names]
    ax.set_xticks(range(len(labels)), labels, fontsize=7)
    polish(ax)
    ax.grid(False, axis="x")
    return places


def _of_traffic(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.get("workload.name", "none") == "none"]


def _of_jobs(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.get("workload.name", "none") != "none"]


def _size(row: Row) -> int:
    return int(row["workload.jobs"][0]["bytes"])


def sizes(rows: Sequence[Row]) -> list[int]:
    """The sizes of the messages in bytes."""
    return sorted({_size(row) for row in _of_jobs(rows)})


def idle_us(rows: Sequence[Row], size: int) -> float:
    """The time in which a terminal sends a message of this size."""
    return size / float(rows[0]["router.link_bandwidth_gb_per_s_host"]) * 1e-3


def _mean(rows: Sequence[Row], network: str, name: Name, failed: bool, quantity: str, words: str) -> float:
    chosen = [
        float(row[quantity])
        for row in rows
        if row["topology.name"] == network
        and (player_of(row), row.get("routing.choice") or "") == name
        and bool(row.get("failures.events")) == failed
    ]
    if not chosen:
        raise ValueError(f"no row for {words} and routing {' '.join(name).strip()} on {network}")
    return float(np.mean(chosen))


def flow_us(rows: Sequence[Row], network: str, size: int, name: Name, failed: bool, statistic: str) -> float:
    """The mean over the seeds of the mean or the 99th percentile (`p99`) of the flow completion times.

    Raises:
        ValueError: there is no row.
    """
    of_size = [row for row in _of_jobs(rows) if _size(row) == size]
    quantity = f"jobs.flows.message_latency_{statistic}_ns"
    return _mean(of_size, network, name, failed, quantity, f"messages of {size} bytes") * 1e-3


def value(rows: Sequence[Row], network: str, pattern: str, name: Name, failed: bool, quantity: str) -> float:
    """The mean of a quantity over the seeds.

    Raises:
        ValueError: there is no row.
    """
    chosen = select(_of_traffic(rows), pattern, name[0])
    return _mean(chosen, network, name, failed, quantity, f"pattern {pattern}")


def accepted(rows: Sequence[Row], network: str, pattern: str, name: Name, failed: bool) -> float:
    """The accepted part of the offered load."""
    offered = value(rows, network, pattern, name, failed, "offered_load")
    return value(rows, network, pattern, name, failed, "accepted_load") / offered


def gain(rows: Sequence[Row], network: str, pattern: str, failed: bool) -> float:
    """Mean latency of the best baseline at the source, relative to the learned choice."""
    best = min(value(rows, network, pattern, (name, ""), failed, "packet_latency_mean_ns") for name in AT_SOURCE)
    return best / value(rows, network, pattern, LEARNED, failed, "packet_latency_mean_ns")


def flow_gain(rows: Sequence[Row], network: str, size: int, failed: bool, statistic: str) -> float:
    """Flow completion time of the best baseline at the source, relative to the trained agent."""
    best = min(flow_us(rows, network, size, (name, ""), failed, statistic) for name in AT_SOURCE)
    return best / flow_us(rows, network, size, TRAINED, failed, statistic)


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    numbers: dict[str, float | None] = {}
    for network in _NETWORKS:
        for failed in _STATES:
            end = "_failed" if failed else ""
            for what, size in (("small", sizes(rows)[0]), ("large", sizes(rows)[-1])):
                for statistic in _STATISTICS:
                    gained = flow_gain(rows, network, size, failed, statistic)
                    numbers[f"flows_{network}_{what}_{statistic}{end}"] = gained
            for pattern in PATTERNS:
                numbers[f"{network}_{pattern}{end}"] = gain(rows, network, pattern, failed)
    return numbers


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of flow completion times, and of packet latencies and accepted parts of the load."""
    lines = []
    for network in _NETWORKS:
        for size in sizes(rows):
            lines += [
                f"## {network}, permutation of {size >> 10:,} KiB: mean and p99 of flow completion times (us)\n",
                *_head(),
            ]
            for name, label in ROUTINGS.items():
                cells = [
                    ", ".join(f"{flow_us(rows, network, size, name, failed, part):.1f}" for part in _STATISTICS)
                    for failed in _STATES
                ]
                lines.append(f"| {label} | {' | '.join(cells)} |")
            lines.append("")
        for pattern in PATTERNS:
            lines += [
                f"## {network}, {title_of(pattern)}: mean latency, p99 (ns), accepted / offered load\n",
                *_head(),
            ]
            for name, label in ROUTINGS.items():
                if name[0] == _OF_FLOWS:
                    continue
                cells = [
                    f"{value(rows, network, pattern, name, failed, 'packet_latency_mean_ns'):,.0f}, "
                    f"{value(rows, network, pattern, name, failed, 'packet_latency_p99_ns'):,.0f}, "
                    f"{accepted(rows, network, pattern, name, failed):.2f}"
                    for failed in _STATES
                ]
                lines.append(f"| {label} | {' | '.join(cells)} |")
            lines.append("")
    return "\n".join(lines) + "\n"


def _head() -> list[str]:
    return [f"| routing | {' | '.join(_STATES.values())} |", "|---|---|---|"]
