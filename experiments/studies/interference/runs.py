"""Selection of the rows of jobs that share a network, and common parts of the study's figures."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ...metrics import Interval, mean_interval
from ...plotting.drawing import Row, legend_of, paper_style, routings
from ...plotting.panels import draw_bars
from ...plotting.players import player_of
from ...plotting.runs import Runs

TARGETS = ("fft3d", "lu", "lqcd", "cosmoflow", "stencil5d", "lulesh")
BACKGROUNDS = ("none", "ur", "lu", "fft3d", "dl", "halo3d")
MIXED = ("fft3d", "cosmoflow", "lu", "ur", "lqcd", "stencil5d")
# Spelling of the paper. A job without an entry has its own name.
_TITLES = {
    "fft3d": "FFT3D", "lu": "LU", "lqcd": "LQCD", "cosmoflow": "CosmoFlow", "stencil5d": "Stencil5D",
    "lulesh": "LULESH", "ur": "UR", "dl": "DL", "halo3d": "Halo3D", "none": "alone",
}  # fmt: skip
# The study's detail figures compare these two.
DETAIL = ("par", "q_adaptive")

Case = tuple[str, str]
"""A target and its background, or `MIX`."""

MIX: Case = ("mixed", "mixed")
CASES: list[Case] = [*((target, other) for other in BACKGROUNDS for target in TARGETS), MIX]

_POINTS = 250  # most points of a curve over time; longer curves are averaged
_NS_PER_MS = 1e6


class Jobs:
    """Runs of the study's jobs by routing and by case: a target with its background, or the mixed jobs.

    The runs of a case are a list with a row per placement. A run that is missing is an error, because a figure must not
    lack a bar.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows, self.names = rows, routings(rows)
        self._runs = Runs(rows, case=_case, routing=player_of, placement="workload.placement_seed")
        self.cases = [case for case in CASES if case in self._runs.values("case")]
        self.backgrounds = [name for name in BACKGROUNDS if any(case[1] == name != "none" for case in self.cases)]
        self.targets = [name for name in TARGETS if any(case[0] == name and case[1] != "none" for case in self.cases)]
        self.placements = sorted(self._runs.values("placement"))

    def runs(self, case: Case, routing: str) -> list[Row]:
        """The runs of a case."""
        return [self._runs.at(case=case, routing=routing, placement=one)[0] for one in self.placements]

    def pair(self, target: str, background: str, routing: str) -> list[Row]:
        """The runs of a target with a background, or alone (`none`)."""
        return self.runs((target, background), routing)

    def mixed(self, routing: str) -> list[Row]:
        """The runs of the six mixed jobs."""
        return self.runs(MIX, routing)

    def slowdown(self, target: str, background: str, routing: str) -> Interval:
        """Communication time of a target with a background, relative to the target alone.

        Both have the same routing and placement. The interval is over the placements.
        """
        together, alone = (times(self.pair(target, other, routing), target) for other in (background, "none"))
        return mean_interval(together / alone)

    def throughputs(self, routing: str) -> NDArray[np.float64]:
        """Throughput of all jobs in GB/ms in the runs with several jobs, [cases, placements]."""
        several = [self.runs(case, routing) for case in self.cases if case[1] != "none"]
        return np.array([[run["system_throughput_gb_per_ms"] for run in runs] for runs in several])


def _case(row: Row) -> Case:
    return (row["workload.target"], row["workload.background"]) if row["workload.name"] == "pair" else MIX


def job_title(job: str) -> str:
    """The name of a job in figures and tables."""
    return _TITLES.get(job, job)


def comm_ms(row: Row, job: str, which: str = "mean") -> float:
    """Communication time of a job over its ranks, in ms."""
    return float(row[f"jobs.{job}.comm_time_{which}_ns"]) / _NS_PER_MS


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


def geometric(logs: Interval) -> Interval:
    """The geometric mean and its interval, from those of logarithms."""
    return Interval(*map(float, np.exp(logs)))


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


def legend(figure: Figure, names: Sequence[str], extra: Sequence[Line2D] = (), lines: bool = False) -> None:
    """Draw one legend above all panels: the routings as squares or lines, then further entries."""
    look: dict[str, Any] = {"linewidth": 2} if lines else {"marker": "s", "markersize": 9, "linestyle": "none"}
    styles = map(paper_style, names)
    handles = [*(Line2D([], [], color=style.color, label=style.label, **look) for style in styles), *extra]
    legend_of(figure, handles, len(handles))
