"""The schedule of a run with a queue of jobs: their terminals over time, utilisation, and the length of the queue."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ...simcore import ConfigError
from ...simcore.pictures.loads import scale
from ..results.files import read_columns
from .drawing import polish

# Columns of queue.parquet that can colour the jobs, with their least values and labels.
COLOURS = {
    "wait": ("wait_ns", 0.0, "waiting time ({unit})"),
    "slowdown": ("slowdown", 1.0, "slowdown, relative to a run alone"),
    "bounded_slowdown": ("bounded_slowdown", 1.0, "bounded slowdown"),
}
_NS = {"ms": 1e6, "us": 1e3}
_LETTER = 0.065, 0.11  # inches of a letter of a job's name


def schedule_figure(result: Mapping[str, Any], directory: Path, colour: str = "wait", title: str = "") -> Figure:
    """The picture of a run with a scheduler.

    A job has a rectangle for each sequence of consecutive terminals, from its start to its end, or to that of the run.
    Dark colours are high values. A job without a value is white.

    Args:
        result: The content of `result.json`.
        directory: The folder of the run.
        colour: A key of `COLOURS`.
        title: Above the picture.

    Raises:
        ConfigError: the run has no scheduler.
    """
    queue, ranks = (read_columns(result, directory, key) for key in ("queue", "ranks"))
    if queue is None or ranks is None:
        raise ConfigError(f"{directory}: the run has no queue of jobs; use workload=queue or workload.scheduler")
    count, end = result["facts"]["terminals"], float(result["simulated_ns"])
    unit = "ms" if end >= _NS["ms"] else "us"
    column, least, label = COLOURS[colour]
    factor = _NS[unit] if column.endswith("_ns") else 1.0
    values = queue[column] / factor
    norm = Normalize(least, max(least + 1e-9, np.nanmax(values, initial=least)))
    begin, stop = queue["start_ns"] / _NS[unit], np.nan_to_num(queue["finish_ns"], nan=end) / _NS[unit]
    end /= _NS[unit]

    figure = Figure(figsize=(8.0, 5.6), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True, height_ratios=[4, 1, 1])
    axes[0].set(xlim=(0, end), ylim=(0, count), ylabel="terminal", title=title)
    places, height = 6.2 / end, 3.2 / count  # inches of a unit
    boxes, shades, used = [], [], np.zeros(len(begin))
    for k, job in enumerate(queue["job"]):
        own = np.unique(ranks["terminal"][ranks["job"] == job])
        used[k] = own.size
        runs = np.split(own, np.flatnonzero(np.diff(own) > 1) + 1) if own.size else []
        shade = scale()(norm(values[k])) if np.isfinite(values[k]) else (1, 1, 1, 1)
        boxes += [Rectangle((begin[k], run[0]), stop[k] - begin[k], run.size) for run in runs]
        shades += [shade] * len(runs)
        largest = max(runs, key=len, default=own)
        fits = (stop[k] - begin[k]) * places > _LETTER[0] * len(job) and largest.size * height > _LETTER[1]
        if fits:
            axes[0].text((begin[k] + stop[k]) / 2, largest[0] + largest.size / 2, job, fontsize=6, ha="center",
                         va="center_baseline", color="white" if sum(shade[:3]) < 1.4 else "#222222")  # fmt: skip
    axes[0].add_collection(PatchCollection(boxes, facecolors=shades, edgecolors="#555555", linewidths=0.4))
    bar = figure.colorbar(ScalarMappable(norm, scale()), ax=axes[0], aspect=30, pad=0.01)
    bar.set_label(label.format(unit=unit))
    bar.outline.set_visible(False)
    started = np.isfinite(begin)
    busy = _steps(begin[started], stop[started], 100 * used[started] / count, end)
    submit = queue["submit_ns"] / _NS[unit]
    waiting = _steps(submit, np.where(started, begin, end), np.ones(len(begin)), end)
    for ax, steps, words in zip(axes[1:], (busy, waiting), ("terminals\nin use (%)", "waiting\njobs"), strict=True):
        ax.fill_between(*steps, step="post", color="#0072B2", alpha=0.6, linewidth=0)
        ax.set_ylabel(words)
    axes[1].set_ylim(0, 105)
    axes[2].set_ylim(bottom=0)
    axes[2].yaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes[2].set_xlabel(f"time ({unit})")
    for ax in axes:
        polish(ax)
    axes[0].grid(False)
    figure.align_ylabels()
    return figure


def _steps(begin: NDArray[Any], stop: NDArray[Any], height: NDArray[Any], end: float) -> NDArray[np.float64]:
    """[2, changes] times, and the sum of the heights of the intervals that contain the time from there on."""
    times = np.unique(np.concatenate([[0.0, end], begin, stop]))
    change = np.zeros(len(times))
    np.add.at(change, np.searchsorted(times, begin), height)
    np.add.at(change, np.searchsorted(times, stop), -height)
    return np.array([times, np.cumsum(change)])
