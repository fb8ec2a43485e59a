"""Draws the load balance of three engines' tables, the run time of the engines, and the speed of communication."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from ...plotting.drawing import PUBLISHED, Row, Style, polish

BFS, GENETIC, SSSP = ENGINES = ("angara_bfs", "angara_genetic", "angara_sssp")
STYLES = {
    BFS: Style("BFS", "#8a8a8a", "^", "--"),
    GENETIC: Style("genetic", "#E69F00", "s", ":"),  # drawn hollow, because SSSP is often in the same place
    SSSP: Style("SSSP", "#0072B2", "o"),
}
CARRIED = 10.0  # a load is carried up to this ratio of its p99 latency to the p99 latency without congestion
STUDIED = (4, 2, 2, 2)  # the 32 nodes of the study's machine
# Simulated communication on STUDIED, from the top: jobs by their names, and two patterns of flows.
KINDS = {
    "alltoall": "all-to-all",
    "neighbour": "neighbour",
    "tornado": "tornado",
    "shift": "shift by 15",
    "lu": "LU-like",
    "mg": "MG-like",
    "cg": "CG-like",
    "ft": "FT-like",
    "is": "IS-like",
}
Sizes = tuple[int, ...]


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """The upper row has edge forwarding indices by dimensions; the lower deviation, run time and communication.

    Raises:
        ValueError: an engine has no row for a torus or a kind of communication.
    """
    tables = by_torus(rows)
    published = {entry["id"]: entry["value"] for entry in expected["numbers"]}
    figure = Figure(figsize=(12.5, 7.6), layout="constrained")
    axes = figure.subplots(2, 3)
    for ax, dimensions in zip(axes[0], sorted({len(sizes) for sizes in tables}), strict=True):
        some = of_dimensions(tables, dimensions)
        draw_over_nodes(ax, some, uneven)
        ax.set_title(f"{len(some)} tori of {dimensions} dimensions", fontweight="bold")
        ax.set_ylim(bottom=0.95)
        less = gain(some, BFS)
        known = published[f"sssp_below_bfs_{dimensions}d"]
        ax.annotate(
            f"edge forwarding indices, summed:\nSSSP {less:.0%} below BFS (published: {known:.0%})",
            (0.03, 0.97), xycoords="axes fraction", va="top", fontsize=9, color="#444444",
        )  # fmt: skip
        top = max(
            row["edge_forwarding_index"] / row["load_mean"] for engines in some.values() for row in engines.values()
        )
        ax.set_ylim(top=0.95 + (top - 0.95) * 1.22)
    axes[0][0].set_ylabel("edge forwarding index / mean load")
    draw_over_nodes(axes[1][0], tables, lambda row: row["load_deviation"] / row["load_mean"])
    axes[1][0].set_ylabel("standard deviation / mean load")
    axes[1][0].set_title("unevenness of the loads", fontweight="bold")
    draw_over_nodes(axes[1][1], tables, lambda row: row["route_cpu_seconds"])
    draw_budget(axes[1][1])
    draw_communication(axes[1][2], rows, published)
    handles = [Line2D([], [], label=style.label, **marks(engine, style)) for engine, style in STYLES.items()]
    star = Line2D([], [], label="published", **PUBLISHED)
    figure.legend(handles=[*handles, star], loc="outside upper center", ncols=4, frameon=False, fontsize=10)
    return figure


def uneven(row: Row) -> float:
    """The ratio of the edge forwarding index to its value with equal loads on all channels."""
    return float(row["edge_forwarding_index"] / row["load_mean"])


def draw_over_nodes(ax: Axes, tables: Mapping[Sizes, Mapping[str, Row]], quantity: Any) -> None:
    """A point per torus and engine."""
    for engine, style in STYLES.items():
        nodes = [math.prod(sizes) for sizes in tables]
        values = [quantity(engines[engine]) for engines in tables.values()]
        ax.plot(nodes, values, **marks(engine, style))
    ax.set_xscale("log")
    wide = len({len(sizes) for sizes in tables}) > 1
    ax.set_xticks([4, 10, 20, 50, 100, 200, 400] if wide else [4, 6, 10, 20, 30, 40, 60, 80, 100, 150, 250, 400])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    nodes = [math.prod(sizes) for sizes in tables]
    ax.set_xlim(min(nodes) / 1.15, max(nodes) * 1.15)
    ax.set_xlabel("nodes")
    polish(ax)


def marks(engine: str, style: Style) -> dict[str, Any]:
    """Style of the points of an engine."""
    hollow = engine == GENETIC
    return {
        "color": style.color,
        "marker": style.marker,
        "markersize": 6 if hollow else 4,
        "markerfacecolor": "none" if hollow else style.color,
        "linestyle": "none",
        "alpha": 0.8,
    }


def draw_budget(ax: Axes) -> None:
    """Draw the study's budget of a quarter of a second, and the tori that its SSSP finishes in that time."""
    ax.set_yscale("log")
    ax.axhline(0.25, color="#CC79A7", linewidth=1, linestyle=":")
    for nodes, text in ((90, "4D"), (150, "3D")):
        ax.plot([nodes], [0.25], **PUBLISHED)
        ax.annotate(text, (nodes, 0.25), xytext=(0, 9), textcoords="offset points", ha="center", fontsize=8)
    ax.set_ylabel("time to make a table (CPU s)")
    ax.set_title("run time (stars: published, SSSP)", fontweight="bold")


