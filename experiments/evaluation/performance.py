"""The measure of `flitgym evaluate`: latency and accepted load under traffic, communication times of jobs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from . import oracle
from .bounds import limits_of
from .cells import Cell, Measured, Row
from .plan import Trial
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
# Columns that `oracle` adds to the rows: the share of the gap, also of each job, and bounds under traffic.
_GAP = "gap_closed"
_BOUNDS = ("accepted_bound", "latency_bound_ns")
_GAP_TITLE = "gap closed, at least -1\n(0: best baseline, 1: oracle)"


_OF_BOUNDS = " Bounds hold for every routing; that of the latency, if the network accepts the offered load."


class Performance(Comparison):
    """See the module."""

    name, title, picture = "evaluation", "Evaluation", "Every policy over the offered load"
    # Jobs differ by orders of magnitude and policies by little, so two panels show ratios.
    panels: ClassVar[Mapping[str, Sequence[Panel]]] = {
        "pattern": (
            Panel("accepted_load", "accepted load", "load", limit=_BOUNDS[0]),
            Panel("latency_mean_ns", "mean latency (ns)", "load", limit=_BOUNDS[1]),
            Panel("latency_p99_ns", "99th percentile of latency (ns)", "load"),
            Panel(_GAP, _GAP_TITLE, "load", line=1),
        ),
        "workload": (
            Panel("comm_time_ns", "communication time (us)", "job", 1e-3),
            Panel("comm_time_ns", "communication time / reference", "job", None, line=1),
            Panel("finish_ns", "finish / reference", "job", None, line=1),
            Panel(_GAP, _GAP_TITLE, "job", line=1),
        ),
    }

    def planned(self) -> list[Trial]:
        trials = super().planned()
        if self.given["oracle"]:
            self.searches = oracle.searches_of(trials, self.given["oracle"])
            self.baselines = oracle.baselines_of(trials)
            self.policies.append(oracle.ORACLE)
        return trials

    def cells(self, rows: Sequence[Row], results: Results) -> list[Cell]:
        if self.searches:
            rows = found = with_gaps(rows, self.baselines, self.given["seeds"])
            runs = {(t.scenario.name, t.run.plain["traffic"]["load"], t.run.plain["seed"]): t.run for t in self.trials}
            for row in (row for row in found if row["workload.name"] == "none"):
                plain = runs[row["scenario"], row["traffic.load"], row["seed"]].plain
                row |= zip(_BOUNDS, limits_of(plain) or (None, None), strict=True)
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
        intervals = intervals_text(cells, self.given["confidence"])
        text = f"{intervals} Ratios compare a policy with {self.reference} on the same seeds."
        return text + (oracle.MEANING + _OF_BOUNDS if self.searches else "")


def points_of(row: Row) -> Iterator[Measured]:
    """The load of a pattern, or the jobs of a workload."""
    if row["workload.name"] == "none":
        point = {"pattern": row["scenario"], "load": row["traffic.load"]}
        own = {key: key for key in (_GAP, *_BOUNDS) if key in row}
        yield point, _defined(row, "packets_delivered"), PATTERN_METRICS | own
        return
    for key in row:
        if key.startswith("jobs.") and key.endswith(_COMM_TIME):
            job = key.removeprefix("jobs.").removesuffix(_COMM_TIME)
            columns = {metric: f"jobs.{job}.{column}" for metric, column in JOB_METRICS.items()}
            if (gap := f"jobs.{job}.{_GAP}") in row:
                columns[_GAP] = gap
            yield {"workload": row["scenario"], "job": job}, _defined(row, f"jobs.{job}.packets"), columns


def with_gaps(rows: Sequence[Row], baselines: Sequence[str], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The rows with the share of the gap that they close, see `oracle.gap_closed`.

    The measure is the communication time of a job. Under traffic, it is the mean latency divided by the accepted
    fraction of the offered load, as in the search.
    """
    found, losses = [dict(row) for row in rows], dict[Any, dict[str, dict[int, float]]]()
    for row in found:
        for point, numbers, metrics in points_of(row):
            time = numbers.get(metrics.get("comm_time_ns", metrics["latency_mean_ns"])) or np.nan
            part = 1.0 if "job" in point else numbers["accepted_load"] / row["traffic.load"]
            own = losses.setdefault(tuple(point.items()), {}).setdefault(row["policy"], {})
            own[row["seed"]] = np.log(time / part) if part else np.nan
    for row in found:
        for point, _, _ in list(points_of(row)):
            at = losses[tuple(point.items())]
            of = {name: np.array([runs.get(seed, np.nan) for seed in seeds]) for name, runs in at.items()}
            known, best = {name: of[name] for name in baselines if name in of}, of.get(oracle.NAME, np.array(np.nan))
            share = oracle.gap_closed(of[row["policy"]], known, best)[seeds.index(row["seed"])]
            row[f"jobs.{point['job']}.{_GAP}" if "job" in point else _GAP] = float(share)
    return found


def _defined(row: Row, packets: str) -> Row:
    """The row without the numbers that are undefined because no packet arrived: the row may hold 0 hops."""
    return row if row.get(packets) else {key: value for key, value in row.items() if not key.endswith(_OF_PACKETS)}
