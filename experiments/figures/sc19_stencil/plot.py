"""Draws the communication time of every routing in each phase, and computes the compared numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...plotting.drawing import Row, polish, routings, style_of
from ...plotting.players import player_of

PHASES = {"collective": "collective alone", "halo": "halo exchange alone", "both": "both"}

INTERVALS = "bars: one standard deviation over the ranks"
_MEAN, _DEVIATION = "jobs.stencil27.comm_time_mean_ns", "jobs.stencil27.comm_time_std_ns"


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A panel per phase with a bar per routing: the mean over the ranks, with one standard deviation to either side.

    Raises:
        ValueError: a routing has no row for a phase.
    """
    names = routings(rows)
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    for ax, (phase, title) in zip(figure.subplots(1, len(PHASES)), PHASES.items(), strict=True):
        heights = [comm_us(rows, phase, name) for name in names]
        errors = [comm_us(rows, phase, name, _DEVIATION) for name in names]
        ax.bar(
            range(len(names)),
            heights,
            0.75,
            color=[style_of(name).color for name in names],
            yerr=errors,
            error_kw={"elinewidth": 1, "capsize": 3, "ecolor": "#333333"},
        )
        for k, (height, error) in enumerate(zip(heights, errors, strict=True)):
            ax.annotate(f"{height:.2f}", (k, height + error), xytext=(0, 3), textcoords="offset points",
                        ha="center", fontsize=8, color="#444444")  # fmt: skip
        ax.set_xticks(range(len(names)), [style_of(name).label for name in names], rotation=30, ha="right")
        ax.set_title(title, fontweight="bold")
        ax.set_ylabel("communication time (µs)")
        polish(ax)
        ax.grid(False, axis="x")
        ax.tick_params(axis="x", length=0)
    return figure


def comm_us(rows: Sequence[Row], phase: str, routing: str, quantity: str = _MEAN) -> float:
    """Communication time of a rank in us, as mean over placements; `quantity` is the column to read.

    Raises:
        ValueError: there is no row for the phase and the routing.
    """
    chosen = [row[quantity] for row in rows if (row["workload.phase"], player_of(row)) == (phase, routing)]
    if not chosen:
        raise ValueError(f"no row for phase {phase} and routing {routing}")
    return float(np.mean(chosen)) / 1e3


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    omni = {phase: comm_us(rows, phase, "omni_war") for phase in PHASES}
    others = [name for name in routings(rows) if name != "omni_war"]
    return {
        **{f"omni_war_over_ugal_{phase}": omni[phase] / comm_us(rows, phase, "ugal") for phase in PHASES},
        "omni_war_over_best_both": omni["both"] / min(comm_us(rows, "both", name) for name in others),
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every routing and phase."""
    lines = [
        "## Communication time, µs (relative to UGAL)\n",
        f"| routing | {' | '.join(PHASES.values())} |",
        "|---" * (1 + len(PHASES)) + "|",
    ]
    for name in routings(rows):
        cells = [
            f"{comm_us(rows, phase, name):.2f} ({comm_us(rows, phase, name) / comm_us(rows, phase, 'ugal'):.2f})"
            for phase in PHASES
        ]
        lines.append(f"| {style_of(name).label} | {' | '.join(cells)} |")
    lines.append(f"\nAll {len(rows)} runs took {sum(row['cpu_seconds'] for row in rows):,.0f} CPU seconds.")
    return "\n".join(lines) + "\n"
