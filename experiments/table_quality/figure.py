"""Pictures of the loads of one table, and of several tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from ...simcore import Quality
from ..plotting.drawing import FURTHER_COLORS, polish
from .text import headline

Numbers = NDArray[np.float64]

_BOUND = "#D55E00"
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#000000", *FURTHER_COLORS)
_LINES = ("-", "--", ":")
_BINS = 40


def draw(title: str, result: Mapping[str, Any], quality: Quality) -> Figure:
    """Draw the sorted loads of channels with their histogram, and below them the same for links of terminals."""
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    (curve, bars), (terminal_curve, terminal_bars) = figure.subplots(2, 2, height_ratios=[3, 1.4])
    channel = quality.loads["channel"]
    terminals = np.concatenate([quality.loads["from_terminal"], quality.loads["to_terminal"]])
    # The bars of the histograms begin at 0. Small whole loads have one bar each.
    every = np.concatenate([channel, terminals])
    high = every.max(initial=1.0)
    whole = high < _BINS and bool((every == np.rint(every)).all())
    edges = np.arange(-0.5, high + 1) if whole else np.linspace(0, high, _BINS + 1)
    for left, right, loads, color in (
        (curve, bars, channel, "#0072B2"),
        (terminal_curve, terminal_bars, terminals, "#8a8a8a"),
    ):
        _sorted(left, loads, color)
        _histogram(right, loads, edges, color)
    if channel.size:
        curve.axhline(quality.load_mean, color="black", linewidth=0.9, linestyle="--")
        curve.annotate(f"mean {quality.load_mean:,.6g}", (1, quality.load_mean), xycoords=("axes fraction", "data"),
                       ha="right", va="bottom", fontsize=8)  # fmt: skip
    if not quality.minimal:
        curve.axhline(quality.load_mean_minimal, color=_BOUND, linewidth=0.9, linestyle=":")
        curve.annotate(f"mean of shortest routes {quality.load_mean_minimal:,.6g}", (0, quality.load_mean_minimal),
                       xycoords=("axes fraction", "data"), va="bottom", fontsize=8, color=_BOUND)  # fmt: skip
    curve.set_title("channels between switches, fullest first", fontsize=10)
    curve.set_ylabel("load (routes)" if result["config"]["demand"] is None else "load (of the demand)")
    bars.set_title("histogram of loads (logarithmic)", fontsize=10)
    bars.set_ylabel("channels")
    terminal_curve.set_title("links of terminals, both directions", fontsize=10)
    terminal_curve.set(xlabel="fraction of all", ylabel="load")
    terminal_bars.set(xlabel="load", ylabel="links")
    figure.suptitle(f"{title}\n{headline(result)}", fontsize=11)
    return figure


def draw_several(networks: Mapping[str, Sequence[tuple[str, Numbers]]]) -> Figure:
    """Draw the loads of channels, sorted, of several tables by network and name, with a panel per network."""
    columns = min(3, len(networks))
    rows = -(-len(networks) // columns)
    figure = Figure(figsize=(2 + 5 * columns, 1 + 3.6 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, (network, tables) in zip(panels, networks.items(), strict=False):
        for k, (name, loads) in enumerate(tables):
            _sorted(ax, loads, _COLORS[k % len(_COLORS)], _LINES[k // len(_COLORS) % len(_LINES)], name)
        ax.set_title(network, fontsize=10)
        ax.set(xlabel="fraction of all channels, fullest first", ylabel="load")
        ax.legend(frameon=False, fontsize=8)
    for ax in panels[len(networks) :]:
        ax.set_visible(False)
    return figure


def _sorted(ax: Axes, loads: Numbers, color: str, line: str = "-", label: str | None = None) -> None:
    part = np.arange(loads.size + 1) / max(loads.size, 1)
    # Steps from rank to rank, so that equal loads give a horizontal line over the whole width.
    values = np.append(np.sort(loads)[::-1], loads.min(initial=np.inf) if loads.size else [np.nan])
    ax.step(part, values, where="post", color=color, linestyle=line, linewidth=1.6, label=label)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    # The axis covers the fullest channel of all tables drawn so far.
    fullest = max(float(np.nanmax(np.asarray(line.get_ydata(), float), initial=0)) for line in ax.lines)
    ax.set_ylim(0, max(1.0, fullest) * 1.05)
    polish(ax)


def _histogram(ax: Axes, loads: Numbers, edges: Numbers, color: str) -> None:
    ax.hist(loads, bins=edges.tolist(), color=color, edgecolor="white", linewidth=0.4)
    ax.set_xlim(min(0, edges[0]), edges[-1])
    if loads.size:
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.6)
    polish(ax)
