"""The figures of failed and recovered links: intervals without arrivals, and runs of different lengths."""

import math
from typing import Any

import numpy as np
from flitgym.experiments.figures.link_recovery.plot import around
from flitgym.experiments.plotting.runs import course


def row(*latency: float | None) -> dict[str, Any]:
    """Intervals of 1 us. The link fails after 20 us."""
    return {
        "failures.events": "0-8@20000",
        "series.time_ns": [1000.0 * (k + 1) for k in range(len(latency))],
        "series.latency_mean_ns": list(latency),
    }


BEFORE = [100.0] * 20
WORSE = [*[300.0] * 10, *[120.0] * 70]  # for 10 us after the event


def test_levels_match_hand_computed_values() -> None:
    found = around([row(*BEFORE, *WORSE), row(*BEFORE, *[200.0] * 80)])
    assert (found.before, found.peak, found.after) == (100.0, 250.0, 160.0)
    assert found.recovery == [11.0, 1.0]


def test_intervals_without_arrivals_are_left_out() -> None:
    whole = around([row(*BEFORE, *WORSE)])
    gaps: list[float | None] = [*BEFORE, *WORSE]
    for k in (12, 24, 90):
        gaps[k] = None if k == 12 else math.nan
    found = around([row(*gaps)])
    assert (found.before, found.peak, found.after) == (whole.before, whole.peak, whole.after)
    assert np.flatnonzero(np.isnan(found.latency[0])).tolist() == [12, 24, 90]


def test_a_network_without_deliveries_has_no_new_level() -> None:
    found = around([row(*BEFORE, *[math.nan] * 80)])
    assert found.before == 100.0
    assert math.isnan(found.after)
    assert math.isnan(found.peak)


def test_runs_that_drain_for_different_times_share_the_window() -> None:
    time, latency = course([row(*[100.0] * 8), row(*[200.0] * 5)], until_us=5)
    assert time.tolist() == [1, 2, 3, 4, 5]
    assert latency.tolist() == [[100.0] * 5, [200.0] * 5]
