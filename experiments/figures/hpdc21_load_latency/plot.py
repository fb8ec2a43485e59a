"""Draws the load-latency figure from rows, and computes the numbers that the paper states."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...metrics import peak_throughput
from ...plotting.drawing import (
    BANDS,
    PUBLISHED,
    Row,
    curve,
    draw_curves,
    legend_above,
    polish,
    routings,
    select,
    style_of,
)
from ...plotting.markdown import every_curve
from ...plotting.patterns import title_of

OVER_SEEDS = BANDS
PATTERNS = ("uniform", "adversarial1", "adversarial4")
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
    """One column of panels per pattern, one row of panels per quantity, one curve per routing.

    Raises:
        ValueError: a routing has no row for a pattern.
    """
    figure = Figure(figsize=(11, 12), layout="constrained")
    panels = figure.subplots(len(QUANTITIES), len(PATTERNS), sharex="col", sharey="row", squeeze=False)
    names = routings(rows)
    for column, pattern in enumerate(PATTERNS):
        for line, (quantity, label) in enumerate(QUANTITIES.items()):
            ax = panels[line, column]
            draw_curves(ax, rows, pattern, quantity)
            draw_references(ax, pattern, quantity, expected)
            polish(ax)
            if column == 0:
                ax.set_ylabel(label)
            if line == 0:
                ax.set_title(title_of(pattern), fontweight="bold")
        panels[-1, column].set_xlabel("offered load")
    # A limit stops a shared axis from growing, so it is set after every panel of the row is drawn.
    panels[list(QUANTITIES).index("accepted_load"), 0].set_ylim(bottom=0)
    legend_above(
        figure,
        names,
        [
            Line2D([], [], label="published", **PUBLISHED),
            Line2D([], [], marker="o", color="#444444", label="authors' simulator", **_HOLLOW),
            Line2D([], [], color="#888888", linewidth=0.8, linestyle="-.", label="analytic bound"),
        ],
    )  # fmt: skip
    return figure


def draw_references(ax: Axes, pattern: str, quantity: str, expected: Mapping[str, Any]) -> None:
    """Draw bounds as thin lines, published points as stars, and points of the authors' simulator as hollow markers."""
    left, right = ax.get_xlim()
    if quantity == "accepted_load":
        ax.plot([0, right], [0, right], color="#cccccc", linewidth=0.8, zorder=1)  # accepted = offered
        for bound in expected["bounds"][pattern]:
            ax.axhline(bound["load"], color="#888888", linewidth=0.8, linestyle="-.", zorder=1)
            # Labels avoid the curves: those of high bounds stand at low offered loads, the others at high ones.
            x, side, shift = (0.0, "left", 3) if bound["load"] > 0.1 else (1.0, "right", 0)
            ax.annotate(bound["label"], (x, bound["load"]), xycoords=("axes fraction", "data"), xytext=(shift, 2),
                        textcoords="offset points", ha=side, fontsize=7, color="#666666")  # fmt: skip
    for point in expected["published"]:
        if (point["pattern"], point["quantity"]) == (pattern, quantity):
            ax.plot(point["offered_load"], point["value"], zorder=5, **PUBLISHED)
    if quantity in _AUTHORS_COLUMNS:
        for point in expected["authors_simulator"]:
            if point[0] == pattern:
                style = style_of(point[1])
                ax.plot(
                    point[2], point[_AUTHORS_COLUMNS[quantity]], style.marker, color=style.color, zorder=4, **_HOLLOW
                )
    ax.set_xlim(left, right)


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""

    def accepted(pattern: str, name: str) -> np.ndarray[Any, Any]:
        return curve(select(rows, pattern, name), "accepted_load")[1]

    def latency(pattern: str, name: str) -> np.ndarray[Any, Any]:
        return curve(select(rows, pattern, name), "packet_latency_mean_ns")[1]

    peaks = {(p, name): peak_throughput(accepted(p, name)) for p in PATTERNS for name in routings(rows)}
    adversarial_hops = curve(select(rows, "adversarial1", "q_adaptive"), "hops_mean")[1]
    best_adaptive = {p: np.min([latency(p, name) for name in _ADAPTIVE], axis=0) for p in PATTERNS}
    most_accepted = {p: np.max([accepted(p, name) for name in _ADAPTIVE], axis=0) for p in PATTERNS}
    return {
        "uniform_q_adaptive_throughput": peaks["uniform", "q_adaptive"],
        "uniform_q_adaptive_latency_ns": _latency_before_saturation(select(rows, "uniform", "q_adaptive")),
        "adversarial1_q_adaptive_throughput": peaks["adversarial1", "q_adaptive"],
        "adversarial1_q_adaptive_hops": float(adversarial_hops[np.argmax(accepted("adversarial1", "q_adaptive"))]),
        "adversarial1_throughput_over_valiant_router": peaks["adversarial1", "q_adaptive"]
        / peaks["adversarial1", "valiant_router"],
        "adversarial1_latency_over_valiant_router": float(
            np.nanmin(latency("adversarial1", "q_adaptive") / latency("adversarial1", "valiant_router"))
        ),
        "best_throughput_over_adaptive": max(
            peaks[p, "q_adaptive"] / max(peaks[p, name] for name in _ADAPTIVE) for p in PATTERNS
        ),
        "best_throughput_over_adaptive_at_equal_load": float(
            max(np.max(accepted(p, "q_adaptive") / most_accepted[p]) for p in PATTERNS)
        ),
        "best_latency_over_adaptive": float(
            max(np.nanmax(best_adaptive[p] / latency(p, "q_adaptive")) for p in PATTERNS)
        ),
        "uniform_latency_over_par": float(np.nanmax(latency("uniform", "par") / latency("uniform", "q_adaptive"))),
        "adversarial1_minimal_throughput": peaks["adversarial1", "minimal"],
        "adversarial4_ugal_group_throughput": peaks["adversarial4", "ugal_group"],
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every curve."""
    return every_curve(rows, PATTERNS)


def _latency_before_saturation(rows: Sequence[Row]) -> float | None:
    loads, accepted = curve(rows, "accepted_load")
    latency = curve(rows, "packet_latency_mean_ns")[1]
    carried = np.flatnonzero(accepted >= 0.98 * loads)
    return float(latency[carried[-1]]) if carried.size else None