def draw_communication(ax: Axes, rows: Sequence[Row], published: Mapping[str, float]) -> None:
    """Draw the speed of each kind of communication relative to BFS, as bars for the two other engines."""
    for k, kind in enumerate(KINDS):
        known = published.get(f"speedup_{kind}")
        for offset, engine in ((-0.19, GENETIC), (0.19, SSSP)):
            value = 100 * (speedup(rows, kind, engine) - 1)
            ax.barh(k + offset, value, 0.36, color=STYLES[engine].color)
            star = 100 * (known - 1) + 3 if known and engine == SSSP else 0
            if star:
                ax.plot([star - 3], [k + offset], **{**PUBLISHED, "markersize": 10})
            # The number is next to the bar, but not on a star.
            at = max(value, 0) if abs(max(value, 0) - star + 3) > 15 else max(value, star)
            ax.annotate(f"{value:+.1f}", (at, k + offset), xytext=(3, 0), textcoords="offset points",
                        va="center", fontsize=7, color="#444444")  # fmt: skip
    ax.set_yticks(range(len(KINDS)), list(KINDS.values()))
    ax.invert_yaxis()
    ax.axvline(0, color="#333333", linewidth=0.8)
    ax.margins(x=0.12)
    ax.set_xlabel("speedup relative to BFS (%)")
    ax.set_title("simulated, " + "x".join(map(str, STUDIED)), fontweight="bold")
    polish(ax)
    ax.grid(False, axis="y")


def by_torus(rows: Sequence[Row]) -> dict[Sizes, dict[str, Row]]:
    """The tables: for each torus a row per engine.

    Raises:
        ValueError: an engine has no row for a torus.
    """
    tables: dict[Sizes, dict[str, Row]] = {}
    for row in rows:
        if row.get("engine.name"):
            tables.setdefault(tuple(int(size) for size in row["topology.sizes"]), {})[row["engine.name"]] = row
    for sizes, engines in tables.items():
        if missing := set(ENGINES) - set(engines):
            raise ValueError(f"no table of {', '.join(sorted(missing))} for the torus {sizes}")
    return tables


def of_dimensions(tables: Mapping[Sizes, dict[str, Row]], dimensions: int) -> dict[Sizes, dict[str, Row]]:
    """The tables of tori with a number of dimensions."""
    return {sizes: engines for sizes, engines in tables.items() if len(sizes) == dimensions}


def gain(tables: Mapping[Sizes, Mapping[str, Row]], other: str) -> float:
    """The reduction of the indices of SSSP relative to another engine, over all tori: 0.1 = a tenth less."""
    total = {
        engine: sum(engines[engine]["edge_forwarding_index"] for engines in tables.values()) for engine in (SSSP, other)
    }
    return float(1 - total[SSSP] / total[other])


