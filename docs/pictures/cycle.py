"""Draws cycle.svg, the figure of a simulator cycle in architecture.md: `python docs/pictures/cycle.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

# The stages in the order of src/core/step.cpp: name, effect.
FIRST = [
    ("arrivals", "flits leave their\nchannel for an\ninput VC or their\nterminal"),
    ("credits", "freed buffer slots\nare reported\nupstream"),
    ("feedback", "estimates reach\nthe upstream\nrouter\n(if it learns)"),
    ("hosts", "ranks continue, and\nmessages become\npackets\n(with workloads)"),
    ("injection", "due packets enter\ntheir terminal's\nNIC buffer"),
    ("traversal", "a free output\nport or NIC puts\na flit on its\nchannel"),
]
SECOND = [
    ("routes", "choices become the\nroutes of the heads\nwith requests"),
    ("switch allocation", "input VCs win crossbar\nand output VC together,\nand move a flit"),
    ("delay lines close", "sent flits are due\nafter the channel's\nlatency; the cycle\nnumber increases"),
]
DECIDERS = [
    ("a routing in the core", "MIN, UGAL, PAR, OmniWAR, tables ..."),
    ("a learned table or network in the core", "Q-routing, Q-adaptive, policy"),
    ("Python", "external (candidates), agent (slots)"),
]
INK, FIRST_FILL, SECOND_FILL, SEAM_FILL = "#222222", "#dbe9f6", "#e2f0d9", "#fdebd0"


def box(ax: Axes, x: float, y: float, width: float, height: float, fill: str, head: str, text: str) -> None:
    """Draw a box with a heading and some lines below it."""
    style = "round,pad=0,rounding_size=0.08"
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=fill, edgecolor=INK, linewidth=0.8))
    ax.text(x + width / 2, y + height - 0.13, head, ha="center", va="top", fontsize=10, fontweight="bold", color=INK)
    ax.text(x + width / 2, y + height - 0.45, text, ha="center", va="top", fontsize=8, color=INK, linespacing=1.25)


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], bend: float = 0.0, style: str = "-") -> None:
    """Draw an arrow; `bend` curves it."""
    shape = f"arc3,rad={bend}"
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=11,
            linewidth=1.1,
            linestyle=style,
            connectionstyle=shape,
            color=INK,
        )
    )


def draw(path: Path) -> None:
    """Write the figure as SVG without a date, so that equal figures are equal files."""
    plt.rcParams |= {"svg.hashsalt": "flitgym", "font.family": "DejaVu Sans"}
    figure, ax = plt.subplots(figsize=(11, 6.25))
    ax.set(xlim=(0, 11), ylim=(0.35, 6.6))
    ax.axis("off")
    width, gap = 1.62, 0.17
    ax.text(0.15, 6.42, "First half: collect()", fontsize=11, va="center", color=INK)
    for k, (head, text) in enumerate(FIRST):
        x = 0.15 + k * (width + gap)
        box(ax, x, 4.72, width, 1.45, FIRST_FILL, head, text)
        if k:
            arrow(ax, (x - gap - 0.02, 5.45), (x + 0.02, 5.45))

    # The batch and the decision.
    box(
        ax,
        8.2,
        2.62,
        2.55,
        1.35,
        SEAM_FILL,
        "requests",
        "each head at the front of an\ninput VC requests a route:\nrouter, port, packet, candidates",
    )
    arrow(ax, (9.9, 4.72), (9.9, 3.97))
    box(ax, 2.75, 2.45, 4.6, 1.7, SEAM_FILL, "the seam: a decision is made", "")
    for k, (place, names) in enumerate(DECIDERS):
        y = 3.62 - 0.38 * k
        ax.text(2.9, y, place, fontsize=8.2, va="center", color=INK, fontweight="bold")
        ax.text(2.9, y - 0.17, names, fontsize=7.6, va="center", color=INK)
    arrow(ax, (8.2, 3.3), (7.35, 3.3))
    ax.text(7.78, 3.4, "a batch", fontsize=8, ha="center", va="bottom", color=INK)

    ax.text(0.15, 2.12, "Second half: apply()", fontsize=11, va="center", color=INK)
    wide = 2.6
    for k, (head, text) in enumerate(SECOND):
        x = 0.95 + k * (wide + 0.55)
        box(ax, x, 0.45, wide, 1.4, SECOND_FILL, head, text)
        if k:
            arrow(ax, (x - 0.55, 1.15), (x, 1.15))
    arrow(ax, (2.75, 3.3), (2.25, 1.85), bend=0.25)
    ax.text(1.75, 3.02, "one (output port,\nVC class) each", fontsize=8, ha="center", color=INK)

    # Sent flits, credits and feedback arrive in a later cycle.
    ax.plot([10.0, 10.88, 10.88, 10.88], [1.15, 1.15, 1.15, 2.4], color=INK, linewidth=1.1, linestyle="--")
    ax.plot([10.88, 10.88, 0.05, 0.05], [2.4, 4.35, 4.35, 5.45], color=INK, linewidth=1.1, linestyle="--")
    arrow(ax, (0.05, 5.45), (0.17, 5.45))
    ax.plot([9.85, 10.0], [1.15, 1.15], color=INK, linewidth=1.1, linestyle="--")
    ax.text(
        4.6,
        4.42,
        "in later cycles: flits, credits and feedback arrive after the latency of their channel",
        fontsize=8,
        color=INK,
        ha="center",
        va="bottom",
    )
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight", pad_inches=0.05)


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
