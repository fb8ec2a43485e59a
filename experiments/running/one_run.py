"""Executes one simulation from a resolved configuration: builds it, runs its windows or jobs, and writes the result."""

import math
import resource
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...configs import config_hash, core_sections, has_workload, plot_formats
from ...configs.identity import plain_of
from ...configs.policies import require_policy_file
from ...simcore import ConfigError, Simulation, __version__, registered, results_version
from ...simcore._window import measure_window, trend_of
from ...simcore.pictures.frames import MOST_FRAMES, LinkFrames
from ...simcore.plugins import versions
from ..results.cautions import cautions
from ..results.files import finished, remove_if_unused, require_writable, write_arrays, write_result, write_table
from ..results.flow_times import has_flows
from ..results.message_matrix import matrices
from ..results.names import Columns, channel_names
from ..terminal.progress import Report, no_report
from ..workload.run import Limits, bytes_of_jobs, run_workload
from .executor import cores_of_a_run
from .flows import FlowWindow
from .live import Live
from .steady import check_steady, measure_steady

_COUNTS = {
    "window_cycles",
    "packets_generated",
    "packets_injected",
    "packets_delivered",
    "generations_missed",
    "flits_delivered",
    "flit_hops",
}
_FIRST_CHUNK = 500  # cycles of the first call into the core; shorter calls would cost too much
_CHUNK_SECONDS = 0.2  # approximate duration of a call into the core, between two reports of progress


Config = Mapping[str, Any]


@dataclass
class Phases:
    """The lengths of a run's phases in cycles of the router's clock."""

    warmup: int
    measure: int
    drain_max: int
    series_interval: int

    @classmethod
    def of(cls, run: Config, simulation: Simulation) -> "Phases":
        """Round the times of the `run` section to cycles; a ConfigError names a time that cannot be simulated."""
        cycle_ns, cycles = simulation.cycle_ns, {}
        for key in ("warmup_ns", "measure_ns", "drain_max_ns", "series_interval_ns"):
            if not (run[key] >= 0 and math.isfinite(run[key])):
                raise ConfigError(f"run.{key}: {run[key]:g} ns is negative or not finite")
            cycles[key.removesuffix("_ns")] = round(run[key] / cycle_ns)
        for key in ("measure", *(["series_interval"] if run["series_interval_ns"] > 0 else [])):
            if cycles[key] == 0:
                raise ConfigError(f"run.{key}_ns: {run[f'{key}_ns']:g} ns is shorter than one cycle ({cycle_ns:g} ns)")
        whole = cycles["warmup"] + cycles["measure"] + (cycles["drain_max"] if run["drain"] else 0)
        end = simulation.facts()["end_of_time_cycles"]
        if whole > end:
            raise ConfigError(
                f"run.measure_ns: all windows take {whole:.3g} cycles, and simulated time ends after {end:.3g}; use "
                "shorter windows or a longer router.cycle_ns"
            )
        return cls(**cycles)


def obtain(config: Config, directory: Path, report: Report) -> tuple[dict[str, Any], bool]:
    """The result of `config`: the finished one in `directory`, or that of a new run.

    Returns:
        The result, and whether it comes from a new run. Unfinished jobs (`workload_finished` is false) are not an error
        here: their result is written, and the next call repeats the run.

    Raises:
        ConfigError: the configuration cannot run.
        CoreError: the simulation stopped with an error, such as a deadlock.
        OSError: the result cannot be written. No unfinished file remains.
    """
    config = plain_of(config)
    if not config["run"]["overwrite"]:
        known = finished(directory, config_hash(config), __version__, results_version)
        if known is not None:
            return known, False
    return execute(config, directory, report), True


def execute(config: Config, directory: Path, report: Report) -> dict[str, Any]:
    """Run `config`, and write `result.json` and the tables that the configuration requests into `directory`.

    Returns the result. Unfinished jobs and exceptions are as in `obtain`.
    """
    config = plain_of(config)
    with remove_if_unused(directory, parents=False):
        result, tables, simulation = simulated(config, report, lambda: require_writable(directory))
        for name, columns in tables.items():
            write_table(directory / result["files"][name], columns)
        if config["run"]["save_q_table"]:
            result["files"]["q_table"] = "q_table.npz"
            simulation.save_q_table(str(directory / "q_table.npz"))
        if has_workload(config) and config["workload"]["message_matrix"]:
            result["files"]["messages"] = "messages.npz"
            ranks = {name: job["ranks"] for name, job in result["jobs"].items()}
            write_arrays(directory / "messages.npz", matrices(simulation, ranks))
        write_result(directory, result)  # last, because it marks a complete run
    return result


