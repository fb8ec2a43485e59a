"""The picture of a trace: bytes by sender and receiver, and its course on an ideal network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...simcore import Program
from ..plotting.drawing import polish
from ..terminal.times import time_text
from .measure import Course

_CELLS = 512  # of the matrix, in each direction; more ranks share cells
_TIMES = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))
_RATES = (("TB/s", 1e3), ("GB/s", 1.0), ("MB/s", 1e-3))
_SIZE = (12.0, 5.6)  # inches
_BLUE, _GREEN, _RED = "#0072B2", "#009E73", "#D55E00"


def trace_figure(program: Program, course: Course, title: str, model: str) -> Figure:
    """Draw a trace and its course on an ideal network, which `model` describes in a few words."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    figure.suptitle(title, fontsize=11)
    axes = figure.subplot_mosaic("MC;MN;MB", width_ratios=[1.0, 1.15])
    _draw_matrix(figure, axes["M"], program)
    _draw_course([axes[name] for name in "CNB"], course)
    end = time_text(course.finish_ns)
    axes["C"].set_title(f"without a network, ends after {end}\n{model}", fontsize=9)
    return figure


def bytes_matrix(program: Program) -> tuple[NDArray[np.float64], int]:
    """[cells, cells] bytes from the row's ranks to the column's ranks, and the number of ranks per cell."""
    first, receivers, sizes = program.communication()
    width = -(-program.ranks // _CELLS)
    cells = -(-program.ranks // width)
    each = np.diff(first.astype(np.int64)).tolist()
    senders = np.repeat(np.arange(program.ranks), each)
    places = (senders // width) * cells + receivers.astype(np.int64) // width
    sums = np.bincount(places, sizes, cells * cells).astype(np.float64)
    return sums.reshape(cells, cells), width


def _draw_matrix(figure: Figure, axes: Axes, program: Program) -> None:
    sums, width = bytes_matrix(program)
    present = sums[sums > 0]
    axes.set_xlabel("receiver (rank)")
    axes.set_ylabel("sender (rank)")
    each = "" if width == 1 else f", {width} x {width} ranks per cell"
    axes.set_title(f"bytes by sender and receiver{each}", fontsize=9)
    if not present.size:
        axes.set(xlim=(-0.5, program.ranks - 0.5), ylim=(program.ranks - 0.5, -0.5), aspect="equal")
        axes.text(0.5, 0.5, "no messages between ranks", transform=axes.transAxes, ha="center", va="center")
        return
    low, high = present.min(), present.max()
    norm: Normalize = LogNorm(low, high) if high > 10 * low else Normalize(0, high)
    span = sums.shape[0] * width
    drawn = axes.imshow(
        np.ma.masked_equal(sums, 0),
        norm=norm,
        cmap="viridis_r",
        extent=(-0.5, span - 0.5, span - 0.5, -0.5),
        interpolation="nearest",
    )
    bar = figure.colorbar(drawn, ax=axes, shrink=0.85, pad=0.02)
    bar.set_label("bytes (white: no message)")
    axes.locator_params(integer=True)


def _draw_course(axes: Sequence[Axes], course: Course) -> None:
    unit, scale = _unit(_TIMES, course.finish_ns)
    edges = np.concatenate([[0.0], course.time_ns / scale])
    widths = np.maximum(np.diff(course.time_ns, prepend=0), 1e-6)
    messages = course.messages_received / (widths / scale)
    rate = course.bytes_received / widths  # bytes per ns = GB/s
    rate_unit, rate_scale = _unit(_RATES, float(rate.max(initial=0)))
    curves = (
        (course.computing, "ranks that\ncompute", _BLUE),
        (messages, f"messages received\nper {unit}", _GREEN),
        (rate / rate_scale, f"bytes received\n({rate_unit})", _RED),
    )
    for one, (values, label, color) in zip(axes, curves, strict=True):
        one.stairs(values, edges, fill=True, color=color, alpha=0.85)
        one.set_ylabel(label, fontsize=9)
        one.set_ylim(0, 1.05 * float(values.max(initial=0)) or 1)
        one.set_xlim(0, max(edges[-1], 1e-9))
        polish(one)
        one.tick_params(labelbottom=one is axes[-1], labelsize=8)
    axes[-1].set_xlabel(f"time ({unit})")


def _unit(units: tuple[tuple[str, float], ...], largest: float) -> tuple[str, float]:
    return next(((name, scale) for name, scale in units if largest >= scale), units[-1])
