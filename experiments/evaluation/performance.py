"""The measure of `flitgym evaluate`: latency and accepted load under traffic, communication times of jobs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from .cells import Cell, Measured, Row
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

    def cells(self, rows: Sequence[Row], results: Results) -> list[Cell]:
        """See `Comparison`."""
        return self.compared(rows, points_of)

    def network(self, results: Results) -> str:
        """See `Comparison`. All runs have histograms with the same bins."""
        result, measured = next(iter(results.values())), ""
        if any(scenario.kind == "pattern" for scenario in self.scenarios):
            run = result["config"]["run"]
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


def points_of(row: Row) -> Iterator[Measured]:
    """The load of a pattern, or the jobs of a workload."""
    if row["workload.name"] == "none":
        point = {"pattern": row["scenario"], "load": row["traffic.load"]}
        yield point, _defined(row, "packets_delivered"), PATTERN_METRICS
        return
    for key in row:
        if key.startswith("jobs.") and key.endswith(_COMM_TIME):
            job = key.removeprefix("jobs.").removesuffix(_COMM_TIME)
            columns = {metric: f"jobs.{job}.{column}" for metric, column in JOB_METRICS.items()}
            yield {"workload": row["scenario"], "job": job}, _defined(row, f"jobs.{job}.packets"), columns


def _defined(row: Row, packets: str) -> Row:
    """The row without the numbers that are undefined because no packet arrived: the row may hold 0 hops."""
    return row if row.get(packets) else {key: value for key, value in row.items() if not key.endswith(_OF_PACKETS)}
