"""Figs 4 to 9: targets alone and with each background: communication times, and throughput and latency over time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...plotting.drawing import Row, latency_axis, paper_style
from .runs import Jobs, background_job, bars, comm_time, job_title, legend, over_time

THROUGHPUT = ("gb_per_ms", "throughput (GB/ms)")
LATENCY = ("latency_ns", "mean packet latency (ns)")

_ALONE: dict[str, Any] = {"linestyle": ":", "linewidth": 1.1}
_TOGETHER: dict[str, Any] = {"linestyle": "-", "linewidth": 1.6}


def times(jobs: Jobs) -> Figure:
    """Fig 4: the mean over ranks and placements, with the intervals of `comm_time`."""
    figure, columns = _panels(jobs, "communication time (ms)"), ["none", *jobs.backgrounds]
    for ax, target in zip(figure.axes, jobs.targets, strict=True):
        heights = [[comm_time(jobs.pair(target, other, name), target) for name in jobs.names] for other in columns]
        bars(ax, heights, jobs.names, list(map(job_title, columns)))
    return figure


def slowdowns(jobs: Jobs) -> Figure:
    """Fig 8: communication time with a background / alone, under the same routing. 1 means no interference."""
    figure = _panels(jobs, "communication time / alone")
    heights = [[[jobs.slowdown(t, other, n) for n in jobs.names] for other in jobs.backgrounds] for t in jobs.targets]
    for ax, own in zip(figure.axes, heights, strict=True):
        bars(ax, own, jobs.names, list(map(job_title, jobs.backgrounds)))
        ax.axhline(1, color="#333333", linewidth=1)
        ax.set_ylim(0, np.nanmax(heights) * 1.05)
    return figure


def _panels(jobs: Jobs, label: str) -> Figure:
    lines = -(-len(jobs.targets) // 3)
    figure = Figure(figsize=(13, 3.5 * lines), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.1, w_pad=0.08)  # type: ignore[call-arg, union-attr]
    axes = list(figure.subplots(lines, 3).flat)
    for ax in axes[len(jobs.targets) :]:
        ax.remove()
    for ax, target in zip(figure.axes, jobs.targets, strict=True):
        ax.set(title=job_title(target), ylabel=label)
    legend(figure, jobs.names)
    return figure


def series(
    jobs: Jobs, target: str, background: str, quantity: tuple[str, str], names: Sequence[str] | None = None
) -> Figure:
    """Figs 5, 6, 7 and 9: a quantity of two jobs over time, alone (dotted) and together, under some or all routings.

    Lines are means over the placements, and bands reach from the lowest to the highest.
    """
    names = names or jobs.names
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    key, label = quantity
    for name in names:
        together = jobs.pair(target, background, name)
        _line(left, jobs.pair(target, "none", name), f"{target}.{key}", name, _ALONE)
        _line(left, together, f"{target}.{key}", name, _TOGETHER)
        _line(right, jobs.pair(background, "none", name), f"{background}.{key}", name, _ALONE)
        _line(right, together, f"{background_job(target, background)}.{key}", name, _TOGETHER)
    for ax, job, other in ((left, target, background), (right, background, target)):
        ax.set(title=f"{job_title(job)}, with {job_title(other)}", xlabel="time (ms)", ylabel=label)
        ax.set_xlim(left=0)
        if quantity is LATENCY:
            latency_axis(ax)
        else:
            ax.set_ylim(bottom=0)
    looks = {"together": _TOGETHER, "alone": _ALONE}
    extra = [Line2D([], [], label=label, color="#333333", **look) for label, look in looks.items()]
    legend(figure, names, extra, lines=True)
    return figure


def _line(ax: Axes, runs: Sequence[Row], quantity: str, name: str, look: dict[str, Any]) -> None:
    time, (mean, low, high) = over_time(runs, quantity)
    ax.fill_between(time, low, high, color=paper_style(name).color, alpha=0.2, linewidth=0, zorder=1.5)
    ax.plot(time, mean, color=paper_style(name).color, zorder=3 if name == "q_adaptive" else 2, **look)
