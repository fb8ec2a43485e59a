"""Draws latency over time from untrained tables, and computes settle times from the rows."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import ColorType
from numpy.typing import NDArray

from ...metrics import running_median, settle_time
from ...plotting.drawing import BANDS, Row, key_line, latency_axis, legend_of, paper_style, routings, select
from ...plotting.markdown import section
from ...plotting.panels import BOUND, draw_course
from ...plotting.runs import Runs, course

OVER_SEEDS = f"{BANDS}; dots: the slowest seed"
PATTERNS = {"uniform": "UR", "adversarial": "ADV+1", "adversarial, shift=4": "ADV+4"}
_SMOOTHING = 5  # intervals per median; smoothing keeps one noisy interval from moving the settle time
_SPACING = 0.045  # least distance of two labels, as a fraction of the panel's height


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """One panel per pattern, one line per routing and load, and a dot where every seed has settled."""
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    panels = figure.subplots(1, len(PATTERNS), sharey=True)
    ends = [draw_panel(ax, rows, pattern) for ax, pattern in zip(panels, PATTERNS, strict=True)]
    # The panels share their latency axis: its limits are known only after every line is drawn.
    for ax, pattern, last_points in zip(panels, PATTERNS, ends, strict=True):
        ax.axvline(expected["numbers"][0]["value"], zorder=1, **BOUND)
        ax.set(title=PATTERNS[pattern], xlabel="time since the start (µs); numbers: offered load")
        label_ends(ax, last_points)
    panels[0].set_ylabel("mean latency per interval (ns)")
    settled = Line2D([], [], marker="o", markeredgecolor="black", color="white", linestyle="none", label="settled")
    published = Line2D([], [], label="published settle time", **BOUND)
    legend_of(figure, [*(key_line(paper_style(name)) for name in routings(rows)), settled, published])
    return figure


def draw_panel(ax: Axes, rows: Sequence[Row], pattern: str) -> list[tuple[float, float, str, ColorType]]:
    """Draw latency over time for one pattern; the higher the load, the stronger the colour.

    Returns:
        The last point of each line, its label (the offered load) and its colour.
    """
    ends = []
    for name in routings(rows):
        style, runs = paper_style(name), by_load(rows, pattern, name)
        for k, (load, own) in enumerate(runs.items()):
            time, latency = smoothed(own)
            mean = latency.mean(axis=0)
            draw_course(ax, time, latency, style, alpha=0.45 + 0.55 * (k + 1) / len(runs))
            ends.append((float(time[-1]), float(mean[-1]), f"{load:g}", style.color))
            if (settled := settled_by(own)) is not None:
                at = np.interp(settled, time, mean)
                ax.plot(settled, at, "o", color=style.color, markeredgecolor="black", zorder=4)
    latency_axis(ax)
    ax.set_xlim(0, max(end[0] for end in ends))
    return ends


def label_ends(ax: Axes, ends: Sequence[tuple[float, float, str, ColorType]]) -> None:
    """Write a label to the right of each line's last point, with enough distance between labels."""
    to_panel, height = ax.transScale + ax.transLimits, -np.inf
    for x, y, text, color in sorted(ends, key=lambda end: end[1]):
        height = max(float(to_panel.transform((x, y))[1]), height + _SPACING)
        ax.annotate(text, (1.0, height), xycoords="axes fraction", xytext=(3, 0), textcoords="offset points",
                    fontsize=8, va="center", color=color)  # fmt: skip


def by_load(rows: Sequence[Row], pattern: str, name: str) -> dict[float, list[Row]]:
    """The runs of a routing by offered load, one per seed."""
    runs = Runs(select(rows, pattern, name), load="traffic.load")
    return {load: runs.at(load=load) for load in runs.values("load")}


def smoothed(rows: Sequence[Row]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time in us, and smoothed mean latency in ns, [seeds, intervals]."""
    time, latency = course(rows)
    return time, np.array([running_median(one, _SMOOTHING) for one in latency])


def settle_times(rows: Sequence[Row]) -> list[float | None]:
    """The settle time of every seed in us; None for a run that does not settle."""
    time, latency = smoothed(rows)
    return [settle_time(time, one) for one in latency]


def settled_by(rows: Sequence[Row]) -> float | None:
    """The longest settle time of these runs in us; None if a run does not settle."""
    times = settle_times(rows)
    return None if None in times else max(time for time in times if time is not None)


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id; None if any run has not settled."""
    return {"settle_time_us": settled_by([row for p in PATTERNS for row in select(rows, p, "q_adaptive")])}


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every curve: its settle times and its final latency."""
    heads = ["pattern", "routing", "offered load", "settled after, us, every seed", "final mean latency, ns"]
    lines = []
    for (pattern, title), name in itertools.product(PATTERNS.items(), routings(rows)):
        for load, own in by_load(rows, pattern, name).items():
            times = ["not settled" if time is None else f"{time:.0f}" for time in settle_times(own)]
            cells = [f"{load:g}", ", ".join(times), f"{smoothed(own)[1][:, -1].mean():,.0f}"]
            lines.append([title, paper_style(name).label, *cells])
    return section("Every curve", heads, lines)
