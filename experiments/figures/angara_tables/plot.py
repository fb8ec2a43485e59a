"""Draws the load balance of three engines' tables, the run time of the engines, and the speed of communication."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from ...plotting.drawing import PUBLISHED, Row, legend_of
from ...plotting.markdown import section
from ...plotting.panels import draw_bars
from ...plotting.runs import Runs

BFS, GENETIC, SSSP = ENGINES = ("angara_bfs", "angara_genetic", "angara_sssp")
LABELS = {BFS: "BFS", GENETIC: "genetic", SSSP: "SSSP"}
_POINTS: dict[str, Any] = {"markersize": 4, "linestyle": "none", "alpha": 0.8}
STYLES: dict[str, dict[str, Any]] = {
    BFS: _POINTS | {"color": "#8a8a8a", "marker": "^"},
    # Large and hollow, because SSSP is often in the same place.
    GENETIC: _POINTS | {"color": "#E69F00", "marker": "s", "markersize": 6, "markerfacecolor": "none"},
    SSSP: _POINTS | {"color": "#0072B2", "marker": "o"},
}
CARRIED = 10.0  # a load is carried up to this ratio of its p99 latency to the p99 latency without congestion
STUDIED = (4, 2, 2, 2)  # the 32 nodes of the study's machine
# Simulated communication on STUDIED, from the top: jobs by their names, and two patterns of flows.
KINDS = {"alltoall": "all-to-all", "neighbour": "neighbour", "tornado": "tornado", "shift": "shift by 15"}
KINDS |= {kernel: f"{kernel.upper()}-like" for kernel in ("lu", "mg", "cg", "ft", "is")}
Sizes = tuple[int, ...]
Tables = dict[Sizes, dict[str, Row]]
"""The row of each engine, by torus."""


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """The upper row has edge forwarding indices by dimensions; the lower deviation, run time and communication."""
    tables = by_torus(rows)
    published = {entry["id"]: entry["value"] for entry in expected["numbers"]}
    figure = Figure(figsize=(12.5, 7.6), layout="constrained")
    (above, (deviation, run_time, communication)) = figure.subplots(2, 3)
    for ax, dimensions in zip(above, (2, 3, 4), strict=True):
        some = of_dimensions(tables, dimensions)
        top = draw_over_nodes(ax, some, lambda row: row["edge_forwarding_index"] / row["load_mean"])
        known = published[f"sssp_below_bfs_{dimensions}d"]
        text = f"edge forwarding indices, summed:\nSSSP {gain(some, BFS):.0%} below BFS (published: {known:.0%})"
        ax.annotate(text, (0.03, 0.97), xycoords="axes fraction", va="top", fontsize=9, color="#444444")
        ax.set(ylim=(0.95, 0.95 + (top - 0.95) * 1.22), title=f"{len(some)} tori of {dimensions} dimensions")
    above[0].set_ylabel("edge forwarding index / mean load")
    draw_over_nodes(deviation, tables, lambda row: row["load_deviation"] / row["load_mean"])
    deviation.set(ylabel="standard deviation / mean load", title="unevenness of the loads")
    draw_over_nodes(run_time, tables, lambda row: row["route_cpu_seconds"])
    run_time.set_yscale("log")
    # The study's budget of a quarter of a second, and the tori that its SSSP finishes in that time.
    run_time.axhline(0.25, color="#CC79A7", linewidth=1, linestyle=":")
    for nodes, text in ((90, "4D"), (150, "3D")):
        run_time.plot([nodes], [0.25], **PUBLISHED)
        run_time.annotate(text, (nodes, 0.25), xytext=(0, 9), textcoords="offset points", ha="center", fontsize=8)
    run_time.set(ylabel="time to make a table (CPU s)", title="run time (stars: published, SSSP)")
    draw_communication(communication, rows, published)
    handles = [Line2D([], [], label=LABELS[engine], **look) for engine, look in STYLES.items()]
    legend_of(figure, [*handles, Line2D([], [], label="published", **PUBLISHED)])
    return figure


def draw_over_nodes(ax: Axes, tables: Tables, quantity: Callable[[Row], float]) -> float:
    """Draw a point per torus and engine; returns the highest value."""
    nodes, top = [math.prod(sizes) for sizes in tables], 0.0
    for engine, look in STYLES.items():
        values = [quantity(engines[engine]) for engines in tables.values()]
        top = max(top, *values)
        ax.plot(nodes, values, **look)
    ax.set_xscale("log")
    wide = len({len(sizes) for sizes in tables}) > 1
    ax.set_xticks([4, 10, 20, 50, 100, 200, 400] if wide else [4, 6, 10, 20, 30, 40, 60, 80, 100, 150, 250, 400])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set(xlim=(min(nodes) / 1.15, max(nodes) * 1.15), xlabel="nodes")
    return top


def draw_communication(ax: Axes, rows: Sequence[Row], published: Mapping[str, float]) -> None:
    """Draw the speed of each kind of communication relative to BFS, as bars for the two other engines."""
    engines, runs = (GENETIC, SSSP), communication(rows)
    values = np.array([[100 * (speedup(runs, kind, engine) - 1) for kind in KINDS] for engine in engines])
    places = draw_bars(ax, values, [STYLES[e]["color"] for e in engines], list(KINDS.values()), along="y", width=0.76)
    for (e, k), value in np.ndenumerate(values):
        known, at = published.get(f"speedup_{list(KINDS)[k]}"), max(value, 0)
        star = 100 * (known - 1) if known and engines[e] == SSSP else None
        if star is not None:
            ax.plot([star], [places[e, k]], **{**PUBLISHED, "markersize": 10})
            # The number is next to the bar, but not on the star.
            at = at if abs(at - star) > 15 else max(at, star + 3)
        ax.annotate(f"{value:+.1f}", (at, places[e, k]), xytext=(3, 0), textcoords="offset points",
                    va="center", fontsize=7, color="#444444")  # fmt: skip
    ax.axvline(0, color="#333333", linewidth=0.8)
    ax.margins(x=0.12)
    ax.set(xlabel="speedup relative to BFS (%)", title="simulated, " + "x".join(map(str, STUDIED)))


def by_torus(rows: Sequence[Row]) -> Tables:
    """The tables: for each torus a row per engine."""
    made = [row for row in rows if row.get("engine.name")]
    tables = Runs(made, torus=lambda row: tuple(row["topology.sizes"]), engine="engine.name")
    return {
        sizes: {engine: tables.at(torus=sizes, engine=engine)[0] for engine in ENGINES}
        for sizes in tables.values("torus")
    }


def of_dimensions(tables: Tables, dimensions: int) -> Tables:
    """The tables of tori with a number of dimensions."""
    return {sizes: engines for sizes, engines in tables.items() if len(sizes) == dimensions}


def gain(tables: Tables, other: str) -> float:
    """The reduction of the indices of SSSP relative to another engine, over all tori: 0.1 = a tenth less."""
    sssp, total = (sum(own[e]["edge_forwarding_index"] for own in tables.values()) for e in (SSSP, other))
    return float(1 - sssp / total)


def communication(rows: Sequence[Row]) -> Runs:
    """The simulations by kind of communication and engine."""
    return Runs((row for row in rows if row.get("routing.engine")), kind=_kind, engine="routing.engine")


def _kind(row: Row) -> str:
    """The job of a row, or its pattern of flows. In a shift, the distance is the same for all terminals."""
    if row.get("workload.jobs"):
        return str(row["workload.jobs"][0]["name"])
    sources, destinations = row["traffic.sources"], row["traffic.destinations"]
    far = {(to - at) % len(sources) for at, to in zip(sources, destinations, strict=True)}
    return "shift" if len(far) == 1 else "tornado"


def rate(runs: Runs, kind: str, engine: str) -> float:
    """The speed of a kind of communication: the highest load that is carried, or the inverse of a job's time.

    A load is carried if its p99 latency is at most ten times the lowest p99 latency of all loads. With a growing
    backlog, the latency exceeds this limit.
    """
    own, column = runs.at(kind=kind, engine=engine), "packet_latency_p99_ns"
    if kind not in ("tornado", "shift"):
        return 1 / float(own[0][f"jobs.{kind}.finish_ns"])
    unloaded = min(row[column] for row in runs.at(kind=kind))
    return max(float(row["traffic.load"]) for row in own if row[column] <= CARRIED * unloaded)


def speedup(runs: Runs, kind: str, engine: str) -> float:
    """The ratio of an engine's rate to that of BFS."""
    return rate(runs, kind, engine) / rate(runs, kind, BFS)


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    tables, runs = by_torus(rows), communication(rows)
    some = {dimensions: of_dimensions(tables, dimensions) for dimensions in (2, 3, 4)}
    index = [[engines[engine]["edge_forwarding_index"] for engine in (SSSP, BFS)] for engines in tables.values()]
    studied = {label.lower(): tables[STUDIED][engine] for engine, label in LABELS.items()}
    return {
        **{f"sssp_below_bfs_{d}d": gain(some[d], BFS) for d in some},
        **{f"sssp_below_genetic_{d}d": gain(some[d], GENETIC) for d in (3, 4)},
        "sssp_not_above_bfs": float(np.mean([sssp <= bfs for sssp, bfs in index])),
        "sssp_seconds_3d": slowest(some[3], 150),
        "sssp_seconds_4d": slowest(some[4], 90),
        **{f"speedup_{kind}": speedup(runs, kind, SSSP) for kind in KINDS if kind != "shift"},
        **{f"efi_{name}": row["edge_forwarding_index"] for name, row in studied.items()},
        **{f"deviation_{name}": row["load_deviation"] for name, row in studied.items()},
    }


