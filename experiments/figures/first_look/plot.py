"""Draws latency and throughput against load for two classic routings and a trained agent."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...metrics import peak_throughput
from ...plotting.drawing import BANDS, Row, curve, draw_curves, key_line, polish, routings, select, style_of
from ...plotting.patterns import title_of

OVER_SEEDS = BANDS
PATTERNS = ("uniform", "adversarial1")
QUANTITIES = {"packet_latency_mean_ns": "mean latency (ns)", "accepted_load": "accepted load"}
LABELS = {"minimal": "minimal", "ugal_group": "UGAL-L", "dqn_dragonfly": "agent (DQN, trained)"}
COMPARED_AT = 0.4  # offered load


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """One column per pattern, latency above throughput, one curve per routing.

    Raises:
        ValueError: a routing has no row for a pattern.
    """
    figure = Figure(figsize=(8, 6), layout="constrained")
    panels = figure.subplots(len(QUANTITIES), len(PATTERNS), sharex="col", sharey="row", squeeze=False)
    for column, pattern in enumerate(PATTERNS):
        for line, (quantity, label) in enumerate(QUANTITIES.items()):
            ax = panels[line, column]
            draw_curves(ax, rows, pattern, quantity)
            polish(ax)
            if column == 0:
                ax.set_ylabel(label)
        most = max(row["traffic.load"] for row in select(rows, pattern))
        panels[-1, column].plot([0, most], [0, most], color="#cccccc", linewidth=0.8, zorder=1)  # accepted = offered
        for bound in expected["bounds"][pattern]:
            panels[-1, column].axhline(bound["load"], color="#888888", linewidth=0.8, linestyle="-.", zorder=1)
            panels[-1, column].annotate(bound["label"], (1.0, bound["load"]), xycoords=("axes fraction", "data"),
                                        xytext=(0, 2), textcoords="offset points", ha="right", fontsize=7,
                                        color="#666666")  # fmt: skip
        panels[0, column].set_title(title_of(pattern), fontweight="bold")
        panels[-1, column].set_xlabel("offered load")
    panels[-1, 0].set_ylim(bottom=0)
    handles = [key_line(replace(style_of(name), label=_label(name))) for name in routings(rows)]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=9)
    return figure


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""

    def at(name: str, quantity: str) -> float:
        loads, values = curve(select(rows, "adversarial1", name), quantity)
        return float(values[np.argmin(np.abs(loads - COMPARED_AT))])

    def peak(name: str) -> float:
        return peak_throughput(curve(select(rows, "adversarial1", name), "accepted_load")[1])

    return {
        "adversarial1_minimal_throughput": peak("minimal"),
        "adversarial1_agent_throughput": peak("dqn_dragonfly"),
        "adversarial1_latency_over_ugal_l": at("dqn_dragonfly", "packet_latency_mean_ns")
        / at("ugal_group", "packet_latency_mean_ns"),
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of mean latencies at the offered load nearest to `COMPARED_AT`."""
    lines = [f"## Mean latency in ns at the offered load nearest to {COMPARED_AT}\n"]
    names = routings(rows)
    lines += [f"| pattern | {' | '.join(map(_label, names))} |", "|---" * (1 + len(names)) + "|"]
    for pattern in PATTERNS:
        cells = []
        for name in names:
            loads, latency = curve(select(rows, pattern, name), "packet_latency_mean_ns")
            nearest = int(np.argmin(np.abs(loads - COMPARED_AT)))
            cells.append(f"{latency[nearest]:,.0f} at {loads[nearest]:g}")
        lines.append(f"| {title_of(pattern)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _label(name: str) -> str:
    return LABELS.get(name, style_of(name).label)
