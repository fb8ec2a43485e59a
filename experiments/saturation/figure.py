"""The figure of saturation loads: a panel per network, and a bar with its interval and bound per pattern and policy."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..plotting.drawing import Style, polish
from ..results.copies import count_text
from .summary import Line

_BOUND: dict[str, Any] = {"color": "#FF2D2D", "linewidth": 2.0, "solid_capstyle": "butt"}
_BAR_WIDTH, _LEAST_WIDTH, _HEIGHT = 0.42, 6.0, 3.1  # inches; the last one of a panel
_GAP = 0.9  # width of the space between two patterns, in bars


def draw(lines: Sequence[Line], styles: Mapping[str, Style], confidence: float) -> Figure:
    """Draw every network.

    Args:
        lines: All lines of the study.
        styles: The style of every policy, by name, in the order of the legend.
        confidence: The confidence of the intervals, for the legend.
    """
    panels = {network: list(own) for network, own in groupby(lines, key=lambda line: line.network)}
    widest = max(len(own) + _GAP * len({line.pattern for line in own}) for own in panels.values())
    size = (max(_LEAST_WIDTH, 1.0 + _BAR_WIDTH * widest), len(panels) * _HEIGHT + 0.7)
    figure = Figure(figsize=size, layout="constrained")
    for ax, (network, own) in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels.items(), strict=True):
        _bars(ax, own, styles)
        ax.set_title(network, fontweight="bold", loc="left")
    present = {line.policy for line in lines}
    handles: list[Any] = [Patch(**_look(style), label=name) for name, style in styles.items() if name in present]
    handles.append(Line2D([], [], color="#333333", marker="_", markersize=8, label=_interval(lines, confidence)))
    if any(line.bound is not None for line in lines):
        handles.append(Line2D([], [], label="analytic bound", **_BOUND))
    columns = min(len(handles), max(3, int(size[0] / 1.9)))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, frameon=False, fontsize=9)
    return figure


def _bars(ax: Axes, lines: Sequence[Line], styles: Mapping[str, Style]) -> None:
    x, ticks, highest = 0.0, [], 0.0
    for pattern, of_pattern in groupby(lines, key=lambda line: line.pattern):
        own = list(of_pattern)
        ticks.append((x + (len(own) - 1) / 2, pattern))
        for line in own:
            value, low, high = line.load
            ax.bar(x, value, 0.86, **_look(styles[line.policy]))
            ax.errorbar(x, value, [[value - low], [high - value]], color="#333333", capsize=3, linewidth=1.2, zorder=4)
            if line.bound is not None:
                ax.plot([x - 0.45, x + 0.45], [line.bound, line.bound], zorder=3, **_BOUND)
            top = max(high, line.bound or 0.0)
            ax.annotate(f"{value:.3f}", (x, top), xytext=(0, 4), textcoords="offset points", ha="center", va="bottom",
                        rotation=90, fontsize=7, color="#444444")  # fmt: skip
            highest, x = max(highest, top), x + 1
        x += _GAP
    ax.set_xticks(*zip(*ticks, strict=True))
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.9, x - _GAP - 0.1)
    ax.set_ylim(0, 1.25 * highest if np.isfinite(highest) and highest > 0 else 1)
    ax.set_ylabel("highest carried load\n(flits per terminal per flit time)", fontsize=9)
    polish(ax)
    ax.grid(False, axis="x")


def _look(style: Style) -> dict[str, Any]:
    """The look of a bar. A dotted curve shares its colour with another routing, so its bar is hatched."""
    hatched: dict[str, Any] = {"facecolor": "white", "hatch": "/////"}
    return {"facecolor": style.color, "edgecolor": style.color, **(hatched if style.line == ":" else {})}


def _interval(lines: Sequence[Line], confidence: float) -> str:
    counts = [line.seeds for line in lines]
    several = [count for count in counts if count > 1]
    over = [f"{100 * confidence:.12g} % interval, {count_text(several)}"] if several else []
    return "; ".join([*over, *(["bracket of one search"] if 1 in counts else [])])
