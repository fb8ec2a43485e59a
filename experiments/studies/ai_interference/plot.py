"""The figures of the study by file name, the compared numbers, and the Markdown tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from ...plotting.drawing import Row, routings, style_of
from ...terminal.tables import markdown_table
from ..common import DELAY_COLORS, bars, delay_scale, draw_delays, legend
from .runs import (
    NETWORK_TITLES,
    PAIRS,
    TITLES,
    iteration_us,
    networks,
    placements,
    routings_on,
    run_of,
    slowdown,
)

TARGETS = tuple(dict.fromkeys(target for target, _ in PAIRS))
WITH_BACKGROUND = tuple(pair for pair in PAIRS if pair[1] != "none")
_LABELS = [TITLES[a] if b == "none" else f"{TITLES[a]}\nwith {TITLES[b]}" for a, b in PAIRS]  # of the pairs

# A number of a network, a pair of jobs, a routing and a placement.
Number = Callable[[Sequence[Row], str, tuple[str, str], str, str], float]


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> dict[str, Figure]:
    """Every figure of the study, by file name.

    Raises:
        ValueError: a figure lacks a row.
    """

    def time(*of: Any) -> float:
        return iteration_us(run_of(*of))

    several = max(networks(rows), key=lambda name: len(placements(rows, name)))
    of_networks = {NETWORK_TITLES[name]: (name, "random") for name in networks(rows)}
    of_placements = {
        f"{NETWORK_TITLES[several]}, placement={name}": (several, name) for name in placements(rows, several)
    }
    return {
        "iteration_times": _panels(rows, of_networks, "iteration time (us)", time, PAIRS),
        "slowdowns": _panels(rows, of_networks, "iteration time / alone", slowdown, WITH_BACKGROUND),
        "blame": draw_blame(rows),
        "placements": _panels(rows, of_placements, "iteration time / alone", slowdown, WITH_BACKGROUND),
    }


def _panels(
    rows: Sequence[Row],
    panels: Mapping[str, tuple[str, str]],
    label: str,
    number: Number,
    pairs: Sequence[tuple[str, str]],
) -> Figure:
    """A panel per network and placement, with a group of bars per pair of jobs.

    Slowdowns are relative to 1, which means no interference. Their axes do not begin at 0, and are the same.
    """
    relative = number is slowdown
    figure = Figure(figsize=(13, 2.9 * len(panels) + 0.5), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(panels), 1, sharey=relative))
    lowest = 0.9
    for ax, (title, (network, placement)) in zip(axes, panels.items(), strict=True):
        names = routings_on(rows, network)
        heights = [[number(rows, network, pair, name, placement) for name in names] for pair in pairs]
        bars(ax, heights, names, [_LABELS[PAIRS.index(pair)] for pair in pairs])
        ax.set_title(title, fontweight="bold")
        ax.set_ylabel(label)
        lowest = min(lowest, *map(min, heights))
        if relative:
            ax.axhline(1, color="#333333", linewidth=1)
            ax.set_ylim(bottom=lowest)
    legend(figure, routings(rows))
    return figure


def draw_blame(rows: Sequence[Row]) -> Figure:
    """The delay of a target's packet by the target itself and by the background, waits and stalls together.

    Raises:
        ValueError: a pair has no row.
    """
    names = networks(rows)
    figure = Figure(figsize=(13, 2.6 * len(names)), layout="constrained")
    axes = np.atleast_2d(figure.subplots(len(names), 2))
    matrices = {
        (network, k): np.array(
            [
                [[_delay_ns(run_of(rows, network, pair, name), k)] for pair in WITH_BACKGROUND]
                for name in routings_on(rows, network)
            ]
        )
        for network in names
        for k in range(2)
    }
    scale = delay_scale(list(matrices.values()))
    for r, network in enumerate(names):
        for k, culprit in enumerate(("the target itself", "the background")):
            draw_delays(axes[r, k], matrices[network, k], scale)
            axes[r, k].set_title(f"{NETWORK_TITLES[network]}: delay by {culprit}", fontsize=10)
            labels = [style_of(name).label for name in routings_on(rows, network)]
            axes[r, k].set_yticks(range(len(labels)), labels if k == 0 else [])
            pairs = [_LABELS[PAIRS.index(pair)] for pair in WITH_BACKGROUND]
            axes[r, k].set_xticks(range(len(pairs)), pairs, fontsize=7)
    figure.colorbar(ScalarMappable(scale, DELAY_COLORS), ax=axes, label="ns per packet of the target", shrink=0.6)
    return figure


def _delay_ns(row: Row, culprit: int) -> float:
    # Rows and columns of the account have the order of `blame.jobs`, the target first.
    return sum(float(row[f"blame.{kind}_ns_per_packet"][0][culprit] or 0) for kind in ("wait", "stall"))


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    every = [
        slowdown(rows, network, pair, name)
        for network in networks(rows)
        for name in routings_on(rows, network)
        for pair in WITH_BACKGROUND
    ]
    first = networks(rows)[0]
    q_adaptive, minimal = (
        _mean([iteration_us(run_of(rows, first, pair, name)) for pair in WITH_BACKGROUND])
        for name in ("q_adaptive", "minimal")
    )
    return {
        "least_slowdown": min(every),
        "mean_slowdown": _mean(every),
        "q_adaptive_against_minimal": q_adaptive / minimal,
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown: iteration times and slowdowns by network and routing."""
    parts = []
    for network in networks(rows):
        names = routings_on(rows, network)
        lines = []
        for pair in PAIRS:
            times = [iteration_us(run_of(rows, network, pair, name)) for name in names]
            ratios = [slowdown(rows, network, pair, name) for name in names]
            cells = [f"{time:,.1f} ({ratio:.2f})" for time, ratio in zip(times, ratios, strict=True)]
            lines.append([*(TITLES[job] for job in pair), *cells])
        worst = [max(slowdown(rows, network, pair, name) for pair in WITH_BACKGROUND) for name in names]
        lines.append(["largest slowdown", "", *(f"{value:.2f}" for value in worst)])
        heads = ["target", "background", *(style_of(name).label for name in names)]
        table = markdown_table(heads, lines, left=heads[:2])
        note = "Iteration time in us, and relative to the target alone."
        parts.append(f"## {NETWORK_TITLES[network]}\n\n{note}\n\n{table}")
    seconds = sum(float(row["cpu_seconds"]) for row in rows)
    return "\n".join([*parts, f"All {len(rows)} runs took {seconds:,.0f} CPU seconds.\n"])


def _mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))
