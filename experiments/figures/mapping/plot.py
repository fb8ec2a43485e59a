"""Draws the result of each mapping on each network: hops, busiest channel, time of an exchange, and CPU time."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...metrics import Interval, mean_interval, ratio_interval
from ...plotting.drawing import Row, legend_of
from ...plotting.markdown import cost, section
from ...plotting.panels import draw_bars
from ...plotting.runs import Runs

OVER_SEEDS = "thin lines: 95 % intervals over the placements"
APPLICATIONS = {"kkt": ("KKT matrix (as nlpkkt240)", "#0072B2"), "halo": ("faces of a 3-D grid", "#E69F00")}
NETWORKS = {"torus": "12x12x12 torus", "fat_tree": "fat tree, 1,024", "dragonfly": "Dragonfly, 1,056"}
MAPPINGS = {
    "random": "random",
    "in_order": "in order",
    "rcm": "RCM",
    "greedy": "greedy",
    "multicore": "multicore",
    "recursive": "recursive",
    "greedy+": "greedy, refined",
    "recursive+": "recursive, refined",
}
QUANTITIES = {
    "dilation": "average dilation (hops)",
    "congestion": "busiest channel / random",
    "time": "time of an exchange / random",
    "seconds": "CPU seconds of the mapping",
}
_CONGESTION = "mapping.worst_congestion_bytes"
_PUBLISHED: dict[str, Any] = {"color": "#CC79A7", "linestyle": ":"}

Cells = dict[tuple[str, str, str, str], Interval]
"""Means over the placements and their 95 % intervals, by (network, application, mapping, quantity)."""


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A row of panels per network, and a bar per mapping and application."""
    found, colors = cells(rows), [color for _, color in APPLICATIONS.values()]
    figure = Figure(figsize=(13, 8.6), layout="constrained")
    panels = figure.subplots(len(NETWORKS), len(QUANTITIES), sharey=True)
    for ax, (network, quantity) in zip(panels.flat, itertools.product(NETWORKS, QUANTITIES), strict=True):
        own = np.array([[found[network, a, name, quantity] for name in MAPPINGS] for a in APPLICATIONS])
        draw_bars(ax, own[..., 0], colors, list(MAPPINGS.values()), along="y", ends=own[..., 1:], text=_text)
        if quantity == "seconds":
            ax.set_xscale("log")
            ax.set_xlim(1e-4, 100)
        else:
            ax.set_xlim(0, 1.14 * np.nanmax(own))
    for entry in expected["numbers"]:
        if entry["id"] in ("rcm_dilation", "greedy_dilation", "recursive_dilation", "refined_dilation"):
            panels[0, 0].axvline(entry["value"], linewidth=1, zorder=0, **_PUBLISHED)
    for ax, title in zip(panels[:, 0], NETWORKS.values(), strict=True):
        ax.set_title(title, fontweight="bold", loc="left")
    for ax, label in zip(panels[-1], QUANTITIES.values(), strict=True):
        ax.set_xlabel(label)
    handles = [Patch(color=color, label=label) for label, color in APPLICATIONS.values()]
    legend_of(figure, [*handles, Line2D([], [], label="published for nlpkkt240, mappings not named", **_PUBLISHED)])
    return figure


def cells(rows: Sequence[Row]) -> Cells:
    """Every quantity of every mapping; congestion and time are relative to the random placement."""
    ordered = sorted(rows, key=lambda row: row["workload.placement_seed"])  # pairs the runs of a placement
    runs = Runs(ordered, network="topology.name", application=_application, mapping=mapping_of)
    found: Cells = {}
    for network, application, name in itertools.product(NETWORKS, APPLICATIONS, MAPPINGS):
        chosen, random = (runs.at(network=network, application=application, mapping=one) for one in (name, "random"))
        seconds = [row["mapping.mapper_cpu_seconds"] + row["mapping.refine_cpu_seconds"] for row in chosen]
        at = (network, application, name)
        found[*at, "dilation"] = mean_interval([row["mapping.dilation"] for row in chosen])
        found[*at, "seconds"] = mean_interval(seconds)
        for quantity, key in (("congestion", _CONGESTION), ("time", f"jobs.{application}.finish_ns")):
            found[*at, quantity] = ratio_interval([row[key] for row in chosen], [row[key] for row in random])
    return found


def mapping_of(row: Row) -> str:
    """The key in `MAPPINGS` of the mapping that a run uses."""
    if row["workload.mapping_terminals"] == "random":
        return "random"
    return f"{row['workload.mapping']}{'+' if row['workload.mapping_refine'] != 'none' else ''}"


def _application(row: Row) -> str:
    return next(name for name in APPLICATIONS if row.get(f"jobs.{name}.finish_ns") is not None)


def _text(value: float) -> str:
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    found = cells(rows)

    def at(mapping: str, quantity: str, application: str = "kkt", network: str = "torus") -> float:
        return found[network, application, mapping, quantity].value

    exact = [row for row in rows if row["topology.name"] == "torus" and _application(row) == "halo"]
    (own,) = {row[_CONGESTION] for row in exact if mapping_of(row) == "in_order"}
    face = exact[0]["workload.jobs"][0]
    every = itertools.product(("greedy", "recursive"), APPLICATIONS, NETWORKS)
    ratios = [at(f"{name}+", "dilation", *where) / at(name, "dilation", *where) for name, *where in every]
    return {
        **{f"{name}_dilation": at(name, "dilation") for name in ("random", "rcm", "greedy", "recursive")},
        "refined_dilation": min(at(name, "dilation") for name in MAPPINGS if name.endswith("+")),
        "identity_dilation": at("in_order", "dilation", "halo"),
        "identity_congestion": own / (face["bytes"] * face["size_scale"]),
        "refined_over_start": max(ratios),
        "best_time": min(at(name, "time") for name in MAPPINGS),
        **{f"{name}_seconds": at(name, "seconds") for name in ("rcm", "greedy", "recursive")},
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of every quantity, one per network and application."""
    found, parts = cells(rows), []
    for (network, title), (application, (label, _)) in itertools.product(NETWORKS.items(), APPLICATIONS.items()):
        lines = [
            [called, *(f"{found[network, application, name, quantity].value:.3g}" for quantity in QUANTITIES)]
            for name, called in MAPPINGS.items()
        ]
        parts.append(section(f"{title}, {label}", ["mapping", *QUANTITIES.values()], lines))
    return "\n".join([*parts, cost(rows)])
