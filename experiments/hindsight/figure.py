"""The figure of a regret study: per pattern, regret and relative regret over the load, and regret by hop."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..plotting.drawing import Style, draw_intervals, interval_key, key_line, legend_of, polish
from ..results.copies import count_text
from .summary import Line

_WIDTH, _HEIGHT = 4.0, 2.9  # of a panel, inches


def draw(lines: Sequence[Line], styles: Mapping[str, Style], confidence: float, seeds: int) -> Figure:
    """Draw every pattern.

    Args:
        lines: All lines of the study.
        styles: The style of every policy, by name, in the order of the legend.
        confidence: The confidence of the intervals, for the legend.
        seeds: Number of seeds, for the legend.
    """
    patterns = {name: list(own) for name, own in groupby(lines, key=lambda line: line.pattern)}
    present = {line.policy for line in lines}
    styles = {name: style for name, style in styles.items() if name in present}
    figure = Figure(figsize=(3 * _WIDTH, len(patterns) * _HEIGHT + 0.9), layout="constrained")
    panels = figure.subplots(len(patterns), 3, squeeze=False)
    for row, (pattern, own) in zip(panels, patterns.items(), strict=True):
        whole = [line for line in own if line.hops is None]
        _over_load(row[0], whole, "regret_ns", styles)
        row[0].set_ylabel("regret per decision (ns)")
        _over_load(row[1], whole, "relative", styles)
        row[1].axhline(1, color="#bbbbbb", linewidth=0.9, zorder=1)
        row[1].set_ylabel("regret / regret of a random choice")
        _by_hop(row[2], own, styles)
        row[0].set_title(pattern, fontweight="bold", loc="left")
        for ax in row:
            polish(ax)
    figure.align_ylabels()
    intervals = interval_key(confidence, f"over stretches of time, {count_text([seeds])}")
    legend_of(figure, [*(key_line(style) for style in styles.values()), intervals])
    return figure


def _over_load(ax: Axes, lines: Sequence[Line], key: str, styles: Mapping[str, Style]) -> None:
    loads = sorted({line.load for line in lines})
    for k, (policy, style) in enumerate(styles.items()):
        own = sorted((line for line in lines if line.policy == policy), key=lambda line: line.load)
        if not own:
            continue
        x = np.array([line.load for line in own])
        y = np.array([getattr(line, key) for line in own], dtype=float)
        ax.plot(x, y[:, 0], color=style.color, linestyle=style.line, linewidth=style.width, marker=style.marker,
                markersize=5.5, zorder=2 + 0.1 * k)  # fmt: skip
        draw_intervals(ax, x, y, style, shaded=len(loads) > 1)
    ax.set_xlim(0, 1.05 * max(loads))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("offered load")


def _by_hop(ax: Axes, lines: Sequence[Line], styles: Mapping[str, Style]) -> None:
    """Regret at the highest load, by hop. A policy that always decides after the same number of hops has one point."""
    load = max(line.load for line in lines)
    at = [line for line in lines if line.load == load]
    hops = sorted({line.hops for line in at if line.hops is not None}) or [0]
    step = min(0.16, 0.7 / len(styles))
    for k, (policy, style) in enumerate(styles.items()):
        own = [line for line in at if line.policy == policy]
        own = [line for line in own if line.hops is not None] or own
        x = np.array([line.hops or 0 for line in own]) + (k - (len(styles) - 1) / 2) * step
        y = np.array([line.regret_ns for line in own], dtype=float).reshape(-1, 3)
        draw_intervals(ax, x, y, style)
        ax.plot(x, y[:, 0], color=style.color, marker=style.marker, markersize=6.5, linestyle="none", zorder=3)
    ax.set_xticks(hops)
    ax.set_xlim(min(hops) - 0.5, max(hops) + 0.5)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("hops that the packet has made")
    ax.set_ylabel(f"regret at load {load:g} (ns)")
