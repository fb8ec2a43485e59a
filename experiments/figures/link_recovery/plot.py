"""Draws latency over time after a permanent failure of links, and measures how soon it is near its new level."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from ...benchmarks.measures import recovery
from ...plotting.drawing import BANDS, Row, draw_band, key_line, latency_axis, polish, select, style_of
from ...plotting.patterns import title_of

POLICY = "dqn_priced"
OVER_SEEDS = f"{BANDS}; marks: means of the times to recover"
ROUTINGS = ("ugal", "q_adaptive", POLICY)
LABELS = {POLICY: f"{POLICY}, one policy for all networks"}
PATTERNS = ("uniform", "adversarial1")
GOAL_US = 20.0
_LEVEL_US = 10.0  # `before` is the mean over this time before the event
_SHOWN_US = (-10.0, 60.0)  # range of the time axis, relative to the event


@dataclass(frozen=True)
class Course:
    """Latency around an event in the runs of one routing; times in us, latencies in ns."""

    time: NDArray[np.float64]  # since the event
    latency: NDArray[np.float64]  # mean over the seeds; NaN where no packet arrived
    of_seeds: NDArray[np.float64]  # the same of every seed, [seeds, intervals]
    before: float  # mean of the last `_LEVEL_US`, averaged over the seeds
    after: float  # the new level: median of the last quarter, averaged over the seeds
    peak: float  # highest interval, averaged over the seeds; exceeds the level even without an event
    recovery: tuple[float, ...]  # time to recover, one per seed


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A row of panels per event, a column per pattern, a line per routing.

    Raises:
        ValueError: a routing has no row for a pattern.
    """
    events = _events(rows)
    figure = Figure(figsize=(10, 3.4 * len(events)), layout="constrained")
    panels = figure.subplots(len(events), len(PATTERNS), squeeze=False)
    for row_of_panels, event in zip(panels, events, strict=True):
        for ax, pattern in zip(row_of_panels, PATTERNS, strict=True):
            draw_panel(ax, rows, pattern, event)
            ax.set_title(f"{title_of(pattern)}, load 0.4, {words_of(event)}", fontweight="bold")
            polish(ax)
        row_of_panels[0].set_ylabel("mean latency per µs (ns)")
    for ax in panels[-1]:
        ax.set_xlabel("time since the failure (µs)")
    handles = [key_line(replace(style, marker="")) for style in map(_style, ROUTINGS)]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=9)
    return figure


def draw_panel(ax: Axes, rows: Sequence[Row], pattern: str, event: str) -> None:
    """Draw latency for one pattern and event, as means over the seeds with 95 % intervals.

    Short marks show when a routing recovers, as means over the seeds.
    """
    for name in ROUTINGS:
        found = course(_at(rows, pattern, name, event))
        style = _style(name)
        shown = (found.time >= _SHOWN_US[0]) & (found.time <= _SHOWN_US[1])
        draw_band(ax, found.time[shown], found.of_seeds.T[shown], style)
        ax.plot(found.time, found.latency, color=style.color, linestyle=style.line, linewidth=style.width * 0.8)
        ax.axvline(float(np.mean(found.recovery)), ymax=0.06, color=style.color, linewidth=style.width)
    ax.axvline(GOAL_US, color="#8a8a8a", linewidth=0.8, linestyle=":")
    latency_axis(ax)
    ax.set_xlim(*_SHOWN_US)


def course(rows: Sequence[Row]) -> Course:
    """Latency around the event, from rows of several seeds."""
    time = np.array(rows[0]["series.time_ns"], dtype=np.float64)
    latency = [np.array(row["series.latency_mean_ns"], dtype=np.float64)[: time.size] for row in rows]
    event_ns = _time_of(_event(rows[0]))
    since = (time - event_ns) / 1000
    after, before = since > 0, (since <= 0) & (since > -_LEVEL_US)
    tail = since > since[-1] * 0.75
    return Course(
        time=since,
        latency=np.array([_of_known(np.mean, values) for values in np.transpose(latency)]),
        of_seeds=np.array(latency),
        before=_of_known(np.mean, [_of_known(np.mean, one[before]) for one in latency]),
        after=_of_known(np.mean, [_of_known(np.median, one[tail]) for one in latency]),
        peak=_of_known(np.mean, [_of_known(np.max, one[after]) for one in latency]),
        recovery=tuple(recovery(time, one, event_ns) / 1000 for one in latency),
    )


def _of_known(number: Callable[[NDArray[np.float64]], Any], values: ArrayLike) -> float:
    """Apply `number` to the intervals in which packets arrived; NaN if there are none."""
    numbers = np.asarray(values, dtype=np.float64)
    known = numbers[np.isfinite(numbers)]
    return float(number(known)) if known.size else math.nan


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    return {
        f"{_kind(event)}_{pattern}_policy_us": max(course(_at(rows, pattern, POLICY, event)).recovery)
        for event in _events(rows)
        for pattern in PATTERNS
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every event, pattern and routing."""
    lines = [
        "## Mean latency in ns, and time until it stays within 10 % of its new level: mean [least, most] of seeds\n",
        "| failure | traffic | routing | before | highest µs | new level | recovered after, µs |",
        "|---|---|---|---|---|---|---|",
    ]
    for event in _events(rows):
        for pattern in PATTERNS:
            for name in ROUTINGS:
                one = course(_at(rows, pattern, name, event))
                lines.append(
                    f"| {words_of(event)} | {title_of(pattern)} | {_style(name).label} | {one.before:,.0f} | "
                    f"{one.peak:,.0f} | {one.after:,.0f} | {np.mean(one.recovery):.1f} "
                    f"[{min(one.recovery):.0f}, {max(one.recovery):.0f}] |"
                )
    return "\n".join(lines) + "\n"


def words_of(event: str) -> str:
    """Describes a failure: one link, named by its routers, or a fraction of all links."""
    what = event.split("@")[0]
    return f"link {what} down" if "-" in what else f"{float(what):.0%} of the links down"


def _kind(event: str) -> str:
    return "one_link" if "-" in event.split("@")[0] else "part"


def _time_of(event: str) -> float:
    found = re.fullmatch(r"[^@]+@([\d.]+)", event)
    if not found:
        raise ValueError(f"failures.events: {event!r} is not of the form links@time, for example 0-8@500000")
    return float(found[1])


def _event(row: Row) -> str:
    given = row["failures.events"]
    return str(given) if isinstance(given, str) else ",".join(map(str, given or ()))


def _events(rows: Sequence[Row]) -> list[str]:
    return sorted({_event(row) for row in rows}, key=_kind)


def _at(rows: Sequence[Row], pattern: str, name: str, event: str) -> list[Row]:
    chosen = [row for row in select(rows, pattern, name) if _event(row) == event]
    if not chosen:
        raise ValueError(f"no row for {event} and routing {name}")
    return chosen


def _style(name: str) -> Any:
    style = style_of(name)
    return replace(style, label=LABELS.get(name, style.label))