def slowest(tables: Tables, nodes: int) -> float:
    """The longest time of SSSP on tori with at most `nodes` nodes, in CPU seconds."""
    return max(float(e[SSSP]["route_cpu_seconds"]) for sizes, e in tables.items() if math.prod(sizes) <= nodes)


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of all tori by dimensions, of the study's systems, and of the simulated communication."""
    tables, runs, lines = by_torus(rows), communication(rows), []
    for dimensions, (engine, label) in itertools.product((2, 3, 4), LABELS.items()):
        own = [engines[engine] for engines in of_dimensions(tables, dimensions).values()]
        indices, seconds = (sum(row[key] for row in own) for key in ("edge_forwarding_index", "route_cpu_seconds"))
        deviation = np.mean([row["load_deviation"] / row["load_mean"] for row in own])
        numbers = f"{indices:,.0f}", f"{deviation:.3f}", f"{seconds:.2f}"
        lines.append([str(dimensions), str(len(own)), label, *numbers])

    def loads(row: Row) -> str:
        return f"{row['edge_forwarding_index']:.0f}/{row['load_least']:.0f}, {row['load_deviation']:.3f}"

    systems = [
        ["x".join(map(str, sizes)), *map(loads, tables[sizes].values())]
        for sizes in ((4, 2), (4, 2, 2), STUDIED)
        if sizes in tables
    ]
    speeds = [
        [label, *(f"{speedup(runs, kind, engine):.3f}" for engine in (GENETIC, SSSP))] for kind, label in KINDS.items()
    ]
    sums = ["sum of edge forwarding indices", "mean deviation / mean load", "CPU s, all"]
    parts = [
        section("Tori", ["dimensions", "tori", "engine", *sums], lines),
        section("The study's systems: greatest/least load, deviation", ["torus", *LABELS.values()], systems),
        section("Communication, relative to BFS", ["kind", "genetic", "SSSP"], speeds),
    ]
    return "\n".join(parts)
