"""Draws latency over time after a permanent failure of links, and measures how soon it is near its new level."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...benchmarks.measures import recovery
from ...plotting.drawing import BANDS, Row, key_line, latency_axis, legend_of, style_of
from ...plotting.markdown import section
from ...plotting.panels import draw_course
from ...plotting.players import pattern_of, player_of
from ...plotting.runs import Failure, Runs, course, failure_of, mean_of_known

POLICY = "dqn_priced"
OVER_SEEDS = f"{BANDS}; marks: means of the times to recover"
ROUTINGS = ("ugal", "q_adaptive", POLICY)
PATTERNS = ("uniform", "adversarial")
GOAL_US = 20.0
_LEVEL_US = 10.0  # `before` is the mean over this time before the event
_SHOWN_US = (-10.0, 60.0)  # range of the time axis, relative to the event


@dataclass(frozen=True)
class Course:
    """Latency around an event in the runs of one routing; times in us, latencies in ns."""

    time: NDArray[np.float64]  # since the event
    latency: NDArray[np.float64]  # [seeds, intervals]; NaN where no packet arrived
    before: float  # mean of the last `_LEVEL_US`, averaged over the seeds
    after: float  # the new level: median of the last quarter, averaged over the seeds
    peak: float  # highest interval, averaged over the seeds; exceeds the level even without an event
    recovery: list[float]  # time to recover, one per seed


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A row of panels per failure, a column per pattern, a line per routing; marks show when a routing recovers."""
    runs, failures = runs_of(rows)
    figure = Figure(figsize=(10, 3.4 * len(failures)), layout="constrained")
    panels = figure.subplots(len(failures), len(PATTERNS), squeeze=False)
    for line, failure in zip(panels, failures, strict=True):
        for ax, pattern in zip(line, PATTERNS, strict=True):
            for name in ROUTINGS:
                found, style = around(runs.at(pattern=pattern, routing=name, failure=failure)), style_of(name)
                draw_course(ax, found.time, found.latency, style)
                ax.axvline(float(np.mean(found.recovery)), ymax=0.06, color=style.color, linewidth=style.width)
            ax.axvline(GOAL_US, color="#8a8a8a", linewidth=0.8, linestyle=":")
            latency_axis(ax)
            ax.set_xlim(*_SHOWN_US)
            ax.set(title=f"{pattern}, load 0.4, {failure.words}")
        line[0].set_ylabel("mean latency per µs (ns)")
    for ax in panels[-1]:
        ax.set_xlabel("time since the failure (µs)")
    legend_of(figure, [key_line(replace(style_of(name), marker="")) for name in ROUTINGS])
    return figure


def runs_of(rows: Sequence[Row]) -> tuple[Runs, list[Failure]]:
    """The runs by pattern, routing and failure; and the failures, that of one link first."""
    runs = Runs(rows, pattern=pattern_of, routing=player_of, failure=failure_of)
    return runs, sorted(runs.values("failure"), key=lambda failure: "-" not in failure.links)


def around(rows: Sequence[Row]) -> Course:
    """Latency around the event, from rows of several seeds."""
    time, latency = course(rows)
    down = failure_of(rows[0]).down
    since = time - down
    parts = ((since <= 0) & (since > -_LEVEL_US), np.mean), (since > since[-1] * 0.75, np.median), (since > 0, np.max)
    before, after, peak = (
        mean_of_known([mean_of_known(one[part], number) for one in latency]) for part, number in parts
    )
    recoveries = [recovery(1000 * time, one, 1000 * down) / 1000 for one in latency]
    return Course(since, latency, before, after, peak, recoveries)


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry of `expected.yaml`, by its id."""
    runs, failures = runs_of(rows)
    return {
        f"{'one_link' if '-' in failure.links else 'part'}_{pattern}_policy_us": max(
            around(runs.at(pattern=pattern, routing=POLICY, failure=failure)).recovery
        )
        for failure, pattern in itertools.product(failures, PATTERNS)
    }


def summary(rows: Sequence[Row]) -> str:
    """A Markdown table of every failure, pattern and routing."""
    runs, failures = runs_of(rows)
    lines = []
    for failure, pattern, name in itertools.product(failures, PATTERNS, ROUTINGS):
        one = around(runs.at(pattern=pattern, routing=name, failure=failure))
        times = f"{np.mean(one.recovery):.1f} [{min(one.recovery):.0f}, {max(one.recovery):.0f}]"
        levels = (f"{level:,.0f}" for level in (one.before, one.peak, one.after))
        lines.append([failure.words, pattern, name, *levels, times])
    heads = ["failure", "traffic", "routing", "before", "highest µs", "new level", "recovered after, µs"]
    title = "Mean latency in ns, and time until it stays within 10 % of its new level: mean [least, most] of seeds"
    return section(title, heads, lines)
