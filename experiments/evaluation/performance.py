"""The measure of `flitgym evaluate`: latency and accepted load under traffic, communication times of jobs."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .cells import Cell, Row, summarise
from .plan import Scenario, Trial, plan
from .study import Comparison, Results
from .tables import Panel, intervals_text

# Metrics, and their columns in a row. Those of a job are below `jobs.<name>.`.
_OF_ALL = {
    "latency_mean_ns": "packet_latency_mean_ns",
    "latency_p99_ns": "packet_latency_p99_ns",
    "hops": "hops_mean",
    "nonminimal_fraction": "nonminimal_fraction",
}
PATTERN_METRICS = {"accepted_load": "accepted_load", **_OF_ALL}
JOB_METRICS = {"comm_time_ns": "comm_time_mean_ns", "finish_ns": "finish_ns", **_OF_ALL}
# Columns that are undefined if no packet arrived.
_OF_PACKETS = ("hops_mean", "nonminimal_fraction", "_latency_mean_ns", "_latency_p99_ns")
_COMM_TIME = ".comm_time_mean_ns"


class Performance(Comparison):
    """See the module."""

    name, title, picture = "evaluation", "Evaluation", "Every policy over the offered load"
    # Jobs differ by orders of magnitude and policies by little, so two panels show ratios.
    panels: ClassVar[Mapping[str, Sequence[Panel]]] = {
        "pattern": (
            Panel("accepted_load", "accepted load", "load"),
            Panel("latency_mean_ns", "mean latency (ns)", "load"),
            Panel("latency_p99_ns", "99th percentile of latency (ns)", "load"),
        ),
        "workload": (
            Panel("comm_time_ns", "communication time (us)", "job", 1e-3),
            Panel("comm_time_ns", "communication time / reference", "job", None, line=1),
            Panel("finish_ns", "finish / reference", "job", None, line=1),
        ),
    }

    def planned(self) -> list[Trial]:
        """See `Comparison`."""
        given, study = self.given, self.study
        return plan(self.policies, self.scenarios, study.common, given["loads"], given["seeds"], study.directory)

    def cells(self, rows: Sequence[Row], results: Results) -> list[Cell]:
        """See `Comparison`."""
        given, names = self.given, [policy.name for policy in self.policies]
        axes = (given["loads"], given["seeds"])
        return cells_of(rows, names, self.scenarios, *axes, self.reference, given["confidence"])

    def network(self, results: Results) -> str:
        """See `Comparison`. All runs have histograms with the same bins."""
        result, measured = next(iter(results.values())), ""
        run = result["config"]["run"]
        if any(scenario.kind == "pattern" for scenario in self.scenarios):
            warmups = [one["config"]["run"]["warmup_ns"] for one in results.values()]
            after = " to ".join(f"{end:,.0f}" for end in sorted({min(warmups), max(warmups)}))
            measured = f" {run['measure_ns']:,.0f} ns are measured after {after} ns."
            if run.get("precision"):
                measured = f" Runs end when the intervals are within {100 * run['precision']:g} %."
        return (
            f"{super().network(results)}{measured} Percentiles come from a histogram and are exact within "
            f"{100 * result['histogram_relative_error']:.2g} %."
        )

    def meaning(self, cells: Sequence[Cell]) -> str:
        """See `Comparison`."""
        intervals = intervals_text(cells, self.given["confidence"])
        return f"{intervals} Ratios compare a policy with {self.reference} on the same seeds."


def cells_of(
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

    def key(row: Row) -> tuple[Any, ...]:
        load = row["traffic.load"] if row["workload.name"] == "none" else None
        return row["scenario"], row["policy"], load, row["seed"]

    found, cells = {key(row): row for row in rows}, []
    for scenario in scenarios:
        for load, job in _points(rows, scenario, loads):
            at = {
                policy: [_defined(found.get((scenario.name, policy, load, seed)), job) for seed in seeds]
                for policy in policies
            }
            point = {scenario.kind: scenario.name, **({"load": load} if job is None else {"job": job})}
            columns = PATTERN_METRICS
            if job is not None:
                columns = {metric: f"jobs.{job}.{column}" for metric, column in JOB_METRICS.items()}
            cells += summarise(point, at, columns, reference, confidence)
    return cells


def _defined(row: Row | None, job: str | None) -> Row | None:
    """The row without the numbers that are undefined because no packet arrived: the row may hold 0 hops."""
    if row is None or row.get("packets_delivered" if job is None else f"jobs.{job}.packets"):
        return row
    return {key: value for key, value in row.items() if not key.endswith(_OF_PACKETS)}


def _points(rows: Sequence[Row], scenario: Scenario, loads: Sequence[float]) -> list[tuple[float | None, str | None]]:
    """The loads of a pattern, or the jobs of a workload in their order."""
    if scenario.kind == "pattern":
        return [(load, None) for load in loads]
    names = (
        key.removeprefix("jobs.").removesuffix(_COMM_TIME)
        for row in rows
        if row["scenario"] == scenario.name
        for key in row
        if key.startswith("jobs.") and key.endswith(_COMM_TIME)
    )
    return [(None, job) for job in dict.fromkeys(names)]
