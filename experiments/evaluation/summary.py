"""From rows to numbers: every metric of every policy over the seeds, and beside the reference on the same seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Interval, bootstrap_difference, bootstrap_mean, bootstrap_ratio
from ..terminal.tables import interval_columns
from .plan import Kind, Scenario

Row = Mapping[str, Any]

# Metrics of a pattern, and where a row has them.
PATTERN_METRICS = {
    "accepted_load": "accepted_load",
    "latency_mean_ns": "packet_latency_mean_ns",
    "latency_p99_ns": "packet_latency_p99_ns",
    "hops": "hops_mean",
    "nonminimal_fraction": "nonminimal_fraction",
}
# Likewise of a job, under `jobs.<name>.`.
JOB_METRICS = {
    "comm_time_ns": "comm_time_mean_ns",
    "finish_ns": "finish_ns",
    "latency_mean_ns": "packet_latency_mean_ns",
    "latency_p99_ns": "packet_latency_p99_ns",
    "hops": "hops_mean",
    "nonminimal_fraction": "nonminimal_fraction",
}

# Columns that are of packets, and so no numbers where none arrived.
_OF_PACKETS = ("hops_mean", "nonminimal_fraction", "_latency_mean_ns", "_latency_p99_ns")


@dataclass(frozen=True)
class Cell:
    """One metric of one policy at one point: an offered load of a pattern, or a job of a workload."""

    policy: str
    scenario: str
    kind: Kind
    load: float | None
    job: str | None
    metric: str
    mean: Interval
    ratio: Interval  # to the reference, over the seeds that both have
    difference: Interval  # likewise, in the metric's unit
    seeds: int  # that gave a value
    missing: int  # that gave none: the run failed, or there was nothing to measure


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made."""

    confidence: float
    resamples: int


def summarise(
    rows: Sequence[Row],
    policies: Sequence[str],
    scenarios: Sequence[Scenario],
    loads: Sequence[float],
    seeds: Sequence[int],
    reference: str,
    bootstrap: Bootstrap,
) -> list[Cell]:
    """Every cell, in the order scenario, point, policy, metric. A run without a row counts as missing.

    Args:
        rows: The rows of the runs that ended well, with `policy` and `scenario` beside what `results.row` gives.
        policies: Names.
        scenarios: All that were asked for.
        loads: The loads of the patterns.
        seeds: The seeds of all.
        reference: The policy that ratios and differences refer to.
        bootstrap: How intervals are made.
    """
    found = {
        (
            row["scenario"],
            row["policy"],
            None if row["workload.name"] != "none" else row["traffic.load"],
            row["seed"],
        ): row
        for row in rows
    }
    cells = []
    for scenario in scenarios:
        for load, job in _points(rows, scenario, loads):
            metrics = PATTERN_METRICS if job is None else JOB_METRICS
            own_rows = {
                policy: [found.get((scenario.name, policy, load, seed)) for seed in seeds] for policy in policies
            }
            for policy in policies:
                for metric, column in metrics.items():
                    own, other = (_vector(own_rows[name], column, job) for name in (policy, reference))
                    arguments = (own, other, bootstrap.confidence, bootstrap.resamples)
                    measured = int(np.isfinite(own).sum())
                    cells.append(
                        Cell(
                            policy, scenario.name, scenario.kind, load, job, metric,
                            bootstrap_mean(own, bootstrap.confidence, bootstrap.resamples),
                            bootstrap_ratio(*arguments), bootstrap_difference(*arguments),
                            measured, len(seeds) - measured,
                        )
                    )  # fmt: skip
    return cells


def tidy(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The columns of `evaluation.csv`, one mapping per cell; None where there is no number."""
    return [
        {
            "policy": cell.policy,
            "pattern": cell.scenario if cell.kind == "pattern" else None,
            "workload": cell.scenario if cell.kind == "workload" else None,
            "job": cell.job,
            "load": cell.load,
            "metric": cell.metric,
            **interval_columns(cell.mean, "mean", "low", "high"),
            "seeds": cell.seeds,
            "missing": cell.missing,
            **interval_columns(cell.ratio, "ratio", "ratio_low", "ratio_high"),
            **interval_columns(cell.difference, "difference", "difference_low", "difference_high"),
        }
        for cell in cells
    ]


def _points(rows: Sequence[Row], scenario: Scenario, loads: Sequence[float]) -> list[tuple[float | None, str | None]]:
    """The loads of a pattern, or the jobs of a workload in their order."""
    if scenario.kind == "pattern":
        return [(load, None) for load in loads]
    suffix = ".comm_time_mean_ns"
    names = (
        key.removeprefix("jobs.").removesuffix(suffix)
        for row in rows
        if row["scenario"] == scenario.name
        for key in row
        if key.startswith("jobs.") and key.endswith(suffix)
    )
    return [(None, job) for job in dict.fromkeys(names)]


def _vector(rows: Sequence[Mapping[str, Any] | None], column: str, job: str | None) -> NDArray[np.float64]:
    """A metric over the seeds; NaN where a run failed or gave no such number."""
    prefix, packets = ("", "packets_delivered") if job is None else (f"jobs.{job}.", f"jobs.{job}.packets")
    values = np.full(len(rows), np.nan)
    for k, row in enumerate(rows):
        value = None if row is None else row.get(prefix + column)
        # Hops of no packet are no number, even where a 0 stands; the load that was accepted is 0 then.
        if row is None or value is None or (column.endswith(_OF_PACKETS) and not row.get(packets)):
            continue
        values[k] = value
    return values
