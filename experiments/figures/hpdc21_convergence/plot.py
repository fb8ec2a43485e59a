"""Draws latency over time from untrained tables, and computes settle times from the rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import ColorType

from ...metrics import running_median, settle_time
from ...plotting.drawing import Row, label_ends, latency_axis, legend_above, polish, routings, select, style_of
from ...plotting.patterns import title_of

PATTERNS = ("uniform", "adversarial1", "adversarial4")
_SMOOTHING = 5  # intervals per median; smoothing keeps one noisy interval from moving the settle time
_BAND = 0.1  # half width of the band, as a fraction of the final level


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """One panel per pattern, one line per routing and load, and a dot where a run has settled.

    Raises:
        ValueError: a routing has no row for a pattern.
    """
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    panels = figure.subplots(1, len(PATTERNS), sharey=True, squeeze=False)[0]
    ends = []
    for ax, pattern in zip(panels, PATTERNS, strict=True):
        ends.append(draw_panel(ax, rows, pattern))
        ax.axvline(expected["settled_by_us"], color="#888888", linewidth=0.8, linestyle="-.", zorder=1)
        ax.set_title(title_of(pattern), fontweight="bold")
        ax.set_xlabel("time since the start (µs); numbers: offered load")
        polish(ax)
    # The panels share their latency axis: its limits are known only after every line is drawn.
    for ax, last_points in zip(panels, ends, strict=True):
        label_ends(ax, last_points)
    panels[0].set_ylabel("mean latency per interval (ns)")
    legend_above(
        figure,
        routings(rows),
        [
            Line2D([], [], marker="o", markeredgecolor="black", color="white", linestyle="none", label="settled"),
            Line2D([], [], color="#888888", linewidth=0.8, linestyle="-.", label="published settle time"),
        ],
    )
    return figure


def draw_panel(ax: Axes, rows: Sequence[Row], pattern: str) -> list[tuple[float, float, str, ColorType]]:
    """Draw latency over time for one pattern; the higher the load, the stronger the colour.

    Returns:
        The last point of each line, its label (the offered load) and its colour.
    """
    loads = sorted({row["traffic.load"] for row in select(rows, pattern)})
    ends = []
    for name in routings(rows):
        style = style_of(name)
        for row in select(rows, pattern, name):
            time, latency = course(row)
            alpha = 0.45 + 0.55 * (loads.index(row["traffic.load"]) + 1) / len(loads)
            ax.plot(time, latency, color=style.color, alpha=alpha, linewidth=style.width * 0.7)
            ends.append((float(time[-1]), float(latency[-1]), f"{row['traffic.load']:g}", style.color))
            settled = settled_at(row)
            if settled is not None:
                ax.plot(
                    settled,
                    np.interp(settled, time, latency),
                    "o",
                    color=style.color,
                    markeredgecolor="black",
                    zorder=4,
                )
    latency_axis(ax)
    ax.set_xlim(0, max(end[0] for end in ends))
    return ends


def course(row: Row) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Time in us and smoothed mean latency in ns of one run."""
    time = np.array(row["series.time_ns"], dtype=float) / 1000
    return time, running_median(np.array(row["series.latency_mean_ns"], dtype=float), _SMOOTHING)


def settled_at(row: Row) -> float | None:
    """The settle time of one run in us; None if the run does not settle."""
    return settle_time(*course(row), band=_BAND)


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id; None if any run has not settled."""
    times = [settled_at(row) for pattern in PATTERNS for row in select(rows, pattern, "q_adaptive")]
    return {"settle_time_us": None if None in times else max(time for time in times if time is not None)}


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every run: its settle time and its final latency."""
    lines = [
        "## Every run\n",
        "| pattern | routing | offered load | settled after, us | final mean latency, ns |",
        "|---|---|---|---|---|",
    ]
    for pattern in PATTERNS:
        for name in routings(rows):
            for row in select(rows, pattern, name):
                settled = settled_at(row)
                shown = "not settled" if settled is None else f"{settled:.0f}"
                final = course(row)[1][-1]
                cells = f"{title_of(pattern)} | {style_of(name).label}"
                lines.append(f"| {cells} | {row['traffic.load']:g} | {shown} | {final:,.0f} |")
    return "\n".join(lines) + "\n"
