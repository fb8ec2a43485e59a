"""The figure of the series: time per flit-hop over network size and over load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import goals
import series
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from programs import Row

LABELS = {series.LOADS: "router input_queued, minimal", series.LOADS_LEARNED: "router hpdc21, Q-adaptive"}


def draw_times(ax: Axes, x: list[float], rows: list[Row], label: str) -> None:
    """Draw medians as a line, and the range of the repeats as bars."""
    y = [row["ns_per_flit_hop"] for row in rows]
    below = [row["ns_per_flit_hop"] - row["ns_per_flit_hop_min"] for row in rows]
    above = [row["ns_per_flit_hop_max"] - row["ns_per_flit_hop"] for row in rows]
    ax.errorbar(x, y, yerr=[below, above], marker="o", markersize=4, capsize=2, linewidth=1.2, label=label)


def draw_sizes(ax: Axes, rows: list[Row]) -> None:
    """Draw times over terminals, on a logarithmic axis."""
    draw_times(ax, [row["terminals"] for row in rows], rows, "")
    base = next((row["ns_per_flit_hop"] for row in rows if row["terminals"] == 1056), None)
    if base is not None:
        goal = base * goals.LARGEST_TIMES
        ax.axhline(goal, color="grey", linestyle="--", linewidth=1)
        at, text = (0.02, goal), f"{goals.LARGEST_TIMES} times the time of 1,056 (goal)"
        ax.annotate(text, at, xycoords=("axes fraction", "data"), va="bottom", fontsize=8)
    ax.set_xscale("log")
    ax.set_xticks([row["terminals"] for row in rows], [f"{row['terminals']:,}" for row in rows], rotation=60)
    ax.minorticks_off()
    ax.set_xlabel("terminals")
    ax.set_title("over network size (router input_queued, load 0.3)", fontsize=10)


def draw_loads(ax: Axes, found: series.Series) -> None:
    """Draw times over offered load, one line per router."""
    for key, label in LABELS.items():
        if key in found:
            draw_times(ax, [row["offered_load"] for row in found[key]], found[key], label)
    ax.set_xlim(0, 1)
    ax.set_xlabel("offered load")
    ax.set_title("over load (1,056 terminals, uniform)", fontsize=10)
    ax.legend(fontsize=8, frameon=False)


def save(path: Path) -> Path:
    """Draw the series of a file of results into a PNG file with the same name."""
    found: dict[str, Any] = json.loads(path.read_text())
    lines: series.Series = found["series"]
    figure, (sizes, loads) = plt.subplots(1, 2, figsize=(8.6, 3.8), layout="constrained")
    draw_sizes(sizes, lines.get(series.SIZES, []))
    draw_loads(loads, lines)
    for ax in (sizes, loads):
        ax.set_ylim(bottom=0)
        ax.set_ylabel("ns per flit-hop (one core)")
        ax.grid(alpha=0.3)
    figure.suptitle(f"{found['machine']['processor']}, {found['machine']['cores']} cores", fontsize=9)
    out = path.with_suffix(".png")
    figure.savefig(out, dpi=130)
    plt.close(figure)
    return out
