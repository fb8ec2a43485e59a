"""Draws latency over time from untrained tables, and computes settle times from the rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import ColorType
from numpy.typing import NDArray

from ...metrics import running_median, settle_time
from ...plotting.drawing import (
    BANDS,
    Row,
    draw_band,
    label_ends,
    latency_axis,
    legend_above,
    polish,
    routings,
    select,
    style_of,
)
from ...plotting.patterns import title_of

OVER_SEEDS = f"{BANDS}; dots: the slowest seed"
PATTERNS = ("uniform", "adversarial1", "adversarial4")
_SMOOTHING = 5  # intervals per median; smoothing keeps one noisy interval from moving the settle time
_BAND = 0.1  # half width of the band, as a fraction of the final level


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """One panel per pattern, one line per routing and load, and a dot where every seed has settled.

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

    Lines are means over the seeds, and bands are their 95 % intervals.

    Returns:
        The last point of each line, its label (the offered load) and its colour.
    """
    loads = sorted({row["traffic.load"] for row in select(rows, pattern)})
    ends = []
    for name in routings(rows):
        style = style_of(name)
        for k, load in enumerate(loads):
            own = of_load(select(rows, pattern, name), load)
            time, latency = course(own)
            draw_band(ax, time, latency.T, style)
            mean, alpha = latency.mean(axis=0), 0.45 + 0.55 * (k + 1) / len(loads)
            ax.plot(time, mean, color=style.color, alpha=alpha, linewidth=style.width * 0.7)
            ends.append((float(time[-1]), float(mean[-1]), f"{load:g}", style.color))
            settled = settled_by(own)
            if settled is not None:
                ax.plot(
                    settled,
                    np.interp(settled, time, mean),
                    "o",
                    color=style.color,
                    markeredgecolor="black",
                    zorder=4,
                )
    latency_axis(ax)
    ax.set_xlim(0, max(end[0] for end in ends))
    return ends


def of_load(rows: Sequence[Row], load: float) -> list[Row]:
    """The rows of one load, one per seed."""
    return [row for row in rows if row["traffic.load"] == load]


def course(rows: Sequence[Row]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time in us, and smoothed mean latency in ns, [seeds, intervals]."""
    time = np.array(rows[0]["series.time_ns"], dtype=float) / 1000
    series = [np.array(row["series.latency_mean_ns"], dtype=float)[: time.size] for row in rows]
    return time, np.array([running_median(one, _SMOOTHING) for one in series])


def settle_times(rows: Sequence[Row]) -> list[float | None]:
    """The settle time of every seed in us; None for a run that does not settle."""
    time, latency = course(rows)
    return [settle_time(time, one, band=_BAND) for one in latency]


def settled_by(rows: Sequence[Row]) -> float | None:
    """The longest settle time of these runs in us; None if a run does not settle."""
    times = settle_times(rows)
    return None if None in times else max(time for time in times if time is not None)


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id; None if any run has not settled."""
    return {"settle_time_us": settled_by([row for p in PATTERNS for row in select(rows, p, "q_adaptive")])}


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every curve: its settle times and its final latency."""
    lines = [
        "## Every curve\n",
        "| pattern | routing | offered load | settled after, us, every seed | final mean latency, ns |",
        "|---|---|---|---|---|",
    ]
    for pattern in PATTERNS:
        for name in routings(rows):
            own = select(rows, pattern, name)
            for load in sorted({row["traffic.load"] for row in own}):
                times = settle_times(of_load(own, load))
                shown = ", ".join("not settled" if time is None else f"{time:.0f}" for time in times)
                final = course(of_load(own, load))[1][:, -1].mean()
                cells = f"{title_of(pattern)} | {style_of(name).label}"
                lines.append(f"| {cells} | {load:g} | {shown} | {final:,.0f} |")
    return "\n".join(lines) + "\n"
