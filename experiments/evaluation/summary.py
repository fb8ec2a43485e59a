"""The numbers of an evaluation: each metric of each policy over the seeds, alone and relative to the reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Interval, difference_interval, mean_interval, ratio_interval
from ..results.copies import once
from ..terminal.tables import interval_columns
from .plan import Kind, Scenario

Row = Mapping[str, Any]

# Metrics of a pattern, and their columns in a row.
PATTERN_METRICS = {
    "accepted_load": "accepted_load",
    "latency_mean_ns": "packet_latency_mean_ns",
    "latency_p99_ns": "packet_latency_p99_ns",
    "hops": "hops_mean",
    "nonminimal_fraction": "nonminimal_fraction",
}
# Metrics of a job, and their columns below `jobs.<name>.`.
JOB_METRICS = {
    "comm_time_ns": "comm_time_mean_ns",
    "finish_ns": "finish_ns",
    "latency_mean_ns": "packet_latency_mean_ns",
    "latency_p99_ns": "packet_latency_p99_ns",
    "hops": "hops_mean",
    "nonminimal_fraction": "nonminimal_fraction",
}

# Columns that are undefined if no packet arrived.
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
    ratio: Interval  # to the reference, over the seeds with both values
    difference: Interval  # from the reference, over the same seeds, in the metric's unit
    seeds: int  # number of different runs with a value
    missing: int  # number of seeds without one: the run failed, or it measured nothing


def summarise(
    rows: Sequence[Row],
    policies: Sequence[str],
    scenarios: Sequence[Scenario],
    loads: Sequence[float],
    seeds: Sequence[int],
    reference: str,
    confidence: float,
) -> list[Cell]:
    """All cells, ordered by scenario, point, policy and metric. A run without a row counts as missing.

    Args:
        rows: The rows of the finished runs, with the labels `policy` and `scenario`.
        policies: The names of all policies.
        scenarios: All scenarios.
        loads: The loads of the patterns.
        seeds: The seeds of every policy and scenario.
        reference: The policy that ratios and differences refer to.
        confidence: The confidence of the intervals.
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
                mine, others = own_rows[policy], own_rows[reference]
                alone, pairs = once(mine), once(mine, others)
                for metric, column in metrics.items():
                    own, other = (_vector(rows_of, column, job) for rows_of in (mine, others))
                    arguments = (own[pairs], other[pairs], confidence)
                    measured = np.isfinite(own)
                    cells.append(
                        Cell(
                            policy, scenario.name, scenario.kind, load, job, metric,
                            mean_interval(own[alone], confidence),
                            ratio_interval(*arguments), difference_interval(*arguments),
                            int(measured[alone].sum()), int((~measured).sum()),
                        )
                    )  # fmt: skip
    return cells


def tidy(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The rows of `evaluation.csv`, one per cell; None stands for a missing number."""
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
    """A metric over the seeds; NaN if a run failed or did not measure it."""
    prefix, packets = ("", "packets_delivered") if job is None else (f"jobs.{job}.", f"jobs.{job}.packets")
    values = np.full(len(rows), np.nan)
    for k, row in enumerate(rows):
        value = None if row is None else row.get(prefix + column)
        # Without packets, the row may hold 0 hops, which are undefined. The accepted load is truly 0 then.
        if row is None or value is None or (column.endswith(_OF_PACKETS) and not row.get(packets)):
            continue
        values[k] = value
    return values