def rate(rows: Sequence[Row], kind: str, engine: str) -> float:
    """The speed of a kind of communication: the highest load that is carried, or the inverse of a job's time.

    A load is carried if its p99 latency is at most ten times the lowest p99 latency of all loads. With a growing
    backlog, the latency exceeds this limit.

    Raises:
        ValueError: there is no row, or no load is carried.
    """
    flows = [row for row in rows if row.get("traffic.name") == "flows" and pattern(row) == kind]
    unloaded = min((row["packet_latency_p99_ns"] for row in flows), default=0.0)
    found = [
        float(row["traffic.load"])
        for row in flows
        if row["routing.engine"] == engine and row["packet_latency_p99_ns"] <= CARRIED * unloaded
    ]
    key = f"jobs.{kind}.finish_ns"
    found += [1 / float(row[key]) for row in rows if row.get(key) and row["routing.engine"] == engine]
    if not found:
        raise ValueError(f"no row for {kind} under {engine}")
    return max(found)


def pattern(row: Row) -> str:
    """The kind of communication of a row of flows. In a shift, the distance is the same for all terminals."""
    sources, destinations = row["traffic.sources"], row["traffic.destinations"]
    far = {(to - at) % len(sources) for at, to in zip(sources, destinations, strict=True)}
    return "shift" if len(far) == 1 else "tornado"


def speedup(rows: Sequence[Row], kind: str, engine: str) -> float:
    """The ratio of an engine's rate to that of BFS."""
    return rate(rows, kind, engine) / rate(rows, kind, BFS)


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    tables = by_torus(rows)
    some = {dimensions: of_dimensions(tables, dimensions) for dimensions in (2, 3, 4)}
    better = [
        engines[SSSP]["edge_forwarding_index"] <= engines[BFS]["edge_forwarding_index"] for engines in tables.values()
    ]
    found: dict[str, float | None] = {
        **{f"sssp_below_bfs_{d}d": gain(some[d], BFS) for d in some},
        **{f"sssp_below_genetic_{d}d": gain(some[d], GENETIC) for d in (3, 4)},
        "sssp_not_above_bfs": float(np.mean(better)),
        "sssp_seconds_3d": slowest(some[3], 150),
        "sssp_seconds_4d": slowest(some[4], 90),
        **{f"speedup_{kind}": speedup(rows, kind, SSSP) for kind in KINDS if kind != "shift"},
    }
    for engine, name in zip(ENGINES, ("bfs", "genetic", "sssp"), strict=True):
        row = tables[STUDIED][engine]
        found |= {f"efi_{name}": row["edge_forwarding_index"], f"deviation_{name}": row["load_deviation"]}
    return found


def slowest(tables: Mapping[Sizes, Mapping[str, Row]], nodes: int) -> float:
    """The longest time of SSSP on tori with at most `nodes` nodes, in CPU seconds."""
    return max(float(e[SSSP]["route_cpu_seconds"]) for sizes, e in tables.items() if math.prod(sizes) <= nodes)


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of all tori by dimensions, of the study's systems, and of the simulated communication."""
    tables = by_torus(rows)
    lines = [
        "## Tori\n",
        "| dimensions | tori | engine | sum of edge forwarding indices | mean deviation / mean load | CPU s, all |",
        "|---" * 6 + "|",
    ]
    for dimensions in (2, 3, 4):
        some = of_dimensions(tables, dimensions)
        for engine in ENGINES:
            column = [engines[engine] for engines in some.values()]
            deviation = np.mean([row["load_deviation"] / row["load_mean"] for row in column])
            lines.append(
                f"| {dimensions} | {len(some)} | {STYLES[engine].label} | "
                f"{sum(row['edge_forwarding_index'] for row in column):,.0f} | {deviation:.3f} | "
                f"{sum(row['route_cpu_seconds'] for row in column):.2f} |"
            )
    lines += [
        "\n## The study's systems: greatest/least load, deviation\n",
        "| torus | BFS | genetic | SSSP |",
        "|---" * 4 + "|",
    ]
    for sizes in ((4, 2), (4, 2, 2), STUDIED):
        cells = [
            f"{row['edge_forwarding_index']:.0f}/{row['load_least']:.0f}, {row['load_deviation']:.3f}"
            for engine in ENGINES
            if (row := tables.get(sizes, {}).get(engine))
        ]
        if cells:
            lines.append(f"| {'x'.join(map(str, sizes))} | {' | '.join(cells)} |")
    lines += ["\n## Communication, relative to BFS\n", "| kind | genetic | SSSP |", "|---" * 3 + "|"]
    for kind, label in KINDS.items():
        lines.append(f"| {label} | {speedup(rows, kind, GENETIC):.3f} | {speedup(rows, kind, SSSP):.3f} |")
    return "\n".join(lines) + "\n"