def simulated(
    config: Config, report: Report, built: Callable[[], object] = lambda: None
) -> tuple[dict[str, Any], dict[str, Columns], Simulation]:
    """Run `config` without writing a file. `built` is called when the network is built, before the first cycle.

    Returns the result, the tables by name, and the simulation. Exceptions are as in `obtain`.
    """
    began = time.process_time()
    simulation = prepare(config)
    build_cpu_seconds = time.process_time() - began
    built()
    with_table(simulation, config)
    jobs = has_workload(config)
    if report is not no_report and not (jobs and config["workload"]["network"] == "none"):
        report = Live(simulation, report, bytes_of_jobs(config) if jobs else ())
    numbers, tables = (run_workload if jobs else _run_windows)(simulation, config, report)
    result = {
        **_statistics(simulation),
        "latency_reference": config["router"]["latency_from"],
        "cycles": simulation.now,
        "simulated_ns": simulation.time_ns,
        "changes_ns": simulation.changes_ns(),
        "jobs": {},  # a workload overrides it
        **class_numbers(simulation),
        **numbers,
        "build_cpu_seconds": build_cpu_seconds,
        "peak_rss_mb": _peak_mb(),
        "state_hash": simulation.state_hash(),
        "version": __version__,
        "results_version": results_version,
        "plugins": versions(simulation.facts()["plugins"]),
        "files": {name: f"{name}.parquet" for name in tables},
        "facts": simulation.facts(),
        "config_hash": config_hash(config),
        "config": deepcopy(config),
        "core_config": simulation.configuration(),
    }
    result["warnings"] = cautions(config, result)
    return result, tables, simulation


def with_table(simulation: Simulation, config: Mapping[Any, Any]) -> Simulation:
    """Load the learned table that the section `run` names, and freeze it if the section says so."""
    if config["run"]["load_q_table"] is not None:
        simulation.load_q_table(config["run"]["load_q_table"])
    simulation.q_frozen = simulation.q_frozen or bool(config["run"]["freeze_q_table"])
    return simulation


def class_numbers(simulation: Simulation) -> dict[str, Any]:
    """The field `classes` of a result, if there are traffic classes: the packets of the window by class."""
    facts, window = simulation.facts(), simulation.statistics()["window_cycles"]
    most = window * facts["terminals"] / facts["flit_cycles"]  # flits of all terminals
    numbers = {own.pop("name"): own | {"accepted_load": own["flits"] / most} for own in simulation.classes()}
    return {"classes": numbers} if numbers else {}


