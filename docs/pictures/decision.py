"""Draws decision.svg, one routing decision from its candidates to its choice: `python docs/pictures/decision.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle
from router import FIRST_FILL, INK, SEAM_FILL, SECOND_FILL, arrow, box

MINIMAL, DETOUR, OFF = "#0072B2", "#E69F00", "#bbbbbb"
# Slot, port, VC class, path, flits in the queue. The last slots of an observation are empty.
CANDIDATES = [
    ("0", "5", "0", "minimal", 9, MINIMAL),
    ("1", "7", "1", "by group C", 1, DETOUR),
    ("2", "8", "1", "by group D", 4, DETOUR),
    ("3", "-", "-", "empty", 0, OFF),
]


def circle(ax: Axes, x: float, y: float, radius: float, text: str, fill: str) -> None:
    """Draw a group with its name."""
    ax.add_patch(Circle((x, y), radius, facecolor=fill, edgecolor=INK, linewidth=0.9, zorder=3))
    ax.text(x, y, text, fontsize=8.5, ha="center", va="center_baseline", color=INK, zorder=4)


def panel(ax: Axes, x: float, width: float, fill: str, head: str) -> None:
    """Draw a part of the figure."""
    style = "round,pad=0,rounding_size=0.1"
    ax.add_patch(FancyBboxPatch((x, 1.0), width, 3.35, boxstyle=style, facecolor=fill, edgecolor=INK, linewidth=0.8))
    ax.text(x + width / 2, 4.12, head, fontsize=10, fontweight="bold", ha="center", va="center", color=INK)


def draw(path: Path) -> None:
    """Write the figure as SVG without a date, so that equal figures are equal files."""
    plt.rcParams |= {"svg.hashsalt": "flitgym", "font.family": "DejaVu Sans"}
    figure, ax = plt.subplots(figsize=(11, 4.6))
    ax.set(xlim=(0, 11), ylim=(0.0, 4.6), aspect="equal")
    ax.axis("off")

    panel(ax, 0.1, 2.7, FIRST_FILL, "1  request")
    places = {"A": (0.65, 2.55), "B": (2.25, 2.55), "C": (1.45, 3.35), "D": (1.45, 1.75)}
    for name in ("C", "D"):
        arrow(ax, places["A"], places[name])
        arrow(ax, places[name], places["B"])
        circle(ax, *places[name], 0.26, name, "white")
    ax.annotate("", places["B"], places["A"], arrowprops={"arrowstyle": "-|>", "color": MINIMAL, "linewidth": 2})
    circle(ax, *places["A"], 0.3, "A", "white")
    circle(ax, *places["B"], 0.3, "B", "white")
    ax.text(
        1.45, 1.2, "a packet in group A\nfor group B of a Dragonfly", fontsize=8, ha="center", va="center", color=INK
    )

    panel(ax, 3.2, 3.0, SEAM_FILL, "2  relation: candidates")
    left = (3.32, 3.72, 4.1, 4.55)
    for x, head in zip(left, ("slot", "port", "class", "path"), strict=True):
        ax.text(x, 3.76, head, fontsize=7.5, color=INK, va="center")
    ax.text(5.5, 3.76, "queue", fontsize=7.5, color=INK, va="center")
    for k, (slot, port, group, route, queue, color) in enumerate(CANDIDATES):
        y = 3.45 - 0.36 * k
        for x, text in zip(left, (slot, port, group, route), strict=True):
            ax.text(x, y, text, fontsize=8, color=INK if queue else "#888888", va="center")
        ax.add_patch(Rectangle((5.5, y - 0.09), 0.06 * queue, 0.18, facecolor=color, edgecolor="none"))
    ax.text(
        4.7,
        1.5,
        "Every candidate is safe from deadlock.\nAn agent sees features of the slots\nand a mask of the empty slots.",
        fontsize=8,
        ha="center",
        va="center",
        color=INK,
    )

    panel(ax, 6.6, 2.2, SEAM_FILL, "3  selection")
    ax.text(
        7.7, 2.95, "a routing in the core,\na network of weights\nin the core, or Python\npicks one slot",
        fontsize=8.5, ha="center", va="center", color=INK,
    )  # fmt: skip
    ax.add_patch(
        FancyBboxPatch(
            (6.95, 1.5),
            1.5,
            0.5,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor="white",
            edgecolor=DETOUR,
            linewidth=2,
        )
    )
    ax.text(7.7, 1.75, "slot 1", fontsize=9, ha="center", va="center", color=INK)

    box(ax, 9.2, 1.95, 1.7, 1.15, SECOND_FILL, "4  route", "port 7, VC class 1:\nthe head requests\nthe crossbar")
    for begin, end in ((2.8, 3.2), (6.2, 6.6), (8.8, 9.2)):
        arrow(ax, (begin, 2.5), (end, 2.5))

    ax.plot([10.05, 10.05, 1.45], [1.95, 0.45, 0.45], color=INK, linewidth=1.1, linestyle="--")
    arrow(ax, (1.45, 0.45), (1.45, 1.0), style="--")
    ax.text(
        5.7,
        0.53,
        "later: the delay of the packet returns to the router and becomes the reward of this decision",
        fontsize=8,
        ha="center",
        va="bottom",
        color=INK,
    )
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight", pad_inches=0.05)


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
