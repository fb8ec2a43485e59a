"""Figs 5, 6, 7 and 9: two jobs over time, alone (dotted) and together.

Lines are means over the placements, and bands reach from the lowest to the highest.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...plotting.drawing import Row, latency_axis, paper_style, routings
from ...plotting.jobs import job_title
from .runs import DETAIL, background_job, legend, over_time, pair

_THROUGHPUT = ("gb_per_ms", "throughput (GB/ms)")
_LATENCY = ("latency_ns", "mean packet latency (ns)")

_ALONE: dict[str, Any] = {"linestyle": ":", "linewidth": 1.1}
_TOGETHER: dict[str, Any] = {"linestyle": "-", "linewidth": 1.6}


def fft3d_and_halo3d(rows: Sequence[Row]) -> Figure:
    """Fig 5: throughput of FFT3D with Halo3D, under PAR and Q-adaptive."""
    return _draw(rows, "fft3d", "halo3d", DETAIL, _THROUGHPUT)


def latency_of_a_pair(rows: Sequence[Row]) -> Figure:
    """Fig 6: packet latency of a pair under every routing."""
    return _draw(rows, "lu", "halo3d", routings(rows), _LATENCY)


def throughput_of_a_pair(rows: Sequence[Row]) -> Figure:
    """Fig 7: throughput of the same pair under every routing."""
    return _draw(rows, "lu", "halo3d", routings(rows), _THROUGHPUT)


def cosmoflow_and_halo3d(rows: Sequence[Row]) -> Figure:
    """Fig 9: throughput of CosmoFlow with Halo3D, under PAR and Q-adaptive."""
    return _draw(rows, "cosmoflow", "halo3d", DETAIL, _THROUGHPUT)


def _draw(rows: Sequence[Row], target: str, background: str, names: Sequence[str], quantity: tuple[str, str]) -> Figure:
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    key, label = quantity
    for name in names:
        together = pair(rows, target, background, name)
        _line(left, pair(rows, target, "none", name), f"{target}.{key}", name, _ALONE)
        _line(left, together, f"{target}.{key}", name, _TOGETHER)
        _line(right, pair(rows, background, "none", name), f"{background}.{key}", name, _ALONE)
        _line(right, together, f"{background_job(target, background)}.{key}", name, _TOGETHER)
    for ax, job, other in ((left, target, background), (right, background, target)):
        ax.set_title(f"{job_title(job)}, with {job_title(other)}")
        ax.set_xlabel("time (ms)")
        ax.set_ylabel(label)
        ax.set_xlim(left=0)
        if quantity is _LATENCY:
            latency_axis(ax)
        else:
            ax.set_ylim(bottom=0)
    dark: dict[str, Any] = {"color": "#333333"}
    legend(
        figure,
        names,
        [Line2D([], [], label="together", **dark, **_TOGETHER), Line2D([], [], label="alone", **dark, **_ALONE)],
        lines=True,
    )
    return figure


def _line(ax: Axes, runs: Sequence[Row], quantity: str, name: str, look: dict[str, Any]) -> None:
    time, (mean, low, high) = over_time(runs, quantity)
    ax.fill_between(time, low, high, color=paper_style(name).color, alpha=0.2, linewidth=0, zorder=1.5)
    ax.plot(time, mean, color=paper_style(name).color, zorder=3 if name == "q_adaptive" else 2, **look)
