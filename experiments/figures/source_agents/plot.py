"""Draws packet latency of decisions at the source, on two networks under three patterns, with and without failures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...metrics import bootstrap_mean
from ...plotting.drawing import Row, latency_axis, polish, select
from ...plotting.patterns import title_of

OVER_SEEDS = "vertical lines: 95 % bootstrap intervals of the means over the seeds"
PATTERNS = ("uniform", "permutation", "adversarial1")
# Name of the routing, and the choice of `source_paths`.
ROUTINGS = {
    ("ecmp", ""): "ECMP",
    ("packet_spray", ""): "spraying",
    ("reps", ""): "REPS-like",
    ("ugal", ""): "UGAL",
    ("source_paths", "flow"): "source, hash",
    ("source_paths", "spray"): "source, random",
    ("source_paths", "recycle"): "source, recycling",
    ("source_paths", "learned"): "source, learned",
}
LEARNED = ("source_paths", "learned")
AT_SOURCE = ("ecmp", "packet_spray", "reps")  # baselines at the source, over minimal paths
_NETWORKS = ("dragonfly", "slim_fly")
_COLORS = {False: "#0072B2", True: "#D55E00"}


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A column per network and a row per pattern: mean latency of each routing, without and with failed links.

    Raises:
        ValueError: a routing has no row.
    """
    figure = Figure(figsize=(12, 8.5), layout="constrained")
    panels = figure.subplots(len(PATTERNS), len(_NETWORKS), squeeze=False)
    for line, pattern in zip(panels, PATTERNS, strict=True):
        for ax, network in zip(line, _NETWORKS, strict=True):
            draw_panel(ax, rows, network, pattern)
            load = select(rows, pattern)[0]["traffic.load"]
            ax.set_title(f"{network}, {title_of(pattern)} at {load:g}", fontsize=10, fontweight="bold")
        line[0].set_ylabel("packet latency (ns)")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def draw_panel(ax: Axes, rows: Sequence[Row], network: str, pattern: str) -> None:
    """Draw a bar per routing and state of the links; a mark is the 99th percentile.

    A number above the bars is the accepted part of the load, if it is below 0.95.
    """
    for failed in (False, True):
        at = np.arange(len(ROUTINGS)) + (0.2 if failed else -0.2)
        mean = [value(rows, network, pattern, name, failed, "packet_latency_mean_ns") for name in ROUTINGS]
        tail = [value(rows, network, pattern, name, failed, "packet_latency_p99_ns") for name in ROUTINGS]
        label = "5 % of the links fail" if failed else "all links"
        ax.bar(at, mean, 0.38, color=_COLORS[failed], label=f"mean, {label}")
        for x, name in zip(at, ROUTINGS, strict=True):
            _, low, high = bootstrap_mean(values(rows, network, pattern, name, failed, "packet_latency_mean_ns"))
            ax.vlines(x, low, high, color="#333333", linewidth=1.2)  # without several seeds, both ends are NaN
        ax.plot(at, tail, linestyle="none", marker="_", markersize=9, color="k", label="" if failed else "p99")
        for x, name, top in zip(at, ROUTINGS, tail, strict=True):
            if (part := accepted(rows, network, pattern, name, failed)) < 0.95:
                ax.annotate(f"{part:.2f}", (x, top), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=7)
    latency_axis(ax)
    ax.set_xticks(range(len(ROUTINGS)), [label.replace(", ", ",\n") for label in ROUTINGS.values()], fontsize=8)
    polish(ax)
    ax.grid(False, axis="x")


def value(rows: Sequence[Row], network: str, pattern: str, name: tuple[str, str], failed: bool, quantity: str) -> float:
    """The mean of a quantity over the seeds.

    Raises:
        ValueError: there is no row.
    """
    return float(np.mean(values(rows, network, pattern, name, failed, quantity)))


def values(
    rows: Sequence[Row], network: str, pattern: str, name: tuple[str, str], failed: bool, quantity: str
) -> list[float]:
    """A quantity, one number per seed.

    Raises:
        ValueError: there is no row.
    """
    chosen = [
        float(row[quantity])
        for row in select(rows, pattern, name[0])
        if row["topology.name"] == network
        and (row.get("routing.choice") or "") == name[1]
        and bool(row.get("failures.events")) == failed
    ]
    if not chosen:
        raise ValueError(f"no row for {' '.join(name)} on {network} under {pattern}")
    return chosen


def accepted(rows: Sequence[Row], network: str, pattern: str, name: tuple[str, str], failed: bool) -> float:
    """The accepted part of the offered load."""
    offered = value(rows, network, pattern, name, failed, "offered_load")
    return value(rows, network, pattern, name, failed, "accepted_load") / offered


def gain(rows: Sequence[Row], network: str, pattern: str, failed: bool) -> float:
    """Mean latency of the best baseline at the source, relative to the learned choice."""
    best = min(value(rows, network, pattern, (name, ""), failed, "packet_latency_mean_ns") for name in AT_SOURCE)
    return best / value(rows, network, pattern, LEARNED, failed, "packet_latency_mean_ns")


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    return {
        f"{network}_{pattern}{'_failed' if failed else ''}": gain(rows, network, pattern, failed)
        for network in _NETWORKS
        for pattern in PATTERNS
        for failed in (False, True)
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of mean latency, 99th percentile and accepted part of the load."""
    lines = []
    for network in _NETWORKS:
        for pattern in PATTERNS:
            lines += [
                f"## {network}, {title_of(pattern)}: mean latency, p99 (ns), accepted / offered load\n",
                "| routing | all links | 5 % of the links fail |",
                "|---|---|---|",
            ]
            for name, label in ROUTINGS.items():
                cells = [
                    f"{value(rows, network, pattern, name, failed, 'packet_latency_mean_ns'):,.0f}, "
                    f"{value(rows, network, pattern, name, failed, 'packet_latency_p99_ns'):,.0f}, "
                    f"{accepted(rows, network, pattern, name, failed):.2f}"
                    for failed in (False, True)
                ]
                lines.append(f"| {label} | {' | '.join(cells)} |")
            lines.append("")
    return "\n".join(lines) + "\n"
