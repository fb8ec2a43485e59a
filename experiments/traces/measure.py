"""Numbers about a trace, and its course on an ideal network.

An ideal network has no links: a message takes the time of the LogGOPS model (Hoefler, Schneider, Lumsdaine,
"LogGOPSim", LSAP 2010). Messages wait for each other at their ranks only. The core computes this course with
`workload.network=none`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import ConfigError, CoreError, Program, Simulation, registered
from ...simcore.traces import Trace

SAMPLES = 240  # points in time of a course
_TERMINALS = 256  # per router of the network that an ideal run does not use
_CYCLE_NS = (1e-3, 1e6)  # bounds of router.cycle_ns
_COARSE_NS = 1000.0  # a cycle of the run that finds the end; no time of an operation depends on it
_S = "loggops_S_bytes"


@dataclass(frozen=True)
class Course:
    """The course of a program on an ideal network. Arrays are [samples]."""

    finish_ns: float  # the end of the last rank
    time_ns: NDArray[np.float64]  # ends of the intervals
    computing: NDArray[np.float64]  # ranks that compute, as a mean over the interval
    bytes_received: NDArray[np.float64]  # by all ranks in the interval
    messages_received: NDArray[np.float64]  # by all ranks in the interval


def loggops_parameters() -> dict[str, float]:
    """The parameters of the LogGOPS model by their keys in the `workload` section, with their defaults."""
    params = registered("workload")["workload"]["params"]
    return {key: param["default"] for key, param in params.items() if key.startswith("loggops_")}


def facts_of(trace: Trace, loggops: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Everything that `flitgym trace info` prints; JSON can represent it.

    `loggops` has the parameters that differ from `loggops_parameters()`.
    """
    program, model = trace.program, {**loggops_parameters(), **(loggops or {})}
    totals = program.totals()
    sends, receives = totals["messages"], totals["receives"]
    return {
        "format": trace.format,
        "ranks": program.ranks,
        "operations": {
            "calc": totals["operations"] - sends - receives,
            "send": sends,
            "receive": receives,
        },
        "message_bytes": totals["bytes"],
        "computation_ns": totals["calc_ns"],
        "contents": dict(trace.counts),
        "notes": list(trace.notes),
        "ideal_finish": {
            # S stays, because it decides which sends wait for their receive.
            "computation_ns": finish_ns(program, {key: x if key == _S else 0.0 for key, x in model.items()}),
            "loggops_ns": finish_ns(program, model),
            "loggops": model,
        },
    }


def finish_ns(program: Program, loggops: Mapping[str, float]) -> float:
    """The end of the last rank on an ideal network. If all times of the model are zero, messages take no time."""
    simulation = _ideal(program, loggops, _COARSE_NS)
    end = simulation.facts()["end_of_time_cycles"]
    if not simulation.run_workload(end):
        stuck = simulation.workload_stuck
        why = "wait for each other forever" if stuck else f"are not done after {end * simulation.cycle_ns:g} ns"
        raise CoreError(f"the ranks {why}:{simulation.waiting(8)}")
    return float(simulation.jobs()[0]["finish_ns"])


def course_of(program: Program, loggops: Mapping[str, float], end_ns: float) -> Course:
    """The course of a program that ends at `end_ns`."""
    lowest, highest = _CYCLE_NS
    # A cycle has a whole number of picoseconds.
    interval = max(np.ceil(end_ns * 1000 / SAMPLES) / 1000, lowest)
    cycles = int(np.ceil(interval / highest))
    simulation = _ideal(program, loggops, np.ceil(interval / cycles * 1000) / 1000)
    times, rows = [], []
    for _ in range(SAMPLES + 1):
        if simulation.workload_finished:
            break
        simulation.run_workload(cycles)
        times.append(min(simulation.time_ns, end_ns))
        rows.append(_progress(simulation, times[-1], loggops))
    steps = np.diff(np.array(rows or [(0.0, 0.0, 0.0)]), axis=0, prepend=0)
    widths = np.maximum(np.diff(np.array(times or [0.0]), prepend=0), 1e-6)
    return Course(end_ns, np.array(times or [0.0]), steps[:, 0] / widths, steps[:, 1], steps[:, 2])


def _progress(simulation: Simulation, now_ns: float, loggops: Mapping[str, float]) -> tuple[float, float, float]:
    # Computing time of all ranks in ns, bytes and messages that were received.
    job, arrays = simulation.jobs()[0], simulation.arrays()
    ranks = arrays["ranks"]
    present = np.where(ranks["calculating"] > 0, now_ns * 1000 - ranks["calc_since"].astype(float), 0)
    computed = (ranks["calc"].astype(float) + present).sum() / 1000
    # The core counts a message when it begins to arrive. Its bytes then occupy the receiving interface, for a gap and
    # a time per byte.
    occupied = arrays["nic_free"].reshape(-1, 2)[:, 1].astype(float) / 1000 - now_ns
    gap, per_byte = loggops["loggops_g_ns"], loggops["loggops_G_ns_per_byte"]
    coming = np.maximum(occupied - gap, 0).sum() / per_byte if per_byte else 0.0
    messages = job["messages_received"] - np.count_nonzero(occupied > gap)
    return float(computed), max(float(job["bytes_received"] - coming), 0.0), float(messages)


def _ideal(program: Program, loggops: Mapping[str, float], cycle_ns: float) -> Simulation:
    valid = loggops_parameters()
    for key in loggops:
        if key not in valid:
            raise ConfigError(f"unknown parameter '{key}' of the LogGOPS model; valid keys: {', '.join(valid)}")
    # A ring has the fewest ports for its terminals.
    routers = max(2, -(-program.ranks // _TERMINALS))
    return Simulation(
        {
            "topology": {"name": "torus", "sizes": [routers], "terminals_per_router": -(-program.ranks // routers)},
            "router": _router(cycle_ns),
            "routing": {"name": "dimension_order"},
            "workload": {
                **{key: int(value) if key.endswith("_bytes") else value for key, value in loggops.items()},
                "network": "none",
                "host": "loggops",
                "placement": "linear",
                "blame": False,
                "jobs": [{"name": "trace", "program": program}],
            },
        }
    )


def _router(cycle_ns: float) -> dict[str, Any]:
    """A router whose delays are whole cycles of any length; an ideal run does not use it."""
    flit = 128
    delays = [f"link_latency_ns_{kind}" for kind in ("host", "local", "global")] + ["output_latency_ns"]
    speeds = [f"link_bandwidth_gb_per_s_{kind}" for kind in ("host", "local", "global")]
    return {
        "name": "vc_router",
        "cycle_ns": cycle_ns,
        "flit_bytes": flit,
        "watchdog_ns": 1000 * cycle_ns,
        **dict.fromkeys(delays, cycle_ns),
        **dict.fromkeys([*speeds, "crossbar_bandwidth_gb_per_s"], flit / cycle_ns),
    }
