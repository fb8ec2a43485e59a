"""Draws latency against load and saturation throughput with its bounds, and computes the compared numbers."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ...plotting.drawing import BANDS, Row, curve, draw_curves, key_line, legend_of, paper_style, routings, select
from ...plotting.markdown import section
from ...plotting.panels import draw_bars
from ...plotting.players import pattern_of, player_of
from ...plotting.runs import Runs
from ...saturation.search import KIND

OVER_SEEDS = BANDS
_URB_Y = "uniform_random_bisection, dimension=y"
_DCR = "dimension_complement_reverse"
PATTERNS = {
    "uniform": "UR",
    "bit_complement": "BC",
    "uniform_random_bisection": "URBx",
    _URB_Y: "URBy",
    "swap2": "S2",
    _DCR: "DCR",
}

# Upper bounds of the accepted load on 8x8x8 routers with 8 terminals each: 1 / load of the busiest channel (README.md).
# Columns: DOR, any minimal routing, VAL, DimWAR, any routing. The searches know only the first, second and last column.
_BISECTION = (1 / 8, 1 / 8, 1 / 2, 1 / 2, 1 / 2)
_BOUNDS = dict.fromkeys(PATTERNS, _BISECTION) | {
    "uniform": (1, 1, 1 / 2, 1, 1),
    "swap2": (1 / 4, 1 / 4, 1 / 2, 1, 1),
    _DCR: (1 / 64, 1 / 8, 1 / 2, 1 / 16, 1 / 2),
}
# Q-adaptive has the paths of DimWAR. A routing without an entry has the bound of any routing.
_COLUMN = {"dimension_order": 0, "minimal_adaptive": 1, "valiant": 2, "dim_war": 3, "q_adaptive": 3}

# Columns of the searches: the highest carried load, the accepted load there, and the lowest refused load.
CARRIED, THROUGHPUT, REFUSED = "saturation_load", "saturation_accepted", "refused_load"
_LATENCY = "packet_latency_mean_ns"
_BOUND: dict[str, Any] = {"color": "#CC79A7", "linewidth": 2.5, "solid_capstyle": "butt"}
_REFUSED: dict[str, Any] = {"color": "#333333", "linewidth": 1.2}
_LABEL_HEIGHT = 0.13  # height of a number above a bar, in units of the axis


def bound(pattern: str, routing: str) -> float:
    """The accepted load that a routing cannot exceed, in flits per terminal and flit time."""
    return _BOUNDS[pattern][_COLUMN.get(routing, 4)]


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A latency panel per pattern; below them, a bar per pattern and routing."""
    figure = Figure(figsize=(12, 12), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12)  # type: ignore[call-arg, union-attr]
    grid = figure.add_gridspec(3, 3)
    for k, pattern in enumerate(PATTERNS):
        ax = figure.add_subplot(grid[k // 3, k % 3])
        draw_curves(ax, until_saturated(rows, pattern), pattern, _LATENCY)
        ax.set(ylim=(150, 3000), title=PATTERNS[pattern], xlabel="offered load")
        if k % 3 == 0:
            ax.set_ylabel("mean latency (ns)")
        if pattern == _DCR:
            ax.set_xscale("log")  # the bounds of this pattern range from 1/64 to 1/2
            ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda load, _: f"{load:g}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.set_xlabel("offered load (logarithmic)")
        else:
            ax.set_xlim(left=0)
    draw_throughput(figure.add_subplot(grid[2, :]), rows)
    handles = [key_line(paper_style(name)) for name in routings(rows)]
    handles.append(Line2D([], [], label="analytic bound", **_BOUND))
    legend_of(figure, [*handles, Line2D([], [], label="up to the lowest refused load", **_REFUSED)], columns=5)
    return figure


def draw_throughput(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw saturation throughput per pattern and routing, with the lowest refused load and the bound."""
    names, found = routings(rows), searches(rows)
    heights, refused = (
        np.array([[found.mean(key, pattern=p, routing=name) for p in PATTERNS] for name in names])
        for key in (THROUGHPUT, REFUSED)
    )
    styles = [paper_style(name) for name in names]
    places = draw_bars(ax, heights, [style.color for style in styles], list(PATTERNS.values()), width=0.86)
    half = 0.39 / len(names)
    for (k, group), x in np.ndenumerate(places):
        height, end, limit = heights[k, group], refused[k, group], bound(list(PATTERNS)[group], names[k])
        ax.plot([x, x], [height, end], zorder=4, **_REFUSED)
        ax.plot([x - half, x + half], [limit, limit], zorder=3, **_BOUND)
        # The number is drawn above its line, or above the mark if it does not fit below the mark.
        foot = limit if end <= limit < end + _LABEL_HEIGHT else end
        ax.annotate(f"{height:.3f}", (x, foot), xytext=(0, 4), textcoords="offset points", ha="center", va="bottom",
                    rotation=90, fontsize=7, color="#444444")  # fmt: skip
    # A dotted curve shares its colour with another routing, so its bars are hatched.
    for k, style in enumerate(styles):
        for bar in ax.containers[k] if style.line == ":" else ():
            bar.set(facecolor="white", edgecolor=style.color, hatch="/////")
    ax.set_xticks(range(len(PATTERNS)), list(PATTERNS.values()), fontweight="bold")
    ax.set(xlim=(-0.5, len(PATTERNS) - 0.5), ylim=(0, 1.15))
    ax.set_ylabel("saturation throughput\n(accepted at the highest carried load)")


def points(rows: Sequence[Row]) -> list[Row]:
    """A row per simulated load: the runs, and the loads of the searches, which have no hops."""
    every: list[Row] = []
    for row in rows:
        if row.get("kind") != KIND:
            every.append(row)
            continue
        probes = zip(row["probe_load"], row["probe_accepted"], row["probe_latency_ns"], strict=True)
        every += [{**row, "traffic.load": load, "accepted_load": got, _LATENCY: ns} for load, got, ns in probes]
    return every


def searches(rows: Sequence[Row]) -> Runs:
    """The searches by pattern and routing. A search that no load survives has carried nothing."""
    found = ({**row, THROUGHPUT: row[THROUGHPUT] or 0.0} for row in rows if row.get("kind") == KIND)
    return Runs(found, pattern=pattern_of, routing=player_of)


def until_saturated(rows: Sequence[Row], pattern: str) -> list[Row]:
    """The points of a pattern, for each routing up to the highest load that it carries.

    Beyond that load, latency reflects only the length of the run.
    """
    found, every = searches(rows), points(rows)
    last = {name: found.mean(CARRIED, pattern=pattern, routing=name) for name in routings(rows)}
    return [row for name in last for row in select(every, pattern, name) if row["traffic.load"] <= last[name]]


def head_latency(rows: Sequence[Row]) -> float:
    """Mean latency of the head in ns at the lowest load of a curve: packet latency minus serialisation."""
    first = rows[0]
    mean = (first["traffic.packet_bytes"] + first["traffic.packet_bytes_max"]) / 2
    behind_head: float = (mean - first["router.flit_bytes"]) / first["router.link_bandwidth_gb_per_s_host"]
    return float(curve(rows, _LATENCY)[1][0]) - behind_head


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    names, found = routings(rows), searches(rows)
    every, runs = points(rows), [row for row in rows if row.get("kind") != KIND]
    peaks = {(p, name): found.mean(THROUGHPUT, pattern=p, routing=name) for p in PATTERNS for name in names}
    hops = [curve(select(runs, "uniform", name), "hops_mean")[1][0] for name in names if name != "valiant"]
    of_dor = [(p, "dimension_order") for p in PATTERNS if p != "uniform"]
    of_war = [(p, name) for p in ("bit_complement", _URB_Y, "swap2") for name in ("dim_war", "omni_war")]
    accepted = {which: max(curve(select(every, *which), "accepted_load")[1]) for which in peaks}
    return {
        "highest_part_of_the_bound": float(max(most / bound(*which) for which, most in accepted.items())),
        "uniform_head_latency_ns": head_latency(select(runs, "uniform", "dimension_order")),
        "uniform_hops": float(max(hops)),
        "lowest_valiant": min(peaks[p, "valiant"] for p in PATTERNS),
        **{f"{PATTERNS[p]}_{name}": peaks[p, name] for p, name in (*of_dor, *of_war)},
        **{f"URBy_{name}_over_ugal": peaks[_URB_Y, name] / peaks[_URB_Y, "ugal"] for name in ("dim_war", "omni_war")},
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every curve with its bound."""
    heads = ["pattern", "routing", "lowest latency, ns", "carried load", "refused load", "accepted", "bound"]
    every, found, lines = points(rows), searches(rows), []
    for (pattern, title), name in itertools.product(PATTERNS.items(), routings(rows)):
        latency = f"{np.nanmin(curve(select(every, pattern, name), _LATENCY)[1]):,.0f}"
        loads = [found.mean(key, pattern=pattern, routing=name) for key in (CARRIED, REFUSED, THROUGHPUT)]
        limit = bound(pattern, name)
        numbers = [*(f"{load:.3f}" for load in (*loads, limit)), f"{loads[-1] / limit:.1%}"]
        lines.append([title, paper_style(name).label, latency, *numbers])
    return section("Every curve", [*heads, "part of the bound"], lines)
