"""Jobs that a scheduler starts: waiting times, slowdowns, utilisation and fragmentation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...configs import core_sections
from ...configs.queue import iteration_times, requests_of
from ...simcore import Simulation

_LONGER = 2  # times the run time of the log; rounding to whole iterations leaves at most 1.5
_COLUMNS = (
    *("submit_ns", "start_ns", "finish_ns", "wait_ns", "run_ns", "alone_ns", "slowdown", "bounded_slowdown"),
    *("ranks", "groups", "groups_least"),
)


def queue_numbers(
    simulation: Simulation, config: Mapping[str, Any], jobs: Mapping[str, dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Complete the fields of the jobs. Returns the sums for `result.json`, and the table `queue`."""
    workload = config["workload"]
    alone, longer = {}, 0
    per_node = workload["ranks_per_node"]
    places = simulation.facts()["terminals"] // (workload["nics_per_node"] or per_node) * per_node
    if workload["name"] == "queue":
        alone = alone_times(config)
        requests = requests_of(workload, places, config["seed"])
        longer = sum(alone[request.name] > _LONGER * request.run_ns for request in requests)
    bound = workload.get("slowdown_bound_ns", 0)
    for name, job in jobs.items():
        start, finish = job["start_ns"], job["finish_ns"]
        job["wait_ns"] = None if start is None else start - job["submit_ns"]
        run = job["run_ns"] = None if finish is None else finish - start
        job["alone_ns"] = alone.get(name)
        job["slowdown"] = run / alone[name] if run and alone.get(name) else None
        job["bounded_slowdown"] = None if not run else max(1.0, (job["wait_ns"] + run) / max(run, bound))
    table = {key: np.array([job[key] for job in jobs.values()], dtype=float) for key in _COLUMNS}
    done = np.isfinite(table["run_ns"])
    sums: dict[str, Any] = {"jobs": len(jobs), "jobs_finished": int(done.sum()), "jobs_longer": longer}
    if done.any():
        began, ended = table["submit_ns"].min(), table["finish_ns"][done].max()
        sums["makespan_ns"] = float(ended - began)
        sums["jobs_per_ms"] = float(done.sum() / (ended - began) * 1e6)
        sums["utilisation"] = float((table["ranks"] * table["run_ns"])[done].sum() / (places * (ended - began)))
        for key in ("wait_ns", "slowdown", "bounded_slowdown"):
            values = table[key][done & np.isfinite(table[key])]
            sums[f"{key}_mean"] = float(values.mean()) if values.size else None
            sums[f"{key}_p95"] = float(np.quantile(values, 0.95)) if values.size else None
        sums["fragmentation_mean"] = float((table["groups"] / table["groups_least"])[done].mean())
    return sums, {"job": np.array(list(jobs)), **table}


def alone_times(config: Mapping[str, Any]) -> dict[str, float]:
    """The run time of each job alone with linear placement, as in `iteration_times`."""
    sections = core_sections(config)
    workload = sections.pop("workload")
    times = {}
    for given in workload.pop("jobs"):
        job = {key: given[key] for key in given.keys() - {"name", "iterations", "start_ns", "estimate_ns"}}
        one, further = iteration_times(sections, workload, job)
        times[given["name"]] = one + (given["iterations"] - 1) * further
    return times
