"""Draws the communication time of every routing in each phase, and computes the compared numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...plotting.drawing import Row, paper_style, routings
from ...plotting.markdown import cost, section
from ...plotting.panels import draw_bars
from ...plotting.players import player_of
from ...plotting.runs import Runs

PHASES = {"collective": "collective alone", "halo": "halo exchange alone", "both": "both"}

INTERVALS = "bars: one standard deviation over the ranks"


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A panel per phase with a bar per routing: the mean over the ranks, with one standard deviation to either side."""
    names = routings(rows)
    means, deviations = comm_us(rows), comm_us(rows, "std")
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    for ax, (phase, title) in zip(figure.subplots(1, len(PHASES)), PHASES.items(), strict=True):
        mean, half = (np.array([[found[phase, name] for name in names]]) for found in (means, deviations))
        colors, labels = ([getattr(paper_style(name), key) for name in names] for key in ("color", "label"))
        draw_bars(ax, mean, [colors], labels, ends=np.stack([mean - half, mean + half], axis=2), text="{:.2f}".format)
        ax.tick_params(axis="x", rotation=30)
        ax.set(title=title, ylabel="communication time (µs)")
    return figure


def comm_us(rows: Sequence[Row], which: str = "mean") -> dict[tuple[str, str], float]:
    """The communication time of the ranks in us by phase and routing, as mean over placements."""
    runs, column = Runs(rows, phase="workload.phase", routing=player_of), f"jobs.stencil27.comm_time_{which}_ns"
    return {
        (phase, name): runs.mean(column, phase=phase, routing=name) / 1e3 for phase in PHASES for name in routings(rows)
    }


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    found = comm_us(rows)
    others = [found["both", name] for name in routings(rows) if name != "omni_war"]
    return {
        **{f"omni_war_over_ugal_{phase}": found[phase, "omni_war"] / found[phase, "ugal"] for phase in PHASES},
        "omni_war_over_best_both": found["both", "omni_war"] / min(others),
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every routing and phase."""
    found = comm_us(rows)
    lines = []
    for name in routings(rows):
        times = (f"{found[p, name]:.2f} ({found[p, name] / found[p, 'ugal']:.2f})" for p in PHASES)
        lines.append([paper_style(name).label, *times])
    return section("Communication time, µs (relative to UGAL)", ["routing", *PHASES.values()], lines) + cost(rows)
