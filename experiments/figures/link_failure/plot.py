"""Draws latency over time around a failure of links. Checks that no packet is lost and that latency returns."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ...plotting.drawing import BANDS, Row, draw_band, key_line, latency_axis, polish, select, style_of

OVER_SEEDS = BANDS
ROUTINGS = ("ugal", "q_adaptive", "dqn_dragonfly")
LABELS = {"dqn_dragonfly": "agent (DQN, trained on 72 terminals)"}
_LEVEL_US = 10.0  # a level is the mean over this time before an event
_DOWN = "#f3d9d0"


@dataclass(frozen=True)
class Event:
    """A fraction `part` of all links is down between two times; times in us."""

    part: float
    down: float
    up: float
    end: float  # of the measurement window


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """One panel per load and one line per routing; shading marks the time in which links are down.

    Raises:
        ValueError: a routing has no row for a load.
    """
    loads = sorted({row["traffic.load"] for row in rows})
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    panels = figure.subplots(1, len(loads), squeeze=False)[0]
    for ax, load in zip(panels, loads, strict=True):
        draw_panel(ax, rows, load)
        ax.set_title(f"UR, load {load:g}", fontweight="bold")
        ax.set_xlabel("time since the start (µs)")
        polish(ax)
    panels[0].set_ylabel("mean latency per interval (ns)")
    part = event_of(rows[0]).part
    handles = [key_line(replace(style, marker="")) for style in map(_style, ROUTINGS)]
    handles.append(Patch(color=_DOWN, label=f"{part:.0%} of the links down"))  # type: ignore[arg-type]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=9)
    return figure


def draw_panel(ax: Axes, rows: Sequence[Row], load: float) -> None:
    """Draw the latency of every routing at one load, as means over the seeds with 95 % intervals."""
    event = event_of(rows[0])
    ax.axvspan(event.down, event.up, color=_DOWN, linewidth=0, zorder=0)
    for name in ROUTINGS:
        time, latency = course(_at(rows, name, load))
        style = _style(name)
        draw_band(ax, time, latency.T, style)
        ax.plot(time, latency.mean(axis=0), color=style.color, linestyle=style.line, linewidth=style.width * 0.8)
    latency_axis(ax)
    ax.set_xlim(0, event.end)


def course(rows: Sequence[Row]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time in us, and latency in ns within the window, [seeds, intervals]."""
    end = min(event_of(row).end for row in rows)
    times = [np.array(row["series.time_ns"], dtype=float) / 1000 for row in rows]  # a run ends when it has drained
    latency = [
        np.array(row["series.latency_mean_ns"], dtype=float)[time <= end] for row, time in zip(rows, times, strict=True)
    ]
    return times[0][times[0] <= end], np.array(latency)


def event_of(row: Row) -> Event:
    """The failure of a run.

    Raises:
        ValueError: the run has no failure, or a failure without an end.
    """
    given = row["failures.events"]
    text = given if isinstance(given, str) else ",".join(given or ())
    found = re.search(r"([\d.]+)@([\d.]+)-([\d.]+)", text)
    if not found:
        raise ValueError(f"failures.events: {given!r} is not of the form fraction@from-to, as in 0.05@60000-90000")
    part, down, up = map(float, found.groups())
    return Event(part, down / 1000, up / 1000, row["run.measure_ns"] / 1000)


def levels(rows: Sequence[Row]) -> tuple[float, float, float]:
    """Mean latency in ns before links go down, before they come up, and at the end of the window."""
    event, (time, latency) = event_of(rows[0]), course(rows)
    before, during, after = (
        float(np.mean(latency[:, (time > until - _LEVEL_US) & (time <= until)]))
        for until in (event.down, event.up, event.end)
    )
    return before, during, after


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    delivered = [sum(row["series.packets"]) / row["packets_injected"] for row in rows]
    loads = sorted({row["traffic.load"] for row in rows})
    found = {(name, load): levels(_at(rows, name, load)) for name in ROUTINGS for load in loads}
    back = [after / before for before, _, after in found.values()]
    rise = {key: during / before for key, (before, during, _) in found.items()}
    return {
        "delivered_over_accepted": max(delivered, key=lambda ratio: abs(ratio - 1)),
        "latency_after_over_before": max(back, key=lambda ratio: abs(ratio - 1)),
        "least_rise": min(rise.values()),
        "ugal_rise": rise["ugal", loads[-1]],
        "agent_rise": rise["dqn_dragonfly", loads[-1]],
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of the latency levels of every routing and load."""
    lines = [
        f"## Mean latency over {_LEVEL_US:g} us, ns\n",
        "| load | routing | before | links down | at the end | packets not generated, NIC full |",
        "|---|---|---|---|---|---|",
    ]
    for load in sorted({row["traffic.load"] for row in rows}):
        for name in ROUTINGS:
            chosen = _at(rows, name, load)
            cells = " | ".join(f"{level:,.0f}" for level in levels(chosen))
            missed = np.mean([row["generations_missed"] / row["packets_generated"] for row in chosen])
            lines.append(f"| {load:g} | {_style(name).label} | {cells} | {missed:.2%} |")
    return "\n".join(lines) + "\n"


def _at(rows: Sequence[Row], name: str, load: float) -> list[Row]:
    chosen = [row for row in select(rows, "uniform", name) if row["traffic.load"] == load]
    if not chosen:
        raise ValueError(f"no row for load {load:g} and routing {name}")
    return chosen


def _style(name: str) -> Any:
    style = style_of(name)
    return replace(style, label=LABELS.get(name, style.label))
