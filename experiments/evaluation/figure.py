"""The figure of an evaluation: a row of panels per pattern, with curves over the load, and per workload, by job."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from ..plotting.drawing import Style, draw_intervals, interval_key, key_line, latency_axis, legend_of, polish
from ..results.copies import count_text
from .summary import Cell

# Panels of a row: metric, title, factor from the metric's unit. None as factor: the ratio to the reference.
_PATTERN_PANELS = (
    ("accepted_load", "accepted load", 1.0),
    ("latency_mean_ns", "mean latency (ns)", 1.0),
    ("latency_p99_ns", "99th percentile of latency (ns)", 1.0),
)
# Jobs differ by orders of magnitude and policies by little, so two panels show ratios.
_WORKLOAD_PANELS = (
    ("comm_time_ns", "communication time (us)", 1e-3),
    ("comm_time_ns", "communication time / {reference}", None),
    ("finish_ns", "finish / {reference}", None),
)
# A network that accepts less than this part of the offered load is saturated: its latency grows with the window.
_SATURATED = 0.95
_LOG_FROM = 3.0  # ratio of the largest to the smallest value from which the axis is logarithmic
_DECADE = 10
_TICKS_OF_A_DECADE = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # if the axis spans less than a decade
_WIDTH, _HEIGHT = 4.0, 2.9  # of a panel, inches


def draw(cells: Sequence[Cell], styles: Mapping[str, Style], reference: str, confidence: float) -> Figure:
    """Draw every scenario.

    Args:
        cells: All cells of the evaluation.
        styles: The style of every policy, by name, in the order of the legend.
        reference: The name of the policy that ratios refer to.
        confidence: The confidence of the intervals, for the legend.
    """
    scenarios = [list(own) for _, own in groupby(cells, key=lambda cell: (cell.kind, cell.scenario))]
    rows = len(scenarios)
    # A policy without any finished run appears neither in the panels nor in the legend.
    present = {cell.policy for cell in cells if np.isfinite(cell.mean.value)}
    styles = {name: style for name, style in styles.items() if name in present}
    figure = Figure(figsize=(3 * _WIDTH, rows * _HEIGHT + 0.9), layout="constrained")
    panels = figure.subplots(rows, 3, squeeze=False)
    for line, own in zip(panels, scenarios, strict=True):
        pattern = own[0].kind == "pattern"
        for ax, (metric, title, factor) in zip(line, _PATTERN_PANELS if pattern else _WORKLOAD_PANELS, strict=True):
            chosen = [cell for cell in own if cell.metric == metric]
            if pattern:
                _curves(ax, chosen, _saturated(own), styles)
            else:
                _jobs(ax, chosen, styles, factor)
            ax.set_ylabel(title.format(reference=reference))
            polish(ax)
        line[0].set_title(own[0].scenario, fontweight="bold", loc="left")
    figure.align_ylabels()
    _legend(figure, cells, styles, confidence)
    return figure


def _curves(
    ax: Axes, cells: Sequence[Cell], saturated: set[tuple[str, float | None]], styles: Mapping[str, Style]
) -> None:
    """One curve per policy over the offered load, with its interval shaded."""
    loads = np.array(list(dict.fromkeys(cell.load for cell in cells)), dtype=float)
    for k, (policy, style) in enumerate(styles.items()):
        own = [cell for cell in cells if cell.policy == policy]
        order = np.argsort(loads)
        x, y = loads[order], np.array([cell.mean for cell in own], dtype=float)[order]
        above = 2 + 0.1 * k
        ax.plot(x, y[:, 0], color=style.color, linestyle=style.line, linewidth=style.width, zorder=above)
        full = np.array([(policy, cell.load) not in saturated for cell in own])[order]
        for chosen, face in ((full, style.color), (~full, "white")):
            ax.plot(
                x[chosen], y[chosen, 0], color=style.color, marker=style.marker, markerfacecolor=face, markersize=5.5,
                linestyle="none", zorder=above,
            )  # fmt: skip
        draw_intervals(ax, x, y, style, shaded=loads.size > 1)
    if cells[0].metric == "accepted_load":
        # The diagonal: all of the offered load is accepted.
        ax.plot([0, loads.max()], [0, loads.max()], color="#bbbbbb", linewidth=0.9, zorder=1)
        ax.set_ylim(bottom=0)
    else:
        _scale(ax, cells, 1.0)
    ax.set_xlim(0, 1.05 * loads.max())
    ax.set_xlabel("offered load")


def _jobs(ax: Axes, cells: Sequence[Cell], styles: Mapping[str, Style], factor: float | None) -> None:
    """A group of points per job, one per policy, with error bars."""
    jobs = list(dict.fromkeys(cell.job for cell in cells))
    step = min(0.16, 0.7 / len(styles))
    for k, (policy, style) in enumerate(styles.items()):
        x = np.arange(len(jobs)) + (k - (len(styles) - 1) / 2) * step
        own = [cell for cell in cells if cell.policy == policy]
        y = np.array([cell.ratio if factor is None else cell.mean for cell in own]) * np.float64(factor or 1)
        draw_intervals(ax, x, y, style)
        ax.plot(x, y[:, 0], color=style.color, marker=style.marker, markersize=7, linestyle="none", zorder=3)
    ax.set_xticks(range(len(jobs)), [str(job) for job in jobs], rotation=20 if len(jobs) > 4 else 0)
    ax.set_xlim(-0.5, len(jobs) - 0.5)
    ax.margins(y=0.12)
    if factor is None:
        ax.axhline(1, color="#bbbbbb", linewidth=0.9, zorder=1)
    else:
        _scale(ax, cells, factor)


def _scale(ax: Axes, cells: Sequence[Cell], factor: float) -> None:
    values = np.array([cell.mean.value for cell in cells]) * factor
    values = values[np.isfinite(values)]
    if values.size and values.min() > 0 and values.max() > _LOG_FROM * values.min():
        latency_axis(ax)
        if values.max() < _DECADE * values.min():
            ax.yaxis.set_major_locator(LogLocator(subs=_TICKS_OF_A_DECADE))
    elif values.size:
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter("{x:,.0f}")


def _saturated(cells: Sequence[Cell]) -> set[tuple[str, float | None]]:
    return {
        (cell.policy, cell.load)
        for cell in cells
        if cell.metric == "accepted_load" and cell.load and cell.mean.value < _SATURATED * cell.load
    }


def _legend(figure: Figure, cells: Sequence[Cell], styles: Mapping[str, Style], confidence: float) -> None:
    handles = [key_line(style) for style in styles.values()]
    if any(np.isfinite(cell.mean.low) for cell in cells):
        handles.append(interval_key(confidence, count_text([cell.seeds for cell in cells if cell.seeds])))
    if _saturated(cells):
        handles.append(
            Line2D([], [], color="#666666", marker="o", markerfacecolor="white", linestyle="none",
                   label=f"saturated (less than {100 * _SATURATED:g} % of the offered load accepted)")
        )  # fmt: skip
    legend_of(figure, handles)
