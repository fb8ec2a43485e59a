"""The figure: the score of every policy with its interval, the scores per network, and performance profiles."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import ColorType

from ..metrics import Interval
from ..plotting.drawing import Style, distinct_styles, key_line, legend_of, polish
from ..results.copies import count_text
from .scoring import Cell, Summary, profile

_LOWEST, _HIGHEST = -3.0, 2.5  # a score outside is drawn as an arrow at the edge
_MARGIN = 0.2
_PROFILE_POINTS = 400


def draw(cells: Sequence[Cell], summaries: Sequence[Summary], confidence: float) -> Figure:
    """Draw every policy that has a score.

    Args:
        cells: All cells of the benchmark.
        summaries: The summaries of the policies, best first.
        confidence: The confidence of the intervals, for the legend.
    """
    scored = [s for s in summaries if np.isfinite([i.value for i in s.by_network.values()]).any()]
    styles = distinct_styles({summary.policy: summary.policy for summary in scored})
    networks = list(scored[0].by_network) if scored else []
    height = 1.6 + max(2.6, 0.34 * len(scored))
    figure = Figure(figsize=(13.5, height), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.0, min(0.55 + 0.16 * len(networks), 2.2), 1.0))
    _scores(left, scored, styles)
    _networks(middle, scored, networks, styles)
    _profiles(right, cells, scored, styles)
    for ax in (left, middle, right):
        polish(ax)
    middle.grid(visible=False, axis="y")  # its horizontal lines separate the networks
    handles = [key_line(style) for style in styles.values()]
    handles.append(Line2D([], [], color="#666666", marker="s", markerfacecolor="white", linestyle="none",
                          label="on the training tasks"))  # fmt: skip
    if any(np.isfinite(interval.low) for s in scored for interval in s.by_set.values()):
        seeds = count_text([len(cell.scores) for cell in cells])
        handles.append(
            Line2D([], [], color="#888888", linewidth=1.8, label=f"{100 * confidence:.12g} % interval, {seeds}")
        )
    legend_of(figure, handles)
    return figure


def _scores(ax: Axes, summaries: Sequence[Summary], styles: Mapping[str, Style]) -> None:
    """A line per policy: its score on the held-out tasks, and below it a hollow mark for the training tasks."""
    for k, summary in enumerate(summaries):
        style = styles[summary.policy]
        _point(ax, summary.by_set["held_out"], k - 0.12, style.color, style.marker, style.color, 8.0)
        _point(ax, summary.by_set["train"], k + 0.2, style.color, "s", "white", 5.0)
    names = [
        summary.policy + ("" if summary.complete else f" ({summary.played} of {summary.of})") for summary in summaries
    ]
    ax.set_yticks(range(len(summaries)), names)
    ax.set_ylim(max(len(summaries), 1) - 0.4, -0.6)
    _limits(ax, [i.value for s in summaries for i in s.by_set.values()])
    ax.set_xlabel("score (interquartile mean; 0 = reference, 1 = best known)")
    ax.set_title("held-out tasks", fontweight="bold", loc="left")


def _networks(ax: Axes, summaries: Sequence[Summary], networks: Sequence[str], styles: Mapping[str, Style]) -> None:
    """A block per network, with one point per policy."""
    step = min(0.16, 0.75 / max(len(summaries), 1))
    for k, summary in enumerate(summaries):
        style = styles[summary.policy]
        for y, network in enumerate(networks):
            at = y + (k - (len(summaries) - 1) / 2) * step
            _point(ax, summary.by_network[network], at, style.color, style.marker, style.color, 6.0)
    for y in range(1, len(networks)):
        ax.axhline(y - 0.5, color="#e6e6e6", linewidth=0.7)
    ax.set_yticks(range(len(networks)), networks)
    ax.set_ylim(max(len(networks), 1) - 0.5, -0.5)
    _limits(ax, [i.value for s in summaries for i in s.by_network.values()])
    ax.set_xlabel("score")
    ax.set_title("by network", fontweight="bold", loc="left")


def _profiles(ax: Axes, cells: Sequence[Cell], summaries: Sequence[Summary], styles: Mapping[str, Style]) -> None:
    """The fraction of runs above each score; a dotted curve means that the policy has not played every task."""
    at = np.linspace(_LOWEST, _HIGHEST, _PROFILE_POINTS)
    for k, summary in enumerate(summaries):
        own = [cell for cell in cells if cell.policy == summary.policy]
        style = styles[summary.policy]
        line = "-" if summary.complete else ":"
        ax.step(at, profile(own, at), color=style.color, linestyle=line, linewidth=style.width, zorder=2 + 0.1 * k)
    for value in (0, 1):
        ax.axvline(value, color="#bbbbbb", linewidth=0.9, zorder=1)
    ax.set_xlim(_LOWEST, _HIGHEST)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("score")
    ax.set_ylabel("fraction of runs with a higher score")
    ax.set_title("performance profiles", fontweight="bold", loc="left")


def _point(ax: Axes, interval: Interval, y: float, color: ColorType, marker: str, face: ColorType, size: float) -> None:
    if np.isnan(interval.value):
        return
    x = float(np.clip(interval.value, _LOWEST, _HIGHEST))
    if x == interval.value:
        shape = marker
    else:
        shape = "<" if x == _LOWEST else ">"
        ax.annotate(f"{interval.value:.1f}", (x, y), xytext=(7 if x == _LOWEST else -7, 0), fontsize=7, va="center",
                    textcoords="offset points", ha="left" if x == _LOWEST else "right")  # fmt: skip
    if np.isfinite(interval.low):
        ends = np.clip([interval.low, interval.high], _LOWEST, _HIGHEST)
        ax.hlines(y, ends[0], ends[1], color=color, linewidth=1.8, zorder=2)
    ax.plot(x, y, color=color, marker=shape, markerfacecolor=face, markersize=size, linestyle="none", zorder=3)


def _limits(ax: Axes, values: Sequence[float]) -> None:
    """Axis limits that hold all points and both marks of the scale, within the edges."""
    shown = np.clip([value for value in values if np.isfinite(value)] + [0.0, 1.0], _LOWEST, _HIGHEST)
    ax.set_xlim(shown.min() - _MARGIN, shown.max() + _MARGIN)
    for value in (0, 1):
        ax.axvline(value, color="#bbbbbb", linewidth=0.9, zorder=1)
