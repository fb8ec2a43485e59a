"""The measures of a run, which depend on the kind of its task. All are pure functions of a row."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import ConfigError
from ..metrics import running_median, settle_time
from ..results.cautions import outages
from .suite import Kind

Row = Mapping[str, Any]
Measures = dict[str, float]


# The measure that gives the score of a task, and whether a larger value is better.
SCORED: dict[Kind, tuple[str, bool]] = {
    "below": ("latency_mean_ns", False),
    "above": ("accepted_load", True),
    "jobs": ("comm_time_ns", False),
    "cold_start": ("latency_mean_ns", False),
    "recovery": ("latency_mean_ns", False),
    "changing": ("latency_mean_ns", False),
}
# All measures, in the order of the columns of recorded results.
NAMES = (
    "latency_mean_ns",
    "latency_p99_ns",
    "accepted_load",
    "comm_time_ns",  # mean over the ranks of a job; geometric mean over the jobs
    "finish_ns",  # of the last job
    "latency_first_ns",  # cold_start: mean over the packets of the first interval of the series
    # recovery: time until the latency stays within 10 % of its final level. changing: the mean over all changes.
    "recovery_ns",
)
# Intervals of the running median. One interval with few packets must not look like an unsettled latency.
_SMOOTHED = 3
# A shorter time after a change shows no level to which the latency returns.
_LEAST_INTERVALS = 8


def check_windows(kind: Kind, config: Mapping[str, Any]) -> None:
    """Check before a run that its configuration gives all measures of a kind of task."""
    if kind not in ("cold_start", "recovery", "changing"):
        return
    run = config["run"]
    if not 0 < run["series_interval_ns"] <= run["measure_ns"]:
        raise ConfigError(
            f"run.series_interval_ns: {run['series_interval_ns']:g}, but a task of kind {kind} needs a time series; "
            f"set an interval above 0 and up to {run['measure_ns']:g} ns in the task's overrides"
        )
    first = min(outages(config["failures"]["events"]).values(), default=None)
    if kind == "recovery" and first != run["warmup_ns"]:
        found = "nothing fails" if first is None else f"the first link fails at {first:g} ns"
        warmup = f"{run['warmup_ns']:.15g}"
        raise ConfigError(
            f"failures.events: {found}, but a task of kind recovery needs a failure at run.warmup_ns ({warmup} ns); "
            f"write failures.events=[<link>@{warmup}] in the task's overrides, or change run.warmup_ns"
        )


def measures(kind: Kind, row: Row) -> Measures:
    """The measures of a run of a kind of task, from its row. A measure without a finite value is left out."""
    found: dict[str, float | None] = {
        "latency_mean_ns": row.get("packet_latency_mean_ns"),
        "latency_p99_ns": row.get("packet_latency_p99_ns"),
    }
    if kind == "jobs":
        found["comm_time_ns"] = float(np.exp(np.mean(np.log(_times(row, ".comm_time_mean_ns")))))
        found["finish_ns"] = float(_times(row, ".finish_ns").max())
    else:
        found["accepted_load"] = row["accepted_load"]
    if kind == "cold_start":
        found["latency_first_ns"] = float(_series(row)[1][0])
    if kind == "recovery":
        found["recovery_ns"] = recovery(*_series(row), row["run.warmup_ns"])
    if kind == "changing":
        times = recoveries(*_series(row), row["changes_ns"], row["run.warmup_ns"])
        found["recovery_ns"] = float(np.mean(times)) if times else None
    return {name: float(value) for name, value in found.items() if value is not None and np.isfinite(value)}


def recovery(time_ns: NDArray[np.float64], latency_ns: NDArray[np.float64], event_ns: float) -> float:
    """The time from an event until the latency has settled.

    Args:
        time_ns: Ends of the intervals of a series, [intervals].
        latency_ns: Mean latency of each interval, NaN where no packet arrived.
        event_ns: Time of the event.

    Returns:
        ns from the event to the end of the first interval after which the latency (running median of three intervals)
        stays within 10 % of its level in the last quarter. The whole time after the event if it never settles.
    """
    after = time_ns > event_ns
    time, latency = time_ns[after] - event_ns, running_median(latency_ns[after], _SMOOTHED)
    settled = settle_time(time, latency)
    return float(time[-1]) if settled is None else settled


def recoveries(
    time_ns: NDArray[np.float64], latency_ns: NDArray[np.float64], changes_ns: Sequence[float], begin_ns: float
) -> list[float]:
    """`recovery` for each change of traffic or links, in the time up to the next change or the end of the series.

    Changes with fewer than eight intervals, and those more than half an interval before `begin_ns`, are left out.
    """
    half = (time_ns[1] - time_ns[0]) / 2 if time_ns.size > 1 else 0.0
    found = []
    for change, following in pairwise([*changes_ns, np.inf]):
        # An interval that holds a change belongs to the time before or after it, whichever has more of it.
        inside = (time_ns > change + half) & (time_ns <= following + half)
        if change >= begin_ns - half and np.count_nonzero(inside) >= _LEAST_INTERVALS:
            found.append(recovery(time_ns[inside], latency_ns[inside], change))
    return found


def _series(row: Row) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    time, latency = (np.array(row[f"series.{key}"], dtype=np.float64) for key in ("time_ns", "latency_mean_ns"))
    # An interval without packets has no mean, although the series holds 0.
    latency[np.array(row["series.packets"]) == 0] = np.nan
    return time, latency


def _times(row: Row, suffix: str) -> NDArray[np.float64]:
    """A time of each job, NaN if it is unknown. A run that ends with its target says nothing about other jobs."""
    keys = [key for key in row if key.startswith("jobs.") and key.endswith(suffix)]
    if row.get("workload.ends_with") == "target":
        keys = [f"jobs.{row['workload.target']}{suffix}"]
    return np.array([row.get(key) or np.nan for key in keys] or [np.nan], dtype=np.float64)
