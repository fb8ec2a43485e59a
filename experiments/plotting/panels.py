"""Panels that several figures share: grouped bars, curves over the offered load, and latency over time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.typing import ColorType
from numpy.typing import ArrayLike, NDArray

from .drawing import Row, Style, draw_band, draw_curves, polish, select

BOUND: dict[str, Any] = {"color": "#888888", "linewidth": 0.8, "linestyle": "-."}
_HIGH = 0.2  # a label is at the left end of the bound's line if the bound exceeds this load, otherwise at the right end


def draw_bars(
    ax: Axes,
    values: ArrayLike,
    colors: Sequence[ColorType | Sequence[ColorType]],
    groups: Sequence[str],
    labels: Sequence[str] = (),
    along: Literal["x", "y"] = "x",
    ends: ArrayLike | None = None,
    text: Callable[[float], str] | None = None,
    width: float = 0.8,
) -> NDArray[np.float64]:
    """Draw groups of bars.

    Args:
        ax: Axes to draw into.
        values: [series, groups].
        colors: One per series, or one per bar of a series.
        groups: The name of each group on the axis.
        labels: The name of each series in a legend.
        along: The axis along which the groups lie; `y` gives horizontal bars, the first one at the top.
        ends: [series, groups, 2] lower and upper ends of intervals; NaN for none.
        text: Gives the number at the end of a bar.
        width: The width of a group; the distance of two groups is 1.

    Returns:
        The middles of the bars, [series, groups].
    """
    heights = np.asarray(values, dtype=float)
    count, size = heights.shape
    places: NDArray[np.float64] = (np.arange(count) - (count - 1) / 2)[:, None] * width / count + np.arange(size)
    draw, error = (ax.bar, "yerr") if along == "x" else (ax.barh, "xerr")
    for k, own in enumerate(places):
        look: dict[str, Any] = {"color": colors[k], "label": labels[k] if labels else None}
        if ends is not None:
            lengths = np.abs(np.asarray(ends, dtype=float)[k].T - heights[k])
            look |= {error: np.nan_to_num(lengths), "error_kw": {"ecolor": "#333333", "elinewidth": 1}}
        bars = draw(own, heights[k], width / count * 0.92, **look)
        if text:
            ax.bar_label(bars, list(map(text, heights[k])), padding=3, fontsize=7, color="#444444")
    (ax.set_xticks if along == "x" else ax.set_yticks)(range(size), groups)
    if along == "y":
        ax.set_ylim(size - 0.4, -0.6)
    polish(ax, bars=along)
    return places


def draw_loads(
    rows: Sequence[Row],
    patterns: Mapping[str, str],
    quantities: Mapping[str, str],
    bounds: Mapping[str, Sequence[Mapping[str, Any]]],
    size: tuple[float, float],
) -> tuple[Figure, NDArray[Any]]:
    """Draw a column of panels per pattern and a row of panels per quantity, with a curve per routing.

    Args:
        rows: Rows of every routing and pattern at several offered loads.
        patterns: The title of each pattern, by the name that `pattern_of` returns.
        quantities: The labels of the columns.
        bounds: Upper bounds of the accepted load with `load` and `label`, by pattern.
        size: Of the figure, inches.

    Returns:
        The figure, and its panels, [quantities, patterns].
    """
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(quantities), len(patterns), sharex="col", sharey="row", squeeze=False)
    for column, (pattern, title) in zip(panels.T, patterns.items(), strict=True):
        for ax, quantity in zip(column, quantities, strict=True):
            draw_curves(ax, rows, pattern, quantity)
            if quantity != "accepted_load":
                continue
            most = max(row["traffic.load"] for row in select(rows, pattern))
            ax.plot([0, most], [0, most], color="#cccccc", linewidth=0.8, zorder=1)  # accepted = offered
            for bound in bounds[pattern]:
                ax.axhline(bound["load"], zorder=1, **BOUND)
                x, side, shift = (0.0, "left", 3) if bound["load"] > _HIGH else (1.0, "right", 0)
                ax.annotate(bound["label"], (x, bound["load"]), xycoords=("axes fraction", "data"), xytext=(shift, 2),
                            textcoords="offset points", ha=side, fontsize=7, color="#666666")  # fmt: skip
        column[0].set(title=title)
        column[-1].set_xlabel("offered load")
    for ax, label in zip(panels[:, 0], quantities.values(), strict=True):
        ax.set_ylabel(label)
    # A limit stops a shared axis from growing, so it is set after every panel of the row is drawn.
    panels[list(quantities).index("accepted_load"), 0].set_ylim(bottom=0)
    return figure, panels


def draw_course(ax: Axes, time: NDArray[np.float64], latency: NDArray[np.float64], style: Style, **look: Any) -> None:
    """Draw latency over time as the mean over the seeds, with 95 % intervals.

    Args:
        ax: Axes to draw into.
        time: [intervals].
        latency: [seeds, intervals]; NaN without a measurement.
        style: The style of the routing.
        look: Arguments of the line.
    """
    draw_band(ax, time, latency.T, style)
    mean = np.ma.masked_invalid(latency).mean(axis=0).filled(np.nan)
    ax.plot(time, mean, color=style.color, linestyle=style.line, linewidth=style.width * 0.8, **look)