def _peak_mb() -> float:
    """The peak memory of this process in MiB. In a worker on Linux, it counts from the beginning of this run."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def prepare(config: Config) -> Simulation:
    """Build the network of `config`, and check everything that can be checked before cycle 0."""
    config = plain_of(config)
    require_policy_file(config["routing"])
    plot_formats(config["plot"]["format"])  # refuses an unknown one
    resources = {key: config["run"][key] for key in ("max_memory_gb", "partitions")}
    threads = config["run"]["threads"]
    simulation = Simulation({**core_sections(config), **resources, "threads": max(threads, 1)})
    if not threads:  # the partitions must not depend on the machine
        simulation.threads = cores_of_a_run()
    if has_workload(config):
        Limits.of(config["workload"], simulation)
    else:
        Phases.of(config["run"], simulation)
        if config["run"]["drain"] and has_flows(config):
            raise ConfigError("run.drain: a run of flows ends when those of its window are complete; leave it out")
        _check_precision(config["run"], simulation)
    routing = config["routing"]["name"]
    if config["run"]["save_q_table"] and not simulation.facts()["table_layout"]:
        raise ConfigError(f"run.save_q_table: routing.{routing} has no Q-table")
    if registered("routing")[routing]["facts"]["external"]:
        raise ConfigError(
            f"routing: '{routing}' gets its decisions from Python (collect() and apply()); use it with "
            "flitgym.Simulation or an environment"
        )
    return simulation


def _check_precision(run: Config, simulation: Simulation) -> None:
    """Refuse a search for the steady state of a network that has none, and its keys in a run without a search."""
    if run["precision"] == 0:
        for key, default in (("confidence", 0.95), ("max_ns", 2_000_000.0)):  # of run/standard.yaml
            if (value := run[key]) != default:
                why = "has no effect without run.precision; use run=steady, or leave it out"
                raise ConfigError(f"run.{key}: {value:g} {why}")
        return
    check_steady(simulation, run["precision"], run["confidence"], run["max_ns"], run["warmup_ns"], run["measure_ns"])
    if run["series_interval_ns"] > 0:
        raise ConfigError(
            "run.series_interval_ns: run.precision makes a series with its own interval, run.measure_ns / 400; use 0"
        )


def _statistics(simulation: Simulation) -> dict[str, float | int | None]:
    # The core returns every number as a float. Counts become integers, and latencies without packets None.
    numbers: dict[str, float | int | None] = dict(simulation.statistics())
    for name, value in simulation.statistics().items():
        if name in _COUNTS:
            numbers[name] = int(value)
        elif "_latency_" in name and not numbers["packets_delivered"]:
            numbers[name] = None
    return numbers


def _run_windows(simulation: Simulation, config: Config, report: Report) -> tuple[dict[str, Any], dict[str, Columns]]:
    """Warm up, measure and drain. Returns the durations, and the tables."""
    run = config["run"]
    phases = Phases.of(run, simulation)
    if phases.series_interval:
        simulation.set_series_interval(phases.series_interval)
    frames = None
    if run["channels"]:
        frames = LinkFrames(simulation, (phases.warmup + phases.measure) // (MOST_FRAMES - 1) + 1)
    cpu, wall = time.process_time(), time.perf_counter()
    flows = FlowWindow(simulation, config) if has_flows(config) else None
    table: Columns = {}
    if flows and config["traffic"]["file"]:
        numbers, table = flows.replay(report)
    else:
        work = _steady(simulation, run, report, frames) if run["precision"] > 0 else None
        numbers = work or _advance(simulation, phases, report, frames, flows)
        if flows:
            more, table = flows.result(phases.drain_max, report)
            numbers |= more
    drained = None
    if run["drain"]:
        report("drain", 1.0)
        simulation.stop_sources()
        drained = simulation.drain(phases.drain_max)
    numbers |= {
        "cpu_seconds": time.process_time() - cpu,
        "wall_seconds": time.perf_counter() - wall,
        "drained": drained,
    }
    tables: dict[str, Columns] = {}
    if run["series_interval_ns"] > 0 or run["precision"] > 0:
        tables["series"] = simulation.series()
    if flows:
        tables["flow_times"] = table
    if run["channels"]:
        channels = simulation.channels()
        tables["channels"] = channels | channel_names(simulation, channels)
    if frames:
        tables |= {"links": frames.table(), "flows": frames.flows()}
    return numbers, tables


def _steady(simulation: Simulation, run: Config, report: Report, frames: LinkFrames | None) -> dict[str, Any]:
    """Measure a steady state. Returns its fields, and the latencies of the window's halves."""
    precision = (run["precision"], run["confidence"], run["max_ns"])
    windows = {"warmup_ns": run["warmup_ns"], "window_ns": run["measure_ns"]}
    found = measure_steady(simulation, *precision, **windows, report=report, frames=frames)
    latency, packets = found.first_half
    end = simulation.statistics()
    whole = end["packets_delivered"], end["packet_latency_mean_ns"] * end["packets_delivered"]
    return {
        "measure_cpu_seconds": found.window_cpu_seconds,
        **trend_of([(0, 0), (packets, latency * packets), whole]),
        "steady": found.steady,
        "steady_reason": found.reason,
        "saturated": found.saturated,
        "packet_latency_mean_ns_interval": found.latency_interval,
        "accepted_load_interval": found.accepted_interval,
        "warmup_end_ns": found.warmup_end_ns,
        "effective_samples": found.effective_samples,
    }


def _advance(
    simulation: Simulation, phases: Phases, report: Report, frames: LinkFrames | None, flows: FlowWindow | None
) -> dict[str, Any]:
    """Step through warm-up and window. Returns a duration, and the latencies of the window's halves."""
    expected = phases.warmup + phases.measure

    def run(cycles: int, phase: str) -> None:
        run_cycles(simulation, cycles, phase, expected, report, frames)

    run(phases.warmup, "warm-up")
    if frames:
        frames.cut()
    if flows:
        flows.open()
    measure_cpu = time.process_time()
    found = measure_window(simulation, phases.measure, lambda cycles: run(cycles, "measure"))
    measure_cpu_seconds = time.process_time() - measure_cpu
    simulation.end_window()
    return {"measure_cpu_seconds": measure_cpu_seconds, **found}


def run_cycles(
    simulation: Simulation,
    cycles: int,
    phase: str,
    expected: float,
    report: Report,
    frames: LinkFrames | None = None,
) -> None:
    """Simulate a phase, and report its progress; the whole run is expected to have a number of cycles."""
    chunk = _FIRST_CHUNK
    end = simulation.now + cycles
    while simulation.now < end:
        report(phase, simulation.now / expected)
        began, step = time.perf_counter(), min(chunk, (min(frames.next, end) if frames else end) - simulation.now)
        simulation.run(step)
        if frames:
            frames.look()
        # A chunk is at most twice as long as the previous one, because a network that fills up slows down.
        speed = step / max(time.perf_counter() - began, 1e-6)
        chunk = max(_FIRST_CHUNK, min(2 * step, round(speed * _CHUNK_SECONDS)))
