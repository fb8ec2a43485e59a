"""Draws the effective bisection bandwidth of every engine's tables, and simulated against predicted throughput."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ...plotting.drawing import FURTHER_COLORS, Row
from ...plotting.markdown import section
from ...table_quality.one_table import KIND

# Colour and marker by engine. Engines of one family share a hue.
STYLES = {
    "min_hop": ("#000000", "o"),
    "up_down": ("#8a8a8a", "v"),
    "sssp": ("#56B4E9", "s"),
    "dfsssp": ("#0072B2", "D"),
    "dor": ("#009E73", "P"),
    "torus_2qos": ("#005a41", "X"),
    "ftree": ("#E69F00", "^"),
    "lash": ("#CC79A7", "h"),
    "nue": ("#D55E00", "*"),
}
# In the order of the figure.
NETWORKS = (
    *("ring5", "torus_4x4", "torus_5x5x5", "mesh_8x8"),
    *("tree_4ary3", "tree_4ary3_failed3", "leafspine_18x18", "moench", "fattree_672"),
    *("hyperx_4x4", "hyperx_672", "dragonfly_72", "dragonfly_1056"),
)
# Colours of networks in the right panel.
_NETWORK_COLORS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#000000", "#8a8a8a", *FURTHER_COLORS)
_MARKERS = ("o", "s", "^", "D", "v")


Throughput = NDArray[np.float64]
"""[patterns, 2] throughput of random bisections, predicted from the routes per channel and simulated."""


def agreement(found: Throughput) -> tuple[float, float]:
    """Mean simulated / mean predicted throughput, and the root mean square of the difference."""
    predicted, simulated = found.T
    return float(simulated.mean() / predicted.mean()), float(np.sqrt(np.mean((simulated - predicted) ** 2)))


def correlation(found: Throughput) -> float:
    """The correlation of predicted and simulated throughput."""
    return float(np.corrcoef(*found.T)[0, 1])


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """The left panel has the engines of each network, the right panel every simulated pattern."""
    figure = Figure(figsize=(13, 6.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    draw_engines(left, bandwidths(rows), expected["points"])
    draw_patterns(right, patterns(rows))
    return figure


def draw_engines(ax: Axes, found: dict[str, dict[str, float]], published: Mapping[str, Mapping[str, float]]) -> None:
    """A line per network with a mark per engine. Large hollow marks show the tables of OpenSM."""
    # Many marks of a network have equal values, so each engine has its own height.
    heights = dict(zip(STYLES, np.linspace(0.34, -0.34, len(STYLES)), strict=True))
    for k, (network, own) in enumerate(reversed(found.items())):
        ax.axhline(k, color="#f0f0f0", linewidth=8, zorder=0)
        for engine, value in own.items():
            color, marker = STYLES[engine]
            ax.plot(value, k + heights[engine], marker, color=color, markersize=6, zorder=3)
            ax.plot(published.get(network, {}).get(engine, np.nan), k + heights[engine], marker, zorder=2,
                    markerfacecolor="none", markeredgecolor=color, markersize=10, markeredgewidth=1.1)  # fmt: skip
    ax.set_yticks(range(len(found)), [name.replace("_", " ") for name in reversed(found)])
    ax.set(ylim=(-0.6, len(found) - 0.4), xlim=(0, 1), xlabel="effective bisection bandwidth")
    handles = [
        Line2D([], [], color=STYLES[name][0], marker=STYLES[name][1], linestyle="none", markersize=6, label=name)
        for name in engines(found)
    ]
    handles.append(Line2D([], [], color="#555555", marker="o", markerfacecolor="none", linestyle="none", markersize=10,
                          label="OpenSM"))  # fmt: skip
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, frameon=False, fontsize=9)


def draw_patterns(ax: Axes, found: Mapping[str, Throughput]) -> None:
    """Simulated against predicted throughput, with one mark per pattern."""
    for k, (network, own) in enumerate(found.items()):
        ax.plot(*own.T, _MARKERS[k % len(_MARKERS)], linestyle="none", alpha=0.85, markersize=5,
                color=_NETWORK_COLORS[k % len(_NETWORK_COLORS)], label=network.replace("_", " "))  # fmt: skip
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.9, linestyle="--")
    every = np.concatenate(list(found.values()))
    ratio, deviation = agreement(every)
    ax.text(0.03, 0.97, f"r = {correlation(every):.3f}\nsimulated / predicted {ratio:.3f}\n"
            f"deviation from the diagonal {deviation:.3f}", transform=ax.transAxes, va="top", fontsize=9)  # fmt: skip
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")
    ax.set_xlabel("predicted: mean over the pairs of 1 / (pairs on the fullest channel)")
    ax.set_ylabel("simulated: flits accepted per sender and flit time")
    ax.legend(loc="lower right", frameon=False, fontsize=8)


def tables_of(rows: Sequence[Row]) -> dict[tuple[str, str], Row]:
    """The tables by network and engine. Engines that refuse the network are left out."""
    return {(r["study"], r["engine.name"]): r for r in rows if r.get("kind") == KIND and r["routed"]}


def bandwidths(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Effective bisection bandwidth by network and engine."""
    tables = tables_of(rows)
    return {
        network: {engine: tables[network, engine]["ebb_mean"] for engine in STYLES if (network, engine) in tables}
        for network in NETWORKS
        if any(network == of for of, _ in tables)
    }


def engines(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The engines with a table."""
    return [name for name in STYLES if any(name in own for own in found.values())]


def patterns(rows: Sequence[Row]) -> dict[str, Throughput]:
    """The simulated patterns by network."""
    tables, found = tables_of(rows), {network: list[tuple[float, float]]() for network in NETWORKS}
    for row in rows:
        network, engine = str(row["study"]), str(row.get("routing.engine"))
        if row.get("kind") == KIND:
            continue
        if (network, engine) not in tables:
            raise ValueError(f"no row for the table of {network} by {engine}")
        table = tables[network, engine]
        # Loads are per terminal, and half of the terminals send.
        simulated = row["accepted_load"] / (table["terminals"] // 2 / table["terminals"])
        found[network].append((table["patterns.bandwidth"][row["traffic.pattern"]], simulated))
    return {network: np.array(own) for network, own in found.items() if own}


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    every = np.concatenate(list(patterns(rows).values()))
    ratio, deviation = agreement(every)
    found = {f"{network}.{name}": own.get(name) for network, own in bandwidths(rows).items() for name in STYLES}
    return {"correlation": correlation(every), "ratio": ratio, "deviation": deviation, **found}


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of every engine and network, and of the prediction's quality for each network."""
    found = bandwidths(rows)
    names = engines(found)
    lines = [[n, *(f"{own[name]:.3f}" if name in own else "-" for name in names)] for n, own in found.items()]
    heads = ["network", "patterns", "predicted", "simulated", "simulated / predicted", "deviation"]
    quality = []
    for network, own in patterns(rows).items():
        numbers = (*own.mean(axis=0), *agreement(own))
        quality.append([network, str(len(own)), *(f"{x:.3f}" for x in numbers)])
    tables = section("Effective bisection bandwidth", ["network", *names], lines)
    return f"{tables}\n{section('Simulated and predicted throughput, per sender', heads, quality)}"
