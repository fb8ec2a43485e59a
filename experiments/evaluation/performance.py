"""The measure of `flitgym evaluate`: latency and accepted load under traffic, communication times of jobs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cells import Cell, Row, summarise
from .plan import Policy, Scenario, Trial, plan
from .study import Measure, Plan, Study, network_text
from .tables import intervals_text

if TYPE_CHECKING:  # Matplotlib takes long to import
    from .figure import Panel

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
_COMM_TIME = ".comm_time_mean_ns"


class Performance(Measure):
    """See the module."""

    name, title, picture = "evaluation", "Evaluation", "Every policy over the offered load"

    def check(self, given: Mapping[str, Any]) -> None:
        """See `Measure`."""

    def trials(
        self, given: Mapping[str, Any], study: Study, policies: Sequence[Policy], scenarios: Sequence[Scenario]
    ) -> list[Trial]:
        """See `Measure`."""
        return plan(policies, scenarios, study.common, given["loads"], given["seeds"], study.directory)

    def cells(
        self, plan: Plan, rows: Sequence[Mapping[str, Any]], results: Mapping[Path, Mapping[str, Any]]
    ) -> list[Cell]:
        """See `Measure`."""
        given = plan.given
        names = [policy.name for policy in plan.policies]
        return cells_of(
            rows, names, plan.scenarios, given["loads"], given["seeds"], plan.reference, given["confidence"]
        )

    def network(self, plan: Plan, results: Mapping[Path, Mapping[str, Any]]) -> str:
        """See `Measure`."""
        result, measured = next(iter(results.values())), ""
        run = result["config"]["run"]
        if any(scenario.kind == "pattern" for scenario in plan.scenarios):
            warmups = [one["config"]["run"]["warmup_ns"] for one in results.values()]
            after = " to ".join(f"{end:,.0f}" for end in sorted({min(warmups), max(warmups)}))
            measured = f", {run['measure_ns']:,.0f} ns measured after {after} ns"
            if run.get("precision"):
                measured = f", measured until the intervals are within {100 * run['precision']:g} %"
        # All runs have histograms with the same bins.
        return (
            f"{network_text(result)}{measured}; code {result['version']}. Percentiles come from a histogram and are "
            f"exact within {100 * result['histogram_relative_error']:.2g} %."
        )

    def meaning(self, plan: Plan, cells: Sequence[Cell]) -> str:
        """See `Measure`."""
        intervals = intervals_text(cells, plan.given["confidence"])
        return f"{intervals} Ratios compare a policy with {plan.reference} on the same seeds."

    @property
    def panels(self) -> "Mapping[str, Sequence[Panel]]":
        """See `Measure`. Jobs differ by orders of magnitude and policies by little, so two panels show ratios."""
        from .figure import Panel

        return {
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
            at = {
                policy: [_defined(found.get((scenario.name, policy, load, seed)), job) for seed in seeds]
                for policy in policies
            }
            point = {scenario.kind: scenario.name, **({"load": load} if job is None else {"job": job})}
            prefix = "" if job is None else f"jobs.{job}."
            columns = {
                metric: prefix + column for metric, column in (PATTERN_METRICS if job is None else JOB_METRICS).items()
            }
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
