"""Figures of any sweep: means of a column over seeds against the swept key, with 95 % intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from ...simcore import ConfigError
from ..results.copies import count_text
from ..results.rows import is_number
from .drawing import key_line, latency_axis, legend_of, polish
from .lines import Block, blocks_of, distinguishes, lines_of, ordered, points
from .seeds import buffers_text, write_note
from .swept import Row, column_of, named, swept, value_of
from .words import axis_label, value_label

_COLUMNS = 4  # of panels
_SPREAD = 0.5  # fraction of the distance between two words over which the points of several lines are spread
_LOG_FROM = 4.0  # ratio of the largest to the smallest time from which an axis is logarithmic
_LOG_KEY_FROM = 30.0  # the same for the x axis
_LONGEST_LABEL = 40  # characters that fit next to a panel
_NS_PER_MS = 1e6


def curves(rows: Sequence[Row], x: str, y: str, by: str | Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw a column against another, with one line per value of `by`. Points are means over seeds.

    Vertical bars are 95 % intervals over seeds (Student's t). A hollow point is saturated: the network
    accepted less than 97 % of the offered load. Runs that differ in further keys have separate lines. Runs without a
    value, such as a latency without packets, give no point.

    Args:
        rows: Rows from `read_rows`.
        x: A column with numbers, words or bools, or a short name: `routing`, `load`, `traffic.load`.
        y: A column with numbers, or a short name: `accepted_load`, `latency`, `p99`, `hops`.
        by: One or several columns; None: every key that differs.
        ax: Axes to draw into; None: the axes of a new pyplot figure.

    Returns:
        The axes with a legend next to them. The data of the lines are the means, and their labels are in the legend.
    """
    known = named(rows)
    across, up = column_of(known, x, "x"), column_of(known, y, "y")
    keys = [column_of(known, word, "by") for word in ([by] if isinstance(by, str) else by or ())]
    if not any(is_number(row.get(up)) for row in known):
        raise ConfigError(f"y: the column '{up}' has no numbers; name a column with numbers")
    for key in swept(known):
        if key not in (across, *keys) and distinguishes(known, [across, *keys], key):
            keys.append(key)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(8.0, 4.6), layout="constrained")
    lines = lines_of(known, keys)
    draw_panel(ax, Block("", known, [], lines), across, up)
    handles = legend_entries([Block("", known, [(across, up)], lines)])
    if handles:
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)
    return ax


