"""Runs a workload until its jobs are done, and collects the times of the jobs and the delays between them."""

import functools
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...configs import core_sections, refuse_unknown, traces_of
from ...simcore import ConfigError, CoreError, Simulation
from ...simcore._core import Program
from ...simcore.pictures.frames import LinkFrames, channel_groups
from ..results.names import Columns, channel_names, rank_names
from ..terminal.progress import Report
from .queue import queue_numbers

# Cycles between two checks of the core for the end of the jobs. Chunks must be multiples, so that they do not change
# the end of a run.
_LOOK = 1024
_CHUNK = 4 * _LOOK
_LISTED_RANKS = 16
_ENDINGS = ("all", "target")

# Columns of `jobs()` that are arrays over its ranks, and their names in ranks.parquet.
_RANKS = {
    "rank_terminal": "terminal",
    "rank_node": "node",
    "rank_comm_time_ns": "comm_time_ns",
    "rank_finish_ns": "finish_ns",
    "rank_compute_ns": "compute_ns",
    "rank_bytes_sent": "bytes_sent",
    "rank_bytes_received": "bytes_received",
}


@dataclass
class Limits:
    """The end of a workload: its times in cycles of the router's clock, and the jobs to wait for."""

    most: int
    series_interval: int
    map_interval: int  # a multiple of _LOOK, or 0
    target_only: bool  # the end of the first job ends the run
    chunk: int = _CHUNK  # cycles between two reports

    @classmethod
    def of(cls, workload: Mapping[str, Any], simulation: Simulation) -> "Limits":
        """Round the times of the `workload` section to cycles; a ConfigError names an invalid value."""
        ending = workload.get("ends_with", "all")
        refuse_unknown("workload.ends_with", [ending], _ENDINGS, "word")
        end = simulation.facts()["end_of_time_cycles"]
        most = workload["max_ns"] / simulation.cycle_ns
        if not 1 <= most <= end:
            why = "26 days" if workload["network"] == "none" else "a network counts 2^32 cycles; use a longer cycle_ns"
            raise ConfigError(
                f"workload.max_ns: {workload['max_ns']:g} ns is not between one cycle ({simulation.cycle_ns:g} ns) and "
                f"the end of simulated time ({end * simulation.cycle_ns:g} ns: {why})"
            )
        for key in ("series_interval_ns", "map_interval_ns"):
            if workload[key] != 0 and not simulation.cycle_ns <= workload[key] <= end * simulation.cycle_ns:
                raise ConfigError(
                    f"workload.{key}: {workload[key]:g} ns is neither 0 nor at least one cycle "
                    f"({simulation.cycle_ns:g} ns)"
                )
        series, frames = (workload[key] / simulation.cycle_ns for key in ("series_interval_ns", "map_interval_ns"))
        return cls(round(most), round(series), math.ceil(frames / _LOOK) * _LOOK, ending == "target")

    def done(self, simulation: Simulation) -> bool:
        """Whether the jobs that the run waits for are done."""
        if simulation.workload_finished or not self.target_only:
            return bool(simulation.workload_finished)
        target = simulation.jobs()[0]
        return bool(target["ranks_finished"] == target["ranks"])


def bytes_of_jobs(config: Mapping[Any, Any]) -> list[int]:
    """The bytes that each job of a workload will send, without headers."""
    return [_bytes_sent(job) for job in core_sections(config)["workload"]["jobs"]]


