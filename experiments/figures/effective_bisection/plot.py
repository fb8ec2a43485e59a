"""Draws the effective bisection bandwidth of every engine's tables, and simulated against predicted throughput."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...plotting.drawing import FURTHER_COLORS, Row, polish
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
# Networks by engine for which `expected.yaml` has numbers of OpenSM's tables.
_TREES = ("tree_4ary3", "leafspine_18x18", "fattree_672")
_LATTICES = ("torus_4x4", "torus_5x5x5", "mesh_8x8", "hyperx_4x4", "hyperx_672")
COMPARED = {
    "dfsssp": ("ring5", *_LATTICES, *_TREES, "moench", "dragonfly_72"),
    "ftree": _TREES,
    "dor": _LATTICES,
}
# Colours of networks in the right panel.
_NETWORK_COLORS = (
    *("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#000000", "#8a8a8a"),
    *FURTHER_COLORS,
)
_MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class Pattern:
    """A random bisection: throughput predicted from the routes per channel, and simulated throughput."""

    network: str
    engine: str
    number: int
    predicted: float
    simulated: float


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """The left panel has the engines of each network, the right panel every simulated pattern.

    Raises:
        ValueError: a simulation lacks its table, or there is no simulation.
    """
    figure = Figure(figsize=(13, 6.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    draw_engines(left, rows, expected["points"])
    draw_patterns(right, patterns(rows))
    return figure


def draw_engines(ax: Axes, rows: Sequence[Row], published: Mapping[str, Mapping[str, float]]) -> None:
    """A line per network with a mark per engine. Large hollow marks show the tables of OpenSM."""
    names = networks(rows)
    for k, network in enumerate(reversed(names)):
        ax.axhline(k, color="#f0f0f0", linewidth=8, zorder=0)
        found = bandwidths(rows, network)
        for engine, value in found.items():
            color, marker = STYLES[engine]
            ax.plot(value, k + _offset(engine), marker, color=color, markersize=6, zorder=3)
            if engine in published.get(network, {}):
                ax.plot(published[network][engine], k + _offset(engine), marker, markerfacecolor="none",
                        markeredgecolor=color, markersize=10, markeredgewidth=1.1, zorder=2)  # fmt: skip
    ax.set_yticks(range(len(names)), [name.replace("_", " ") for name in reversed(names)])
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_xlim(0, 1)
    ax.set_xlabel("effective bisection bandwidth")
    engines = [name for name in STYLES if any(name in bandwidths(rows, network) for network in names)]
    handles = [
        Line2D([], [], color=STYLES[name][0], marker=STYLES[name][1], linestyle="none", markersize=6, label=name)
        for name in engines
    ]
    handles.append(Line2D([], [], color="#555555", marker="o", markerfacecolor="none", linestyle="none", markersize=10,
                          label="OpenSM"))  # fmt: skip
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, frameon=False, fontsize=9)
    polish(ax)


def draw_patterns(ax: Axes, found: Sequence[Pattern]) -> None:
    """Simulated against predicted throughput, with one mark per pattern."""
    names = list(dict.fromkeys(pattern.network for pattern in found))
    for k, network in enumerate(names):
        own = [pattern for pattern in found if pattern.network == network]
        ax.plot([p.predicted for p in own], [p.simulated for p in own], _MARKERS[k % len(_MARKERS)], linestyle="none",
                color=_NETWORK_COLORS[k % len(_NETWORK_COLORS)], markersize=5, alpha=0.85,
                label=network.replace("_", " "))  # fmt: skip
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.9, linestyle="--")
    agreement = Agreement.of(found)
    ax.text(0.03, 0.97, f"r = {agreement.correlation:.3f}\nsimulated / predicted {agreement.ratio:.3f}\n"
            f"deviation from the diagonal {agreement.deviation:.3f}", transform=ax.transAxes, va="top",
            fontsize=9)  # fmt: skip
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("predicted: mean over the pairs of 1 / (pairs on the fullest channel)")
    ax.set_ylabel("simulated: flits accepted per sender and flit time")
    ax.legend(loc="lower right", frameon=False, fontsize=8)
    polish(ax)


@dataclass(frozen=True)
class Agreement:
    """Predicted against simulated throughput, over several patterns."""

    correlation: float
    ratio: float  # mean simulated / mean predicted
    deviation: float  # root mean square of the difference

    @classmethod
    def of(cls, found: Sequence[Pattern]) -> "Agreement":
        """Computes the three numbers. All patterns have the same weight."""
        predicted, simulated = (np.array([getattr(p, key) for p in found]) for key in ("predicted", "simulated"))
        return cls(
            float(np.corrcoef(predicted, simulated)[0, 1]),
            float(simulated.mean() / predicted.mean()),
            float(np.sqrt(np.mean((simulated - predicted) ** 2))),
        )


def networks(rows: Sequence[Row]) -> list[str]:
    """The networks in the order of the sweep."""
    return list(dict.fromkeys(row["study"] for row in rows))


def bandwidths(rows: Sequence[Row], network: str) -> dict[str, float]:
    """Effective bisection bandwidth by engine. Engines that refuse the network are left out.

    Raises:
        ValueError: there is no table of the network.
    """
    tables = [row for row in rows if row.get("kind") == KIND and row["study"] == network and row["routed"]]
    if not tables:
        raise ValueError(f"no table of {network}")
    return {row["engine.name"]: row["ebb_mean"] for row in tables}


def patterns(rows: Sequence[Row]) -> list[Pattern]:
    """Every simulated pattern with its prediction.

    Raises:
        ValueError: a simulated engine has no table, or there is no simulation.
    """
    tables = {(r["study"], r["engine.name"]): r for r in rows if r.get("kind") == KIND and r["routed"]}
    found = []
    for row in rows:
        if row.get("kind") == KIND:
            continue
        key = row["study"], row["routing.engine"]
        if key not in tables:
            raise ValueError(f"no table of {key[0]} by {key[1]}")
        number, table = row["traffic.pattern"], tables[key]
        # Loads are per terminal, and half of the terminals send.
        sending = table["terminals"] // 2 / table["terminals"]
        found.append(Pattern(*key, number, table["patterns.bandwidth"][number], row["accepted_load"] / sending))
    if not found:
        raise ValueError("no simulated pattern")
    return found


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    agreement = Agreement.of(patterns(rows))
    numbers: dict[str, float | None] = {
        "correlation": agreement.correlation,
        "ratio": agreement.ratio,
        "deviation": agreement.deviation,
    }
    for engine, compared in COMPARED.items():
        numbers |= {f"{network}.{engine}": bandwidths(rows, network).get(engine) for network in compared}
    return numbers


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of every engine and network, and of the prediction's quality for each network."""
    names = networks(rows)
    engines = [name for name in STYLES if any(name in bandwidths(rows, network) for network in names)]
    lines = [
        "## Effective bisection bandwidth\n",
        f"| network | {' | '.join(engines)} |",
        "|---" * (len(engines) + 1) + "|",
    ]
    for network in names:
        found = bandwidths(rows, network)
        cells = (f"{found[engine]:.3f}" if engine in found else "-" for engine in engines)
        lines.append(f"| {network} | {' | '.join(cells)} |")
    lines += [
        "\n## Simulated and predicted throughput, per sender\n",
        "| network | patterns | predicted | simulated | simulated / predicted | deviation |",
        "|---|---|---|---|---|---|",
    ]
    every = patterns(rows)
    for network in dict.fromkeys(pattern.network for pattern in every):
        own = [pattern for pattern in every if pattern.network == network]
        predicted, simulated = (np.mean([getattr(p, key) for p in own]) for key in ("predicted", "simulated"))
        deviation = np.sqrt(np.mean([(p.simulated - p.predicted) ** 2 for p in own]))
        numbers = " | ".join(f"{x:.3f}" for x in (predicted, simulated, simulated / predicted, deviation))
        lines.append(f"| {network} | {len(own)} | {numbers} |")
    return "\n".join(lines) + "\n"


def _offset(engine: str) -> float:
    # Many marks of a network have equal values, so each engine has its own height.
    place = list(STYLES).index(engine)
    return 0.34 - 0.68 * place / (len(STYLES) - 1)