def sweep_figure(rows: Sequence[Row]) -> Figure:
    """The figure of a sweep, against the swept key.

    Panels show mean latency, p99, accepted load and hops against the offered load, or against another swept key. For
    jobs they show the communication time of each job. Each routing has a line. Further keys that differ have separate
    rows of panels or lines.

    Args:
        rows: The rows of one study, from `read_rows`.
    """
    blocks = blocks_of(rows)
    if not blocks:
        raise ValueError("the figure of a sweep needs at least two runs of traffic or of jobs")
    columns = min(_COLUMNS, max(len(block.panels) for block in blocks))
    if len(blocks) == 1 and columns == _COLUMNS:
        columns = 2  # four panels form a square
    heights = [-(-len(block.panels) // columns) for block in blocks]
    handles = legend_entries(blocks)
    figure = Figure(figsize=(1.0 + 4.2 * columns, 0.9 + 3.1 * sum(heights)), layout="constrained")
    parts = figure.subfigures(len(blocks), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, block, lines in zip(parts, blocks, heights, strict=True):
        if block.title:
            part.suptitle(block.title, fontweight="bold", fontsize=11)
        axes = list(part.subplots(lines, columns, squeeze=False).flat)
        for ax, (x, y) in zip(axes, block.panels, strict=False):
            draw_panel(ax, block, x, y)
        for ax in axes[len(block.panels) :]:
            ax.remove()
    if handles:
        legend_of(figure, handles, min(len(handles), 3 * columns))
    write_note(figure, buffers_text([row for block in blocks for row in block.rows]))
    return figure


def draw_panel(ax: Axes, block: Block, x: str, y: str) -> None:
    """Draw all lines of a block in one panel."""
    places = _place_words(ax, block.rows, x)
    heights: list[float] = []
    for k, line in enumerate(block.lines):
        found = [point for point in points(line.of(block.rows), x, y) if np.isfinite(point.estimate.value)]
        if not found:
            continue
        aside = _SPREAD * ((k + 0.5) / len(block.lines) - 0.5) if places and x not in line.key else 0.0
        at = [places.get(point.at, point.at) + aside for point in found]
        value, low, high = np.array([point.estimate for point in found]).T
        style, joined = line.style, block.joined and not places
        ax.plot(at, value, color=style.color, marker=style.marker, linestyle=style.line if joined else "none",
                linewidth=style.width, markersize=5.5, label=style.label or "_mean", zorder=3)  # fmt: skip
        known = np.isfinite(low)
        ax.vlines(np.array(at)[known], low[known], high[known], color=style.color, linewidth=1.6, alpha=0.6, zorder=2)
        full = [(a, v) for a, v, point in zip(at, value, found, strict=True) if point.saturated]
        if full:
            xs, ys = zip(*full, strict=True)
            ax.scatter(xs, ys, 34, marker=style.marker, facecolors="white", edgecolors=[style.color], linewidths=1.3,
                       zorder=4)  # fmt: skip
        heights += value.tolist()
    if (x, y) == ("traffic.load", "accepted_load"):
        most = max(row["traffic.load"] for row in block.rows)
        ax.plot([0, most], [0, most], color="#c4c4c4", linewidth=0.9, zorder=1, label="_offered")
    _axes(ax, block.rows, x, y, heights)


def _place_words(ax: Axes, rows: Sequence[Row], x: str) -> dict[Any, int]:
    """The places of words on the x axis; empty for numbers."""
    values = ordered(x, (value for row in rows if (value := value_of(row, x)) is not None))
    if all(map(is_number, values)):
        return {}
    names = [value_label(x, value, alone=True) for value in values]
    crowded = sum(map(len, names)) > 36
    ax.set_xticks(range(len(values)), names, rotation=30 if crowded else 0, ha="right" if crowded else "center")
    ax.set_xlim(-0.6, len(values) - 0.4)
    return {value: k for k, value in enumerate(values)}


def _axes(ax: Axes, rows: Sequence[Row], x: str, y: str, heights: Sequence[float]) -> None:
    ax.set_xlabel(axis_label(x))
    words = axis_label(y)
    ax.set_ylabel(words if len(words) < _LONGEST_LABEL else words.replace(" (", "\n(", 1))
    if y.endswith("_ns") and min(heights, default=0.0) > 0 and max(heights) > _LOG_FROM * min(heights):
        latency_axis(ax)
    elif max(map(abs, heights), default=0.0) >= 1000:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if y.startswith(("jobs.", "queue.")) and "(ns)" in words and max(heights, default=0.0) >= _NS_PER_MS:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / _NS_PER_MS:,.6g}"))
        ax.set_ylabel(words.replace("(ns)", "(ms)"))
    if y in ("accepted_load", "hops_mean") and heights:
        ax.set_ylim(0, 1.08 * max(heights) or 1.0)
    numbers = [row[x] for row in rows if is_number(row.get(x))]
    if x == "traffic.load":
        ax.set_xlim(0, 1.05 * max(numbers))
    elif numbers and min(numbers) > 0 and max(numbers) > _LOG_KEY_FROM * min(numbers):
        ax.set_xscale("log")
    elif numbers and x == "seed":
        ax.set_xticks(sorted(set(numbers)))
    polish(ax)


def legend_entries(blocks: Sequence[Block]) -> list[Line2D]:
    """The entries of the legend: the lines, then bars, hollow points and the diagonal if they are drawn."""
    styles = {line.style.label: line.style for block in blocks for line in block.lines if line.style.label}
    handles = [key_line(style) for style in styles.values()]
    found = [
        point
        for block in blocks
        for line in block.lines
        for x, y in block.panels
        for point in points(line.of(block.rows), x, y)
    ]
    if any(np.isfinite(point.estimate.low) for point in found):
        counts = [point.seeds for point in found if np.isfinite(point.estimate.value)]
        handles.append(Line2D([], [], color="#888888", marker="|", markersize=11, markeredgewidth=1.6,
                              linestyle="none", label=f"95 % interval, {count_text(counts)}"))  # fmt: skip
    if any(point.saturated for point in found):
        handles.append(Line2D([], [], color="#666666", marker="o", markerfacecolor="white", linestyle="none",
                              label="hollow: saturated"))  # fmt: skip
    if any(("traffic.load", "accepted_load") in block.panels for block in blocks):
        handles.append(Line2D([], [], color="#c4c4c4", linewidth=0.9, label="accepted = offered"))
    return handles
