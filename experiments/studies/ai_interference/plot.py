"""The figures of the study by file name, the compared numbers, and the Markdown tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ...plotting.drawing import Row, polish, style_of
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
_LEAST_NS = 1.0


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> dict[str, Figure]:
    """Every figure of the study, by file name.

    Raises:
        ValueError: a figure lacks a row.
    """
    return {
        "iteration_times": draw_iteration_times(rows),
        "slowdowns": draw_slowdowns(rows),
        "blame": draw_blame(rows),
        "placements": draw_placements(rows),
    }


def pair_title(pair: tuple[str, str]) -> str:
    """A pair in figures and tables."""
    return TITLES[pair[0]] if pair[1] == "none" else f"{TITLES[pair[0]]}\nwith {TITLES[pair[1]]}"


def draw_iteration_times(rows: Sequence[Row]) -> Figure:
    """The iteration time of every target alone and with each background, a panel per network.

    Raises:
        ValueError: a pair has no row.
    """
    names = networks(rows)
    figure = Figure(figsize=(13, 2.9 * len(names) + 0.5), layout="constrained")
    for ax, network in zip(np.atleast_1d(figure.subplots(len(names), 1)), names, strict=True):
        routings = routings_on(rows, network)
        heights = [[iteration_us(run_of(rows, network, pair, name)) for name in routings] for pair in PAIRS]
        _bars(ax, heights, routings)
        ax.set_xticks(range(len(PAIRS)), [pair_title(pair) for pair in PAIRS], fontsize=9)
        ax.set_ylabel("iteration time (us)")
        ax.set_title(NETWORK_TITLES[network], fontweight="bold")
        ax.legend(frameon=False, fontsize=8, ncols=len(routings), loc="upper left")
        ax.set_ylim(0, max(map(max, heights)) * 1.22)
    return figure


def draw_slowdowns(rows: Sequence[Row]) -> Figure:
    """The iteration time with a background / alone, under the same routing. 1 means no interference.

    Raises:
        ValueError: a pair has no row.
    """
    names = networks(rows)
    figure = Figure(figsize=(13, 2.9 * len(names) + 0.5), layout="constrained")
    for ax, network in zip(np.atleast_1d(figure.subplots(len(names), 1)), names, strict=True):
        routings = routings_on(rows, network)
        heights = [[slowdown(rows, network, pair, name) for name in routings] for pair in WITH_BACKGROUND]
        _bars(ax, heights, routings)
        ax.axhline(1, color="#333333", linewidth=1)
        ax.set_xticks(range(len(WITH_BACKGROUND)), [pair_title(pair) for pair in WITH_BACKGROUND], fontsize=9)
        ax.set_ylabel("iteration time / alone")
        ax.set_title(NETWORK_TITLES[network], fontweight="bold")
        ax.legend(frameon=False, fontsize=8, ncols=len(routings), loc="upper left")
        ax.set_ylim(*_limits(heights))
    return figure


def draw_placements(rows: Sequence[Row]) -> Figure:
    """The slowdowns on the network that has several placements, a panel per placement.

    Raises:
        ValueError: a pair has no row.
    """
    network = max(networks(rows), key=lambda name: len(placements(rows, name)))
    names, routings = placements(rows, network), routings_on(rows, network)
    heights = {
        placement: [[slowdown(rows, network, pair, name, placement) for name in routings] for pair in WITH_BACKGROUND]
        for placement in names
    }
    limits = _limits([group for groups in heights.values() for group in groups])
    figure = Figure(figsize=(13, 2.9 * len(names) + 0.5), layout="constrained")
    for ax, placement in zip(np.atleast_1d(figure.subplots(len(names), 1)), names, strict=True):
        _bars(ax, heights[placement], routings)
        ax.axhline(1, color="#333333", linewidth=1)
        ax.set_xticks(range(len(WITH_BACKGROUND)), [pair_title(pair) for pair in WITH_BACKGROUND], fontsize=9)
        ax.set_ylabel("iteration time / alone")
        ax.set_title(f"{NETWORK_TITLES[network]}, placement={placement}", fontweight="bold")
        ax.legend(frameon=False, fontsize=8, ncols=len(routings), loc="upper left")
        ax.set_ylim(*limits)
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
                [_delay_ns(run_of(rows, network, pair, name), k) for pair in WITH_BACKGROUND]
                for name in routings_on(rows, network)
            ]
        )
        for network in names
        for k in range(2)
    }
    highest = max(float(np.nanmax(values)) for values in matrices.values())
    scale = LogNorm(_LEAST_NS, max(highest, 10 * _LEAST_NS), clip=True)
    for r, network in enumerate(names):
        for k, culprit in enumerate(("the target itself", "the background")):
            ax, values = axes[r, k], matrices[network, k]
            ax.imshow(values, cmap="YlOrRd", norm=scale, aspect="auto")
            ax.grid(False)
            for (y, x), value in np.ndenumerate(values):
                dark = float(scale(max(value, _LEAST_NS))) > 0.6
                text = f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
                ax.text(x, y, text, ha="center", va="center", fontsize=8, color="white" if dark else "#222222")
            ax.set_title(f"{NETWORK_TITLES[network]}: delay by {culprit}", fontsize=10)
            labels = [style_of(name).label for name in routings_on(rows, network)]
            ax.set_yticks(range(len(labels)), labels if k == 0 else [])
            ax.set_xticks(range(len(WITH_BACKGROUND)), [pair_title(pair) for pair in WITH_BACKGROUND], fontsize=7)
            ax.tick_params(length=0)
            ax.spines[:].set_visible(False)
    figure.colorbar(ScalarMappable(scale, "YlOrRd"), ax=axes, label="ns per packet of the target", shrink=0.6)
    return figure


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
    lines = []
    for network in networks(rows):
        routings = routings_on(rows, network)
        lines += [
            f"## {NETWORK_TITLES[network]}\n",
            "Iteration time in us, and relative to the target alone.\n",
            f"| target | background | {' | '.join(style_of(name).label for name in routings)} |",
            "|---" * (len(routings) + 2) + "|",
        ]
        for pair in PAIRS:
            cells = [
                f"{iteration_us(run_of(rows, network, pair, name)):,.1f} ({slowdown(rows, network, pair, name):.2f})"
                for name in routings
            ]
            lines.append(f"| {TITLES[pair[0]]} | {TITLES[pair[1]]} | {' | '.join(cells)} |")
        worst = [max(slowdown(rows, network, pair, name) for pair in WITH_BACKGROUND) for name in routings]
        lines += [f"| largest slowdown | | {' | '.join(f'{value:.2f}' for value in worst)} |", ""]
    seconds = sum(float(row["cpu_seconds"]) for row in rows)
    lines.append(f"All {len(rows)} runs took {seconds:,.0f} CPU seconds.")
    return "\n".join(lines) + "\n"


def _delay_ns(row: Row, culprit: int) -> float:
    # Rows and columns of the account have the order of `blame.jobs`, the target first.
    return sum(float(row[f"blame.{kind}_ns_per_packet"][0][culprit] or 0) for kind in ("wait", "stall"))


def _limits(slowdowns: Sequence[Sequence[float]]) -> tuple[float, float]:
    # Slowdowns are close to 1, so the axis does not begin at 0. The legend needs room above the bars.
    low = min(0.9, *map(min, slowdowns))
    return low, low + (max(1.05, *map(max, slowdowns)) - low) * 1.3


def _mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _bars(ax: Any, heights: Sequence[Sequence[float]], routings: Sequence[str]) -> None:
    width = 0.84 / len(routings)
    for k, name in enumerate(routings):
        places = [group + (k - (len(routings) - 1) / 2) * width for group in range(len(heights))]
        style = style_of(name)
        ax.bar(places, [group[k] for group in heights], width * 0.9, color=style.color, label=style.label)
    ax.set_xlim(-0.6, len(heights) - 0.4)
    ax.tick_params(axis="x", length=0)
    polish(ax)
    ax.grid(False, axis="x")
