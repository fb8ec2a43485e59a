"""Common parts of the studies' figures: groups of bars, matrices of delays, and the legend of routings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from ..plotting.drawing import polish, style_of

DELAY_COLORS = "YlOrRd"
_LEAST_NS = 1.0


def bars(ax: Axes, heights: Sequence[Sequence[ArrayLike]], names: Sequence[str], labels: Sequence[str]) -> None:
    """Draw a group of bars per entry of `heights`, with a bar per routing.

    Args:
        ax: Axes to draw into.
        heights: [groups][routings] numbers, or intervals, which give the bars error bars.
        names: The routings.
        labels: [groups].
    """
    width = 0.84 / len(names)
    for k, name in enumerate(names):
        own = np.array([of_group[k] for of_group in heights], dtype=float)
        has_errors = own.ndim == 2 and np.isfinite(own).any(axis=0).all()
        ax.bar(
            [group + (k - (len(names) - 1) / 2) * width for group in range(len(heights))],
            own[:, 0] if own.ndim == 2 else own,
            width * 0.9,
            color=style_of(name).color,
            yerr=error_lengths(own) if has_errors else None,
            error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#333333"},
        )
    ax.set_xlim(-0.6, len(heights) - 0.4)
    ax.set_xticks(range(len(labels)), labels)
    ax.tick_params(axis="x", length=0)
    polish(ax)
    ax.grid(False, axis="x")


def error_lengths(intervals: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lengths of error bars below and above, [2, points], from [points, 3] value, lower and upper end."""
    return np.abs(intervals[:, 1:] - intervals[:, :1]).T


def delay_scale(matrices: Sequence[NDArray[np.float64]]) -> LogNorm:
    """The colours of delays in ns, for several matrices of `draw_delays`."""
    highest = max(float(np.nanmax(values.mean(axis=2), initial=0)) for values in matrices)
    return LogNorm(_LEAST_NS, max(highest, 10 * _LEAST_NS), clip=True)


def draw_delays(ax: Axes, delays: NDArray[np.float64], scale: LogNorm, ends: bool = False) -> None:
    """Draw the means of [rows, columns, placements]; `ends` also writes the lowest and the highest placement."""
    values = delays.mean(axis=2)
    ax.imshow(values, cmap=DELAY_COLORS, norm=scale, aspect="auto")
    for (y, x), value in np.ndenumerate(values):
        if np.isfinite(value):
            color = "white" if float(scale(max(value, _LEAST_NS))) > 0.6 else "#222222"
            both = ends and delays.shape[2] > 1
            ax.text(x, y - 0.15 * both, _text(value), ha="center", va="center", fontsize=8, color=color)
            if both:
                small = f"{_text(delays[y, x].min())} to {_text(delays[y, x].max())}"
                ax.text(x, y + 0.25, small, ha="center", va="center", fontsize=6, color=color)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def legend(figure: Figure, names: Sequence[str], extra: Sequence[Line2D] = (), lines: bool = False) -> None:
    """Draw one legend above all panels: the routings as squares or lines, then further entries."""
    look: dict[str, Any] = {"linewidth": 2} if lines else {"marker": "s", "markersize": 9, "linestyle": "none"}
    handles = [Line2D([], [], color=style_of(name).color, label=style_of(name).label, **look) for name in names]
    handles += extra
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=9)
