"""The figure of a study: a row of panels per network, pattern or workload, with curves over the load or points."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator
from numpy.typing import NDArray

from ..plotting.drawing import Style, draw_intervals, interval_key, key_line, latency_axis, legend_of, polish
from ..results.copies import count_text
from .cells import Cell
from .tables import Panel, by_table

# A network that accepts less than this part of the offered load is saturated: its latency grows with the window.
_SATURATED = 0.95
_TIMES = ("latency", "comm_time", "finish")  # beginnings of the metrics that may have a logarithmic axis
_LOG_FROM = 3.0  # ratio of the largest to the smallest value from which the axis is logarithmic
_LEAST_GAP_CLOSED = -1.0  # lower shares of the gap are drawn there
_DECADE = 10
_TICKS_OF_A_DECADE = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # if the axis spans less than a decade
_WIDTH, _HEIGHT = 4.0, 2.9  # of a panel, inches
_LEAST_WIDTH = 7.0
_BOUND: dict[str, Any] = {"color": "#FF2D2D", "linewidth": 2.0, "solid_capstyle": "butt"}
_LABELS = {"load": "offered load", "hop": "hops that the packet has made"}


def draw(
    cells: Sequence[Cell], panels: Mapping[str, Sequence[Panel]], styles: Mapping[str, Style], confidence: float
) -> Figure:
    """Draw every table: its panels by the first key of its points, with the styles in the order of the legend."""
    tables, measured = list(by_table(cells)), {cell.metric for cell in cells}
    panels = {kind: [panel for panel in own if panel.metric in measured] for kind, own in panels.items()}
    # A policy without any finished run appears neither in the panels nor in the legend.
    present = {cell.policy for cell in cells if np.isfinite(cell.mean.value)}
    styles = {name: style for name, style in styles.items() if name in present}
    columns = max(len(panels[own[0].table[0]]) for _, own in tables)
    size = (max(_LEAST_WIDTH, columns * _WIDTH), len(tables) * _HEIGHT + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    for line, (title, own) in zip(figure.subplots(len(tables), columns, squeeze=False), tables, strict=True):
        for ax, panel in zip(line, panels[own[0].table[0]], strict=True):
            (_curves if panel.x == "load" else _points)(ax, own, panel, styles)
            if panel.line is not None:
                ax.axhline(panel.line, color="#bbbbbb", linewidth=0.9, zorder=1)
            ax.set_ylabel(panel.title)
            polish(ax)
        line[0].set_title(title, fontweight="bold", loc="left")
    figure.align_ylabels()
    handles = [key_line(style) for style in styles.values()]
    if any(np.isfinite(cell.mean.low) for cell in cells):
        handles.append(interval_key(confidence, count_text([cell.seeds for cell in cells if cell.seeds])))
    if _saturated(cells):
        handles.append(
            Line2D([], [], color="#666666", marker="o", markerfacecolor="white", linestyle="none",
                   label=f"saturated (less than {100 * _SATURATED:g} % of the offered load accepted)")
        )  # fmt: skip
    limits = {panel.limit for own in panels.values() for panel in own}
    if any(cell.metric in limits and np.isfinite(cell.mean.value) for cell in cells):
        handles.append(Line2D([], [], label="analytic bound", **_BOUND))
    legend_of(figure, handles)
    return figure


def _numbers(cells: Sequence[Cell], factor: float | None) -> NDArray[np.float64]:
    values = [cell.ratio if factor is None else cell.mean for cell in cells]
    numbers: NDArray[np.float64] = np.array(values, dtype=float).reshape(-1, 3) * (factor or 1)
    if cells and cells[0].metric == "gap_closed":
        numbers = np.maximum(numbers, _LEAST_GAP_CLOSED)
    return numbers


def _curves(ax: Axes, cells: Sequence[Cell], panel: Panel, styles: Mapping[str, Style]) -> None:
    """One curve per policy over the offered load, with its interval shaded; hollow marks are saturated."""
    shown = [cell for cell in cells if cell.metric == panel.metric and cell.point.get("hop") is None]
    loads = sorted({cell.point["load"] for cell in shown})
    saturated = _saturated(cells)
    for k, (policy, style) in enumerate(styles.items()):
        own = sorted((cell for cell in shown if cell.policy == policy), key=lambda cell: cell.point["load"])
        x, y = np.array([cell.point["load"] for cell in own], dtype=float), _numbers(own, panel.factor)
        above = 2 + 0.1 * k
        ax.plot(x, y[:, 0], color=style.color, linestyle=style.line, linewidth=style.width, zorder=above)
        full = np.array([(policy, cell.point["load"]) not in saturated for cell in own], dtype=bool)
        for chosen, face in ((full, style.color), (~full, "white")):
            ax.plot(
                x[chosen], y[chosen, 0], color=style.color, marker=style.marker, markerfacecolor=face, markersize=5.5,
                linestyle="none", zorder=above,
            )  # fmt: skip
        draw_intervals(ax, x, y, style, shaded=len(loads) > 1)
        limits = [cell.mean.value for cell in cells if (cell.metric, cell.policy) == (panel.limit, policy)]
        if len(limits) == len(x):
            ax.plot(x, limits, marker="_" if len(x) == 1 else None, markersize=20, zorder=2, **_BOUND)
    if panel.metric == "accepted_load":
        # The diagonal: all of the offered load is accepted.
        ax.plot([0, loads[-1]], [0, loads[-1]], color="#bbbbbb", linewidth=0.9, zorder=1)
        ax.set_ylim(bottom=0)
    else:
        _scale(ax, shown, panel)
    ax.set_xlim(0, 1.05 * loads[-1])
    ax.set_xlabel(_LABELS["load"])


def _points(ax: Axes, cells: Sequence[Cell], panel: Panel, styles: Mapping[str, Style]) -> None:
    """A group of points per job, pattern or hop, one per policy, with error bars."""
    shown = [cell for cell in cells if cell.metric == panel.metric]
    if highest := max((cell.point.get("load", 0.0) for cell in shown), default=0.0):
        shown = [cell for cell in shown if cell.point["load"] == highest]
        ax.set_title(f"at load {highest:g}", fontsize=8, loc="right")
    places = list(dict.fromkeys(at for cell in shown if (at := cell.point[panel.x]) is not None)) or [None]
    step = min(0.16, 0.7 / max(1, len(styles)))
    for k, (policy, style) in enumerate(styles.items()):
        own = [cell for cell in shown if cell.policy == policy]
        # A policy that always decides after the same number of hops has one point.
        own = [cell for cell in own if cell.point[panel.x] is not None] or own
        x = np.array([places.index(at) if (at := cell.point[panel.x]) in places else 0 for cell in own], dtype=float)
        x += (k - (len(styles) - 1) / 2) * step
        y = _numbers(own, panel.factor)
        draw_intervals(ax, x, y, style)
        ax.plot(x, y[:, 0], color=style.color, marker=style.marker, markersize=7, linestyle="none", zorder=3)
        limits = [cell for cell in cells if (cell.metric, cell.policy) == (panel.limit, policy)]
        for at, cell in zip(x, limits, strict=False):
            ax.plot([at - step / 2, at + step / 2], [cell.mean.value] * 2, zorder=3, **_BOUND)
    ax.set_xticks(range(len(places)), ["all" if at is None else str(at) for at in places],
                  rotation=20 if len(places) > 4 else 0)  # fmt: skip
    ax.set_xlim(-0.5, len(places) - 0.5)
    ax.set_xlabel(_LABELS.get(panel.x, ""))
    ax.margins(y=0.12)
    if panel.factor is not None:
        _scale(ax, shown, panel)


def _scale(ax: Axes, cells: Sequence[Cell], panel: Panel) -> None:
    values = _numbers(cells, panel.factor)[:, 0]
    values = values[np.isfinite(values)]
    if panel.metric == "gap_closed":
        ax.set_ylim(_LEAST_GAP_CLOSED - 0.1, values.max(initial=1.0) + 0.2)
    elif panel.metric.startswith(_TIMES) and values.size and values.max() > _LOG_FROM * values.min() > 0:
        latency_axis(ax)
        if values.max() < _DECADE * values.min():
            ax.yaxis.set_major_locator(LogLocator(subs=_TICKS_OF_A_DECADE))
    elif values.size:
        ax.set_ylim(bottom=min(0.0, values.min()))
        if values.max() > _DECADE:
            ax.yaxis.set_major_formatter("{x:,.0f}")


def _saturated(cells: Sequence[Cell]) -> set[tuple[str, float]]:
    return {
        (cell.policy, cell.point["load"])
        for cell in cells
        if cell.metric == "accepted_load" and cell.mean.value < _SATURATED * cell.point["load"]
    }
