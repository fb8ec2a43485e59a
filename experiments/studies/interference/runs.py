"""Selection of the study's rows, and common parts of its figures.

The runs of a case are a list with a row per placement.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ...metrics import Interval, mean_interval
from ...plotting.drawing import Row, legend_of, paper_style
from ...plotting.jobs import comm_ms
from ...plotting.panels import draw_bars
from ...plotting.players import player_of

# The study's detail figures compare these two.
DETAIL = ("par", "q_adaptive")

PLACEMENT = "workload.placement_seed"

_POINTS = 250  # most points of a curve over time; longer curves are averaged
_NS_PER_MS = 1e6


def placements(rows: Sequence[Row]) -> list[int]:
    """The placements of these rows."""
    return sorted({row[PLACEMENT] for row in rows})


def pair(rows: Sequence[Row], target: str, background: str, routing: str) -> list[Row]:
    """The runs of a target with a background.

    Raises:
        ValueError: a placement has none, and a figure must not lack a bar.
    """
    words = f"target {target}, background {background} and routing {routing}"
    played = [row for row in rows if row["workload.name"] == "pair" and player_of(row) == routing]
    own = [row for row in played if (row["workload.target"], row["workload.background"]) == (target, background)]
    return _of_placements(rows, own, words)


def mixed(rows: Sequence[Row], routing: str) -> list[Row]:
    """The runs of the six mixed jobs.

    Raises:
        ValueError: a placement has none.
    """
    own = [row for row in rows if row["workload.name"] == "mixed" and player_of(row) == routing]
    return _of_placements(rows, own, f"the mixed workload and routing {routing}")


def _of_placements(rows: Sequence[Row], own: Sequence[Row], words: str) -> list[Row]:
    by_placement = {row[PLACEMENT]: row for row in own}
    missing = [placement for placement in placements(rows) if placement not in by_placement]
    if missing:
        raise ValueError(f"no row for {words}, placement {missing[0]}")
    return [by_placement[placement] for placement in placements(rows)]


def background_job(target: str, background: str) -> str:
    """The name of the background job in its pair."""
    return background if background != target else f"{background}_background"


def times(runs: Sequence[Row], job: str) -> NDArray[np.float64]:
    """Communication time of a job in ms, as a mean over its ranks, [placements]."""
    return np.array([comm_ms(run, job) for run in runs])


def comm_time(runs: Sequence[Row], job: str) -> Interval:
    """Communication time of a job in ms, as a mean over ranks and placements.

    The interval is the 95 % interval over the placements. With one placement it is one standard deviation
    over the ranks long.
    """
    if len(runs) > 1:
        return mean_interval(times(runs, job))
    middle, half = comm_ms(runs[0], job), comm_ms(runs[0], job, "std") / 2
    return Interval(middle, middle - half, middle + half)


def slowdown(rows: Sequence[Row], target: str, background: str, routing: str) -> Interval:
    """Communication time of a target with a background, relative to the target alone.

    Both have the same routing and placement. The interval is over the placements.
    """
    together, alone = (times(pair(rows, target, other, routing), target) for other in (background, "none"))
    return mean_interval(together / alone)


def over_time(runs: Sequence[Row], *quantities: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum of `series.<quantity>` over the quantities, in at most about 250 points.

    Returns:
        The middles of the intervals in ms, [points]; and mean, lowest and highest value over the placements whose run
        has not ended, [3, points].
    """
    time = max((np.asarray(run["time_ns"], dtype=float) / _NS_PER_MS for run in runs), key=len)
    middle = time - np.diff(time, prepend=0) / 2
    values = np.full((len(runs), time.size), np.nan)
    for own, run in zip(values, runs, strict=True):
        series = np.array([run[f"series.{quantity}"] for quantity in quantities], dtype=float)
        own[: series.shape[1]] = series.sum(axis=0)
    width = -(-time.size // _POINTS)
    whole = time.size // width * width
    blocks = _of_known(np.nanmean, values[:, :whole].reshape(len(runs), -1, width), 2)
    ends = [_of_known(number, blocks, 0) for number in (np.nanmean, np.nanmin, np.nanmax)]
    return middle[:whole].reshape(-1, width).mean(axis=1), np.array(ends)


def _of_known(number: Callable[..., Any], values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NaN where all values are NaN
        return np.asarray(number(values, axis=axis))


def bars(ax: Axes, heights: Sequence[Sequence[Interval]], names: Sequence[str], groups: Sequence[str]) -> None:
    """Draw a group of bars per entry of `heights`, with a bar and an interval per routing."""
    values = np.array(heights, dtype=float).swapaxes(0, 1)
    draw_bars(ax, values[..., 0], [paper_style(name).color for name in names], groups, ends=values[..., 1:], width=0.84)


def error_lengths(intervals: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lengths of error bars below and above, [2, points], from [points, 3] value, lower and upper end."""
    return np.abs(intervals[:, 1:] - intervals[:, :1]).T


def legend(figure: Figure, names: Sequence[str], extra: Sequence[Line2D] = (), lines: bool = False) -> None:
    """Draw one legend above all panels: the routings as squares or lines, then further entries."""
    look: dict[str, Any] = {"linewidth": 2} if lines else {"marker": "s", "markersize": 9, "linestyle": "none"}
    styles = map(paper_style, names)
    handles = [*(Line2D([], [], color=style.color, label=style.label, **look) for style in styles), *extra]
    legend_of(figure, handles, len(handles))