def run_workload(
    simulation: Simulation, config: Mapping[str, Any], report: Report
) -> tuple[dict[str, Any], dict[str, Columns]]:
    """Run until the jobs are done or stuck, or until `max_ns`.

    Returns:
        The numbers for `result.json`, and the tables by name.
    """
    workload = config["workload"]
    limits = Limits.of(workload, simulation)
    if workload["network"] == "none":
        limits.series_interval = limits.map_interval = 0  # without a network there are no packets and no links
        limits.chunk = max(_CHUNK, limits.most // 1000)  # and few events per cycle
    if limits.series_interval:
        simulation.set_series_interval(limits.series_interval)
    counted = bytes_of_jobs(config)[: 1 if limits.target_only else None]
    timing, frames = _advance(simulation, limits, lambda phase: report(phase, _part(simulation, config, counted)))

    jobs, classes, blame = simulation.jobs(), simulation.classes(), simulation.blame()
    names = [job["name"] for job in jobs]
    numbers = {job["name"]: job_numbers(job) for job in jobs}
    queue: dict[str, Any] = {}
    tables: dict[str, Columns] = {"ranks": rank_table(simulation, jobs)}
    if workload["scheduler"] != "none":
        queue["queue"], tables["queue"] = queue_numbers(simulation, config, numbers)
    tables["channels"] = channel_table(simulation, blame, names)
    if limits.series_interval:
        series = simulation.job_series()
        tables["job_series"] = {**series, "job": np.array(names)[series["job"]]}
    if frames:
        tables |= {"links": frames.table(names), "flows": frames.flows()}

    traces = traces_of(workload)
    return {
        **timing,
        **({"traces": traces} if traces else {}),
        "offered_load": None,  # jobs have no offered load
        "workload_finished": limits.done(simulation),
        "stuck": None if limits.done(simulation) else _unfinished(simulation, workload["max_ns"]),
        "jobs": numbers,
        **queue,
        "blame": blame_numbers(jobs, blame),
        **({"class_blame": blame_numbers(classes, simulation.blame(by_class=True))} if classes else {}),
        "mapping": simulation.mapping(),  # of workload.placement=mapped
        "system_throughput_gb_per_ms": system_throughput(jobs, simulation.time_ns),
    }, tables


def require_finished(result: Mapping[str, Any]) -> None:
    """Raise a CoreError if the jobs of a result are not done. It lists ranks and the operations that they wait for."""
    if not result.get("workload_finished", True):
        raise CoreError(result["stuck"])


def _part(simulation: Simulation, config: Mapping[str, Any], counted: list[int]) -> float:
    """The finished fraction of a workload, by the bytes of the first jobs. Bytes of messages in flight count, too."""
    if config["workload"]["network"] == "none" or not sum(counted):
        return float(simulation.workload_progress)
    flits = sum(job["flits"] for job, _ in zip(simulation.jobs(), counted, strict=False))
    return float(min(flits * config["router"]["flit_bytes"] / sum(counted), 0.999))


def _bytes_sent(job: Mapping[str, Any]) -> int:
    if "program" in job:
        return int(job["program"].totals()["bytes"])
    parameters = {key: value for key, value in job.items() if key not in ("name", "motif", "terminals")}
    return _bytes_of_motif(job["motif"], json.dumps(parameters))


@functools.cache
def _bytes_of_motif(motif: str, parameters: str) -> int:
    return Program.motif(motif, json.loads(parameters)).totals()["bytes"]


def _advance(
    simulation: Simulation, limits: Limits, report: Callable[[str], None]
) -> tuple[dict[str, float], LinkFrames | None]:
    """Run to the end. Returns the duration of the loop, and the load of the links over time if requested."""
    cpu, wall = time.process_time(), time.perf_counter()
    simulation.begin_window()
    frames = LinkFrames(simulation, limits.map_interval) if limits.map_interval else None
    while simulation.now < limits.most and not (limits.done(simulation) or simulation.workload_stuck):
        report(f"{simulation.time_ns / 1e6:.2f} ms simulated")
        until = min(simulation.now + limits.chunk, limits.most, frames.next if frames else limits.most)
        simulation.run_workload(until - simulation.now)
        if frames:
            frames.look()
    simulation.end_window()
    return {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}, frames


def _unfinished(simulation: Simulation, max_ns: float) -> str:
    """The reason why the workload is not done, and the operations that its ranks wait for."""
    if simulation.workload_stuck:
        why = f"ranks wait forever; nothing has been in flight since {simulation.time_ns:,.0f} ns"
    else:
        why = f"the jobs are not done after workload.max_ns={max_ns:g}"
    return f"{why}:{simulation.waiting(_LISTED_RANKS)}"


def job_numbers(job: dict[str, Any]) -> dict[str, Any]:
    """The fields of a job in `result.json`: totals, latencies, and three numbers about its communication times.

    The communication times are None unless all ranks are done.
    """
    numbers = {key: value for key, value in job.items() if not key.startswith("rank_") and key != "name"}
    times = job["rank_comm_time_ns"]
    # The finished ranks of an unfinished job would be the fast ones.
    done = times.size and job["ranks_finished"] == job["ranks"]
    for which, measure in (("mean", np.mean), ("std", np.std), ("max", np.max)):
        numbers[f"comm_time_{which}_ns"] = float(measure(times)) if done else None
    finish = job["finish_ns"]
    took = None if finish is None else finish - job["start_ns"]
    numbers["injection_rate_gb_per_s"] = job["bytes"] / took if took else None
    return numbers


def blame_numbers(jobs: list[dict[str, Any]], blame: dict[str, NDArray[Any]]) -> dict[str, Any] | None:
    """The delays that jobs (or traffic classes) cause each other: ns per packet of one (row) due to another (column).

    None if the core did not keep the account (`workload.blame=false`).
    """
    if not blame["flits"].size:
        return None
    packets = np.array([[job["packets"]] for job in jobs], dtype=float)
    numbers: dict[str, Any] = {"jobs": [job["name"] for job in jobs]}
    for key in ("wait", "stall"):
        means = blame[f"{key}_packet_ns"].sum(axis=0) / np.maximum(packets, 1)
        known: Any = np.where(packets > 0, means, None)
        numbers[f"{key}_ns_per_packet"] = known.tolist()
    return numbers


def system_throughput(jobs: list[dict[str, Any]], now_ns: float) -> float | None:
    """Received bytes of all jobs over the time from the first start to the last finish, in GB/ms (= 1,000 GB/s)."""
    finishes = [job["finish_ns"] for job in jobs]
    end = now_ns if None in finishes else max(finishes)
    took = end - min(job["start_ns"] for job in jobs if job["start_ns"] is not None)
    return float(sum(job["bytes_received"] for job in jobs) / took / 1e3) if took > 0 else None


def rank_table(simulation: Simulation, jobs: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    """A row per rank of every job that has started, with `terminal_name` if terminals have names."""
    jobs = [job for job in jobs if job["start_ns"] is not None]
    table = {
        "job": np.repeat([job["name"] for job in jobs], [job["ranks"] for job in jobs]),
        "rank": np.concatenate([np.arange(job["ranks"]) for job in jobs]),
    }
    table |= {column: np.concatenate([job[key] for job in jobs]) for key, column in _RANKS.items()}
    return table | rank_names(simulation, table["terminal"])


def channel_table(simulation: Simulation, blame: dict[str, NDArray[Any]], names: list[str]) -> dict[str, NDArray[Any]]:
    """A row per channel: its load, the groups and names at its ends, and flits and delays of each job.

    `group` is the group of the sending router. `peer_group` is -1 if a terminal receives.
    """
    channels = simulation.channels()
    table = channels | channel_names(simulation, channels)
    table["group"], table["peer_group"] = channel_groups(simulation.routers()["group"], channels)
    if not blame["flits"].size:
        return table
    for v, victim in enumerate(names):
        for key in ("flits", "stall_ns"):
            table[f"{key}.{victim}"] = blame[key][:, v]
        for key in ("wait_packet_ns", "stall_packet_ns"):
            table |= {f"{key}.{victim}.{culprit}": blame[key][:, v, c] for c, culprit in enumerate(names)}
    return table
