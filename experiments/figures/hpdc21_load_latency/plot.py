"""Draws the load-latency figure from rows, and computes the numbers that the paper states."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ...metrics import saturation_load
from ...plotting.drawing import BANDS, PUBLISHED, Row, curve, key_line, legend_of, paper_style, routings, select
from ...plotting.markdown import section
from ...plotting.panels import BOUND, draw_loads

OVER_SEEDS = BANDS
PATTERNS = {"uniform": "UR", "adversarial": "ADV+1", "adversarial, shift=4": "ADV+4"}
QUANTITIES = {
    "packet_latency_mean_ns": "mean latency (ns)",
    "packet_latency_p99_ns": "99th percentile (ns)",
    "accepted_load": "accepted load",
    "hops_mean": "mean hops",
}
_AUTHORS_COLUMNS = {"accepted_load": 3, "packet_latency_mean_ns": 4, "hops_mean": 5}
_HOLLOW: dict[str, Any] = {"markersize": 8, "markerfacecolor": "none", "linestyle": "none"}
_ADAPTIVE = ("ugal_group", "ugal_router", "par")


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A column of panels per pattern, with points of the paper as stars and of the authors' simulator hollow."""
    figure, panels = draw_loads(rows, PATTERNS, QUANTITIES, expected["bounds"], (11, 12))
    for (line, column), ax in np.ndenumerate(panels):
        pattern, quantity = list(PATTERNS)[column], list(QUANTITIES)[line]
        left, right = ax.get_xlim()
        for point in expected["published"]:
            if (point["pattern"], point["quantity"]) == (pattern, quantity):
                ax.plot(point["offered_load"], point["value"], zorder=5, **PUBLISHED)
        for point in expected["authors_simulator"] if quantity in _AUTHORS_COLUMNS else ():
            if point[0] == pattern:
                look = _HOLLOW | {"marker": paper_style(point[1]).marker, "color": paper_style(point[1]).color}
                ax.plot(point[2], point[_AUTHORS_COLUMNS[quantity]], zorder=4, **look)
        ax.set_xlim(left, right)
    handles = [key_line(paper_style(name)) for name in routings(rows)]
    authors = {"marker": "o", "color": "#444444"} | _HOLLOW
    looks = {"published": PUBLISHED, "authors' simulator": authors, "analytic bound": BOUND}
    legend_of(figure, handles + [Line2D([], [], label=label, **look) for label, look in looks.items()])
    return figure


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""

    def values(pattern: str, name: str, quantity: str = "accepted_load") -> NDArray[np.float64]:
        return curve(select(rows, pattern, name), quantity)[1]

    accepted = {(p, name): values(p, name) for p in PATTERNS for name in routings(rows)}
    latency = {(p, name): values(p, name, "packet_latency_mean_ns") for p in PATTERNS for name in routings(rows)}
    peaks = {which: float(own.max()) for which, own in accepted.items()}
    ours = {p: (p, "q_adaptive") for p in PATTERNS}
    of_rivals = {p: [(p, name) for name in _ADAPTIVE] for p in PATTERNS}
    uniform, adversarial, valiant = ours["uniform"], ours["adversarial"], ("adversarial", "valiant_router")
    loads = curve(select(rows, *uniform), "accepted_load")[0]
    carried = np.flatnonzero(accepted[uniform] >= 0.98 * loads)
    return {
        "uniform_q_adaptive_throughput": peaks[uniform],
        "uniform_q_adaptive_latency_ns": float(latency[uniform][carried[-1]]) if carried.size else None,
        "adversarial1_q_adaptive_throughput": peaks[adversarial],
        "adversarial1_q_adaptive_hops": float(values(*adversarial, "hops_mean")[np.argmax(accepted[adversarial])]),
        "adversarial1_throughput_over_valiant_router": peaks[adversarial] / peaks[valiant],
        "adversarial1_latency_over_valiant_router": float(np.nanmin(latency[adversarial] / latency[valiant])),
        "best_throughput_over_adaptive": max(peaks[ours[p]] / max(peaks[o] for o in of_rivals[p]) for p in PATTERNS),
        "best_throughput_over_adaptive_at_equal_load": float(
            max(np.max(accepted[ours[p]] / np.max([accepted[o] for o in of_rivals[p]], axis=0)) for p in PATTERNS)
        ),
        "best_latency_over_adaptive": float(
            max(np.nanmax(np.min([latency[o] for o in of_rivals[p]], axis=0) / latency[ours[p]]) for p in PATTERNS)
        ),
        "uniform_latency_over_par": float(np.nanmax(latency["uniform", "par"] / latency[uniform])),
        "adversarial1_minimal_throughput": peaks["adversarial", "minimal"],
        "adversarial4_ugal_group_throughput": peaks["adversarial, shift=4", "ugal_group"],
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every curve: its lowest latency, its load at saturation and its highest accepted load."""
    heads = ["pattern", "routing", "lowest latency, ns", "saturates at", "highest accepted load", "hops there"]
    lines = []
    for (pattern, title), name in itertools.product(PATTERNS.items(), routings(rows)):
        quantities = ("accepted_load", "packet_latency_mean_ns", "hops_mean")
        (loads, accepted), (_, latency), (_, hops) = (curve(select(rows, pattern, name), key) for key in quantities)
        saturated = saturation_load(loads, accepted)
        cells = ["-" if saturated is None else f"{saturated:.3f}", f"{accepted.max():.3f}"]
        cells = [f"{np.nanmin(latency):,.0f}", *cells, f"{hops[np.argmax(accepted)]:.2f}"]
        lines.append([title, paper_style(name).label, *cells])
    return section("Every curve", heads, lines)
