"""Draws the result of each mapping on each network: hops, busiest channel, time of an exchange, and CPU time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...metrics import Interval, mean_interval, ratio_interval
from ...plotting.drawing import Row, polish

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
_CONGESTION = "mapping.worst_congestion_bytes"
_SECONDS = ("mapping.mapper_cpu_seconds", "mapping.refine_cpu_seconds")

Cells = dict[tuple[str, str, str, str], Interval]
"""Means over the placements and their 95 % intervals, by (network, application, mapping, quantity)."""

QUANTITIES = {
    "dilation": "average dilation (hops)",
    "congestion": "busiest channel / random",
    "time": "time of an exchange / random",
    "seconds": "CPU seconds of the mapping",
}


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A row of panels per network, and a bar per mapping and application.

    A thin line is the 95 % interval over the placements, if there are several.

    Raises:
        ValueError: a mapping has no row for a network and an application.
    """
    found = cells(rows)
    figure = Figure(figsize=(13, 8.6), layout="constrained")
    panels = figure.subplots(len(NETWORKS), len(QUANTITIES), sharey=True)
    height = 0.8 / len(APPLICATIONS)
    for line, (network, title) in zip(panels, NETWORKS.items(), strict=True):
        for ax, (quantity, label) in zip(line, QUANTITIES.items(), strict=True):
            for k, (application, (_, color)) in enumerate(APPLICATIONS.items()):
                values = [found[network, application, name, quantity] for name in MAPPINGS]
                at = np.arange(len(MAPPINGS)) + (k - 0.5) * height
                ax.barh(at, [value.value for value in values], height * 0.92, color=color)
                ax.hlines(at, [value.low for value in values], [value.high for value in values], "#333333", linewidth=1)
                for y, value in zip(at, values, strict=True):
                    end = np.fmax(value.value, value.high)  # a single placement has no interval
                    ax.annotate(_text(value.value), (end, y), xytext=(2, 0), textcoords="offset points", va="center",
                                fontsize=6.5, color="#444444")  # fmt: skip
            if quantity == "seconds":
                ax.set_xscale("log")
                ax.set_xlim(1e-4, 100)
            else:
                ends = [found[network, a, m, quantity] for a in APPLICATIONS for m in MAPPINGS]
                ax.set_xlim(0, 1.14 * np.nanmax(ends))
            if (network, quantity) == ("torus", "dilation"):
                for dilation in published(expected):
                    ax.axvline(dilation, color="#CC79A7", linewidth=1, linestyle=":", zorder=0)
            if ax in panels[-1]:
                ax.set_xlabel(label)
            polish(ax)
            ax.grid(False, axis="y")
            ax.tick_params(axis="y", length=0)
        line[0].set_title(title, fontweight="bold", loc="left")
        line[0].set_yticks(range(len(MAPPINGS)), list(MAPPINGS.values()))
        line[0].invert_yaxis()
    handles: list[Any] = [Patch(color=color, label=label) for label, color in APPLICATIONS.values()]
    handles.append(Line2D([], [], color="#CC79A7", linestyle=":", label="published for nlpkkt240, mappings not named"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=9)
    return figure


def published(expected: Mapping[str, Any]) -> list[float]:
    """The dilations that the study gives for nlpkkt240 on the 12x12x12 torus."""
    return [float(value) for value in expected["published_dilations"]]


def cells(rows: Sequence[Row]) -> Cells:
    """Every quantity of every mapping; congestion and time are relative to the random placement.

    Raises:
        ValueError: a mapping has no row for a network and an application.
    """
    found: Cells = {}
    for network in NETWORKS:
        for application in APPLICATIONS:
            own = [row for row in rows if (row["topology.name"], _application(row)) == (network, application)]
            own.sort(key=lambda row: row["workload.placement_seed"])  # pairs the runs of a placement
            for name in MAPPINGS:
                chosen = [row for row in own if mapping_of(row) == name]
                if not chosen:
                    raise ValueError(f"no row for network {network}, application {application} and mapping {name}")
                at = (network, application, name)
                found[*at, "dilation"] = mean_interval([row["mapping.dilation"] for row in chosen])
                found[*at, "seconds"] = mean_interval([sum(row[key] for key in _SECONDS) for row in chosen])
                random = [row for row in own if mapping_of(row) == "random"]
                for quantity, key in (("congestion", _CONGESTION), ("time", f"jobs.{application}.finish_ns")):
                    found[*at, quantity] = ratio_interval([row[key] for row in chosen], [row[key] for row in random])
    return found


def mapping_of(row: Row) -> str:
    """The key in `MAPPINGS` of the mapping that a run uses."""
    if row["workload.mapping_terminals"] == "random":
        return "random"
    refined = row["workload.mapping_refine"] != "none"
    return f"{row['workload.mapping']}{'+' if refined else ''}"


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
    face = next(row["workload.jobs"][0] for row in exact)
    refined = [at(name, "dilation") for name in MAPPINGS if name.endswith("+")]
    ratios = [
        at(f"{name}+", "dilation", application, network) / at(name, "dilation", application, network)
        for name in ("greedy", "recursive")
        for application in APPLICATIONS
        for network in NETWORKS
    ]
    return {
        "random_dilation": at("random", "dilation"),
        "rcm_dilation": at("rcm", "dilation"),
        "greedy_dilation": at("greedy", "dilation"),
        "recursive_dilation": at("recursive", "dilation"),
        "refined_dilation": min(refined),
        "identity_dilation": at("in_order", "dilation", "halo"),
        "identity_congestion": own / (face["bytes"] * face["size_scale"]),
        "refined_over_start": max(ratios),
        "best_time": min(at(name, "time") for name in MAPPINGS),
        "rcm_seconds": at("rcm", "seconds"),
        "greedy_seconds": at("greedy", "seconds"),
        "recursive_seconds": at("recursive", "seconds"),
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of every quantity, one per network and application."""
    found = cells(rows)
    lines = []
    for network, title in NETWORKS.items():
        for application, (label, _) in APPLICATIONS.items():
            lines += [f"\n## {title}, {label}\n", f"| mapping | {' | '.join(QUANTITIES.values())} |", "|---" * 5 + "|"]
            for name, called in MAPPINGS.items():
                values = (f"{found[network, application, name, quantity].value:.3g}" for quantity in QUANTITIES)
                lines.append(f"| {called} | {' | '.join(values)} |")
    lines.append(f"\nAll {len(rows)} runs took {sum(row['cpu_seconds'] for row in rows):,.0f} CPU seconds.")
    return "\n".join(lines) + "\n"
