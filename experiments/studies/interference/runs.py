"""Selection of the study's rows, and common parts of its figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ...plotting.drawing import Row, style_of
from ...plotting.jobs import comm_ms
from ...plotting.players import player_of

# The study's detail figures compare these two.
DETAIL = ("par", "q_adaptive")

_POINTS = 250  # most points of a curve over time; longer curves are averaged
_NS_PER_MS = 1e6


def pair(rows: Sequence[Row], target: str, background: str, routing: str) -> Row:
    """The row of a target with a background.

    Raises:
        ValueError: there is none, and a figure must not lack a bar.
    """
    for row in rows:
        if row["workload.name"] != "pair" or player_of(row) != routing:
            continue
        if (row["workload.target"], row["workload.background"]) == (target, background):
            return row
    raise ValueError(f"no row for target {target}, background {background} and routing {routing}")


def mixed(rows: Sequence[Row], routing: str) -> Row:
    """The row of the six mixed jobs.

    Raises:
        ValueError: there is none.
    """
    for row in rows:
        if row["workload.name"] == "mixed" and player_of(row) == routing:
            return row
    raise ValueError(f"no row for the mixed workload and routing {routing}")


def background_job(target: str, background: str) -> str:
    """The name of the background job in its pair."""
    return background if background != target else f"{background}_background"


def slowdown(rows: Sequence[Row], target: str, background: str, routing: str) -> float:
    """Mean communication time of a target with a background, relative to the target alone under the same routing."""
    return comm_ms(pair(rows, target, background, routing), target) / comm_ms(
        pair(rows, target, "none", routing), target
    )


def over_time(row: Row, quantity: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middles of the intervals in ms and the values of `series.<quantity>`, in at most about 250 points."""
    time = np.asarray(row["time_ns"], dtype=float) / _NS_PER_MS
    middle = time - np.diff(time, prepend=0) / 2
    values = np.array([np.nan if value is None else value for value in row[f"series.{quantity}"]], dtype=float)
    width = -(-time.size // _POINTS)
    if width == 1:
        return middle, values
    whole = time.size // width * width
    blocks = values[:whole].reshape(-1, width)
    measured = np.isfinite(blocks).sum(axis=1)
    means = np.where(measured > 0, np.nansum(blocks, axis=1) / np.maximum(measured, 1), np.nan)
    return middle[:whole].reshape(-1, width).mean(axis=1), means


def bars(ax: Axes, heights: Sequence[Sequence[float]], names: Sequence[str], errors: Any = None) -> None:
    """Draw a group of bars per entry of `heights`, with a bar per routing. `errors` are half lengths of error bars."""
    width = 0.84 / len(names)
    for k, name in enumerate(names):
        ax.bar(
            [group + (k - (len(names) - 1) / 2) * width for group in range(len(heights))],
            [of_group[k] for of_group in heights],
            width * 0.9,
            color=style_of(name).color,
            yerr=None if errors is None else [of_group[k] for of_group in errors],
            error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#333333"},
        )
    ax.set_xlim(-0.6, len(heights) - 0.4)
    ax.tick_params(axis="x", length=0)


def legend(figure: Figure, names: Sequence[str], extra: Sequence[Line2D] = (), lines: bool = False) -> None:
    """Draw one legend above all panels: the routings as squares or lines, then further entries."""
    look: dict[str, Any] = {"linewidth": 2} if lines else {"marker": "s", "markersize": 9, "linestyle": "none"}
    handles = [Line2D([], [], color=style_of(name).color, label=style_of(name).label, **look) for name in names]
    handles += extra
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=9)
