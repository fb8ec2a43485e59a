"""The figure: the score of every policy with its interval, the scores per network, and performance profiles."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..metrics import Interval, mean_interval
from ..plotting.drawing import Style, distinct_styles, interval_key, key_line, legend_of, polish
from ..results.copies import count_text
from .scoring import Played, Summary, profile

_LOWEST, _HIGHEST = -3.0, 2.5  # a score outside is drawn as an arrow at the edge, with its value
_PROFILE_POINTS = 400
_MOST = 12  # policies by network and with profiles


def draw(
    played: Sequence[Played], summaries: Sequence[Summary], confidence: float, asked: Sequence[str] = ()
) -> Figure:
    """Draw every policy that has a score, and the details of those that are `asked` for and of the first others.

    The summaries are ordered, best first.
    """
    scored = [one for one in summaries if np.isfinite([i.value for i in one.by["network"].values()]).any()]
    first = sorted(scored, key=lambda one: one.policy not in asked)
    shown = [one for one in scored if one in first[:_MOST]]
    styles = distinct_styles({one.policy: one.policy for one in first})
    networks = list(scored[0].by["network"]) if scored else []
    gaps = [one for one in played if np.isfinite(one.measures.get("gap_closed", np.nan)).any()]
    tasks = list(dict.fromkeys(one.task.name for one in gaps))  # with a gap to an oracle
    size = (20 if tasks else 13.5, 1.6 + max(2.6, 0.34 * len(scored), 0.6 * len(networks), 0.4 * len(tasks)))
    figure = Figure(figsize=size, layout="constrained")
    widths = [1.0, min(0.55 + 0.16 * len(networks), 2.2), 1.0, *([1.0] if tasks else [])]
    left, middle, right, *last = figure.subplots(1, len(widths), width_ratios=widths)
    step, at = min(0.16, 0.75 / max(len(shown), 1)), np.linspace(_LOWEST, _HIGHEST, _PROFILE_POINTS)
    for k, one in enumerate(scored):
        style = styles[one.policy]
        _point(left, one.by["set"]["held_out"], k - 0.12, style, 8.0)
        _point(left, one.by["set"]["train"], k + 0.2, style, 5.0, hollow=True)
    for k, one in enumerate(shown):
        style = styles[one.policy]
        for y, network in enumerate(networks):
            _point(middle, one.by["network"][network], y + (k - (len(shown) - 1) / 2) * step, style, 6.0)
        for run in (run for run in gaps if run.policy == one.policy):
            share, place = mean_interval(run.measures["gap_closed"], confidence), (k - (len(shown) - 1) / 2) * step
            _point(last[0], share, tasks.index(run.task.name) + place, style, 6.0)
        if one.complete:  # profiles over different tasks do not compare
            own = profile([p for p in played if p.policy == one.policy], at)
            right.step(at, own, color=style.color, linewidth=style.width)
    names = [one.policy + ("" if one.complete else f" ({one.played} of {one.of})") for one in scored]
    left_out = f" ({len(scored) - len(shown)} policies left out)" if len(scored) > len(shown) else ""
    score = "score (interquartile mean; 0 = reference, 1 = best known)"
    panels = [(left, names, "held-out tasks", score), (middle, networks, f"by network{left_out}", score)]
    panels += [(ax, tasks, "gap closed by task", "share (0 = best baseline, 1 = oracle)") for ax in last]
    for ax, labels, title, meaning in panels:
        ax.set_yticks(range(len(labels)), labels)
        ax.set_ylim(max(len(labels), 1) - 0.5, -0.5)
        ax.set_xlabel(meaning)
        ax.set_title(title, fontweight="bold", loc="left")
    right.set(xlim=(_LOWEST, _HIGHEST), ylim=(0, 1.02), xlabel="score", ylabel="fraction of runs with a higher score")
    right.set_title("performance profiles", fontweight="bold", loc="left")
    for ax in figure.axes:
        ax.margins(x=0.05)
        for value in (0, 1):
            ax.axvline(value, color="#bbbbbb", linewidth=0.9, zorder=1)
        polish(ax)
    for ax, labels, *_ in panels[1:]:
        ax.grid(visible=False, axis="y")
        for y in range(1, len(labels)):
            ax.axhline(y - 0.5, color="#e6e6e6", linewidth=0.7)
    handles = [key_line(styles[one.policy]) for one in shown]
    handles.append(Line2D([], [], color="#666666", marker="s", markerfacecolor="white", linestyle="none",
                          label="on the training tasks"))  # fmt: skip
    if any(np.isfinite(interval.low) for one in scored for interval in one.by["set"].values()):
        handles.append(interval_key(confidence, count_text([len(one.ahead) for one in played])))
    legend_of(figure, handles)
    return figure


def _point(ax: Axes, interval: Interval, y: float, style: Style, size: float, hollow: bool = False) -> None:
    if np.isnan(interval.value):
        return
    x, low, high = np.clip(interval, _LOWEST, _HIGHEST)
    marker, face = ("s", "white") if hollow else (style.marker, style.color)
    if x != interval.value:
        side = 1 if x == _LOWEST else -1
        marker = "<" if x == _LOWEST else ">"
        ax.annotate(f"{interval.value:.1f}", (x, y), xytext=(7 * side, 0), fontsize=7, va="center",
                    textcoords="offset points", ha="left" if x == _LOWEST else "right")  # fmt: skip
    ax.hlines(y, low, high, color=style.color, linewidth=1.8, zorder=2)
    ax.plot(x, y, color=style.color, marker=marker, markerfacecolor=face, markersize=size, linestyle="none", zorder=3)
