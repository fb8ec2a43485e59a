"""Draws latency over time around a failure of links. Checks that no packet is lost and that latency returns."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...plotting.drawing import BANDS, Row, key_line, latency_axis, legend_of, style_of
from ...plotting.markdown import section
from ...plotting.panels import draw_course
from ...plotting.players import pattern_of, player_of
from ...plotting.runs import Runs, course, failure_of

OVER_SEEDS = BANDS
ROUTINGS = ("ugal", "q_adaptive", "dqn_dragonfly")
_LEVEL_US = 10.0  # a level is the mean over this time before an event
_DOWN = "#f3d9d0"


def runs_of(rows: Sequence[Row]) -> Runs:
    """The runs by pattern, routing and load."""
    return Runs(rows, pattern=pattern_of, routing=player_of, load="traffic.load")


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """One panel per load and one line per routing; shading marks the time in which links are down."""
    runs, failure, end = runs_of(rows), failure_of(rows[0]), rows[0]["run.measure_ns"] / 1000
    loads = sorted(runs.values("load"))
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    panels = figure.subplots(1, len(loads), squeeze=False)[0]
    for ax, load in zip(panels, loads, strict=True):
        ax.axvspan(failure.down, failure.up, color=_DOWN, linewidth=0, zorder=0)
        for name in ROUTINGS:
            draw_course(ax, *course(runs.at(pattern="uniform", routing=name, load=load), end), style_of(name))
        latency_axis(ax)
        ax.set(xlim=(0, end), title=f"uniform, load {load:g}", xlabel="time since the start (µs)")
    panels[0].set_ylabel("mean latency per interval (ns)")
    handles = [key_line(replace(style_of(name), marker="")) for name in ROUTINGS]
    legend_of(figure, [*handles, Patch(color=_DOWN, label=f"{float(failure.links):.0%} of the links down")])
    return figure


def levels(rows: Sequence[Row]) -> list[float]:
    """Mean latency in ns before links go down, before they come up, and at the end of the window."""
    failure, end = failure_of(rows[0]), rows[0]["run.measure_ns"] / 1000
    time, latency = course(rows, end)
    ends = (failure.down, failure.up, end)
    return [float(np.mean(latency[:, (time > until - _LEVEL_US) & (time <= until)])) for until in ends]


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    runs = runs_of(rows)
    delivered = [sum(row["series.packets"]) / row["packets_injected"] for row in rows]
    every = itertools.product(ROUTINGS, runs.values("load"))
    found = {(name, load): levels(runs.at(pattern="uniform", routing=name, load=load)) for name, load in every}
    back = [after / before for before, _, after in found.values()]
    rise = {key: during / before for key, (before, during, _) in found.items()}
    highest = max(runs.values("load"))
    return {
        "delivered_over_accepted": max(delivered, key=lambda ratio: abs(ratio - 1)),
        "latency_after_over_before": max(back, key=lambda ratio: abs(ratio - 1)),
        "least_rise": min(rise.values()),
        "ugal_rise": rise["ugal", highest],
        "agent_rise": rise["dqn_dragonfly", highest],
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of the latency levels of every routing and load."""
    runs, lines = runs_of(rows), []
    for load, name in itertools.product(sorted(runs.values("load")), ROUTINGS):
        chosen = runs.at(pattern="uniform", routing=name, load=load)
        missed = np.mean([row["generations_missed"] / row["packets_generated"] for row in chosen])
        lines.append([f"{load:g}", name, *(f"{level:,.0f}" for level in levels(chosen)), f"{missed:.2%}"])
    heads = ["load", "routing", "before", "links down", "at the end", "packets not generated, NIC full"]
    return section(f"Mean latency over {_LEVEL_US:g} us, ns", heads, lines)
