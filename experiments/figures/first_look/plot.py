"""Draws latency and throughput against load for two classic routings and a trained agent."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...plotting.drawing import BANDS, Row, curve, key_line, legend_of, routings, select, style_of
from ...plotting.markdown import section
from ...plotting.panels import draw_loads

OVER_SEEDS = BANDS
PATTERNS = ("uniform", "adversarial")
QUANTITIES = {"packet_latency_mean_ns": "mean latency (ns)", "accepted_load": "accepted load"}
LABELS = {"ugal_group": "ugal_l"}
COMPARED_AT = 0.4  # offered load


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """One column per pattern, latency above throughput, one curve per routing."""
    figure, _ = draw_loads(rows, dict(zip(PATTERNS, PATTERNS, strict=True)), QUANTITIES, expected["bounds"], (8, 6))
    legend_of(figure, [key_line(replace(style_of(name), label=LABELS.get(name, name))) for name in routings(rows)])
    return figure


def latency_at(rows: Sequence[Row], pattern: str, name: str) -> tuple[float, float]:
    """Mean latency in ns at the offered load nearest to `COMPARED_AT`, and this load."""
    loads, values = curve(select(rows, pattern, name), "packet_latency_mean_ns")
    nearest = int(np.argmin(np.abs(loads - COMPARED_AT)))
    return float(values[nearest]), float(loads[nearest])


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    peaks = {
        name: float(curve(select(rows, "adversarial", name), "accepted_load")[1].max())
        for name in ("minimal", "dqn_dragonfly")
    }
    agent, ugal_l = (latency_at(rows, "adversarial", name)[0] for name in ("dqn_dragonfly", "ugal_group"))
    return {
        "adversarial1_minimal_throughput": peaks["minimal"],
        "adversarial1_agent_throughput": peaks["dqn_dragonfly"],
        "adversarial1_latency_over_ugal_l": agent / ugal_l,
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of mean latencies."""
    names = routings(rows)
    found = {(p, name): latency_at(rows, p, name) for p in PATTERNS for name in names}
    return section(
        f"Mean latency in ns at the offered load nearest to {COMPARED_AT}",
        ["pattern", *(LABELS.get(name, name) for name in names)],
        [[p, *("{:,.0f} at {:g}".format(*found[p, name]) for name in names)] for p in PATTERNS],
    )
