"""Draws router.svg, the pipeline of a router: `python docs/pictures/router.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

INK, FIRST_FILL, SECOND_FILL, SEAM_FILL = "#222222", "#dbe9f6", "#e2f0d9", "#fdebd0"

# The stages of a hop, in the order of src/core/stage/stage.hpp: name, text, fill.
STAGES = [
    ("arrival", "A flit leaves the\nchannel and enters the\nqueue of its input VC.", FIRST_FILL),
    ("route\ncomputation", "For each head the\nrouting chooses an\noutput port and a\nVC class.", SEAM_FILL),
    (
        "VC and switch\nallocation",
        "One grant gives the\nhead an output VC and\nthe crossbar. It needs\na free slot downstream.",
        SECOND_FILL,
    ),
    (
        "traversal",
        "The output port sends\none flit per flit time.\nWithout output buffers\nthis is part of stage 3.",
        FIRST_FILL,
    ),
    ("credit", "The slot is free again.\nA credit reports this\nto the upstream router.", FIRST_FILL),
]
ROWS = (4.42, 3.36, 2.3)  # y positions of the ports
HEAD, BODY, TAIL, EMPTY = "#0072B2", "#8fbfe0", "#4b9bd0", "#ffffff"
# Flits in the VCs of each input port, front first.
QUEUES = [((HEAD, BODY, TAIL), (HEAD, TAIL)), ((BODY, TAIL, HEAD, TAIL), ()), ((HEAD,), (TAIL, HEAD, TAIL))]


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


def queue(ax: Axes, x: float, y: float, flits: tuple[str, ...], front_right: bool = True) -> None:
    """Draw a buffer of four slots, with the front at the right."""
    for slot in range(4):
        color = flits[slot] if slot < len(flits) else EMPTY
        left = x + 0.2 * (3 - slot if front_right else slot)
        ax.add_patch(Rectangle((left, y), 0.2, 0.2, facecolor=color, edgecolor=INK, linewidth=0.6))


def number(ax: Axes, x: float, y: float, text: str) -> None:
    """Draw the number of a stage in a circle."""
    ax.add_patch(Circle((x, y), 0.14, facecolor=INK, edgecolor="none", zorder=5))
    ax.text(x, y, text, color="white", fontsize=9, ha="center", va="center_baseline", fontweight="bold", zorder=6)


def port(ax: Axes, x: float, y: float, name: str, queues: tuple[tuple[str, ...], ...]) -> None:
    """Draw a port with its virtual channels."""
    style = "round,pad=0,rounding_size=0.06"
    ax.add_patch(FancyBboxPatch((x, y), 1.5, 0.82, boxstyle=style, facecolor="#f7f7f7", edgecolor=INK, linewidth=0.8))
    ax.text(x + 0.08, y + 0.7, name, fontsize=7.5, va="center", color=INK)
    for vc, flits in enumerate(queues):
        ax.text(x + 0.08, y + 0.42 - 0.27 * vc, f"VC {vc}", fontsize=7, va="center", color=INK)
        queue(ax, x + 0.55, y + 0.32 - 0.27 * vc, flits)


def draw(path: Path) -> None:
    """Write the figure as SVG without a date, so that equal figures are equal files."""
    plt.rcParams |= {"svg.hashsalt": "flitgym", "font.family": "DejaVu Sans"}
    figure, ax = plt.subplots(figsize=(11, 5.8))
    ax.set(xlim=(0, 11), ylim=(0.25, 6.0), aspect="equal")
    ax.axis("off")
    style = "round,pad=0,rounding_size=0.12"
    ax.add_patch(FancyBboxPatch((2.15, 2.1), 6.7, 3.72, boxstyle=style, facecolor="none", edgecolor=INK, linewidth=1.2))
    ax.text(5.5, 5.62, "router", fontsize=11, fontweight="bold", ha="center", va="center", color=INK)
    outputs = [((TAIL,), ()), ((), (BODY, HEAD)), ((), ())]
    for k, y in enumerate(ROWS):
        port(ax, 2.35, y, f"input port {k}", QUEUES[k])
        port(ax, 7.15, y, f"output port {k}", outputs[k])
        arrow(ax, (3.85, y + 0.41), (5.0, y + 0.41))
        arrow(ax, (6.0, y + 0.41), (7.15, y + 0.41))
        side = ("terminal", "router", "router")[k]
        ax.text(0.15, y + 0.6, "from a " + ("terminal's NIC" if side == "terminal" else side), fontsize=8, color=INK)
        arrow(ax, (0.15, y + 0.47), (2.35, y + 0.47))
        arrow(ax, (2.35, y + 0.22), (0.15, y + 0.22), style="--")
        ax.text(10.85, y + 0.6, f"to a {side}", fontsize=8, ha="right", color=INK)
        arrow(ax, (8.65, y + 0.47), (10.85, y + 0.47))
        arrow(ax, (10.85, y + 0.22), (8.65, y + 0.22), style="--")
    ax.add_patch(Rectangle((5.0, 2.3), 1.0, 2.94, facecolor="#f7f7f7", edgecolor=INK, linewidth=0.8))
    for begin in ROWS:
        for end in ROWS:
            ax.plot([5.06, 5.94], [begin + 0.41, end + 0.41], color="#bbbbbb", linewidth=1)
    ax.text(5.5, 5.33, "crossbar", fontsize=8, ha="center", va="center", color=INK)

    number(ax, 1.95, ROWS[0] + 0.47, "1")
    number(ax, 4.02, ROWS[0] + 0.41, "2")
    number(ax, 4.78, ROWS[0] + 0.41, "3")
    number(ax, 9.05, ROWS[0] + 0.47, "4")
    number(ax, 1.95, ROWS[0] + 0.22, "5")
    for x, color, name in ((2.45, HEAD, "head"), (3.2, BODY, "body flit"), (4.25, TAIL, "tail")):
        ax.add_patch(Rectangle((x, 5.52), 0.2, 0.2, facecolor=color, edgecolor=INK, linewidth=0.6))
        ax.text(x + 0.28, 5.62, name, fontsize=7.5, va="center", color=INK)
    ax.plot([6.95, 7.3], [5.62, 5.62], color=INK, linestyle="--", linewidth=1.1)
    ax.text(7.38, 5.62, "credits", fontsize=7.5, va="center", color=INK)

    for k, (head, text, fill) in enumerate(STAGES):
        x = 0.15 + 2.15 * k
        lines = head.count("\n")
        box(ax, x, 0.3, 2.05, 1.5, fill, head, "\n" * lines + text)
        number(ax, x + 0.06, 1.76, str(k + 1))
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight", pad_inches=0.05)


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
