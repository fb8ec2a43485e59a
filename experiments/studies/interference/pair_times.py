"""Figs 4 and 8: communication times of the six targets with each background, in ms and relative to the target alone."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...plotting.drawing import Row, routings
from ...plotting.jobs import backgrounds, job_title, targets
from .runs import bars, comm_time, legend, pair, slowdown


def draw_times(rows: Sequence[Row]) -> Figure:
    """The mean over ranks and placements, with the intervals of `comm_time`.

    Raises:
        ValueError: a pair has no row.
    """
    names, columns = routings(rows), backgrounds(rows)
    figure, axes = _panels(len(targets(rows)))
    for ax, target in zip(axes, targets(rows), strict=True):
        heights = [[comm_time(pair(rows, target, other, name), target) for name in names] for other in columns]
        bars(ax, heights, names, list(map(job_title, columns)))
        ax.set_title(job_title(target))
        ax.set_ylabel("communication time (ms)")
    legend(figure, names)
    return figure


def draw_slowdowns(rows: Sequence[Row]) -> Figure:
    """Communication time with a background / alone, under the same routing. 1 means no interference.

    Raises:
        ValueError: a pair has no row.
    """
    names, others = routings(rows), backgrounds(rows)[1:]
    figure, axes = _panels(len(targets(rows)))
    heights = {
        target: [[slowdown(rows, target, background, name) for name in names] for background in others]
        for target in targets(rows)
    }
    highest = np.nanmax([height for groups in heights.values() for group in groups for height in group])
    for ax, target in zip(axes, targets(rows), strict=True):
        bars(ax, heights[target], names, list(map(job_title, others)))
        ax.axhline(1, color="#333333", linewidth=1)
        ax.set_ylim(0, highest * 1.05)
        ax.set_title(job_title(target))
        ax.set_ylabel("communication time / alone")
    legend(figure, names)
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    lines = -(-count // 3)
    figure = Figure(figsize=(13, 3.5 * lines), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.1, w_pad=0.08)  # type: ignore[call-arg, union-attr]
    axes = list(figure.subplots(lines, 3).flat)
    for ax in axes[count:]:
        ax.remove()
    return figure, axes[:count]
