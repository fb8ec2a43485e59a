"""`flitgym simulate`: one run, or with `-m` a sweep over all cores. `flitgym simulate --help` lists the choices."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig

from ..configs import CONFIG_DIR, has_workload, plot_formats, refuse_unused
from .conclusion.conclude import conclude, import_ahead
from .results.cautions import say_cautions
from .running.hydra_plugin import Sweep
from .running.launcher import in_run_folder
from .running.one_run import obtain
from .running.plan import SIMULATIONS
from .terminal.commandline import by_hydra, relative
from .terminal.progress import RunBar
from .terminal.times import duration_text, time_text
from .workload.run import require_finished

NAME = "flitgym simulate"


@hydra.main(config_path=str(CONFIG_DIR), config_name="config", version_base="1.3")
def app(config: DictConfig) -> None:
    """Simulate one configuration in Hydra's run directory."""
    with in_run_folder(config) as (directory, words):
        refuse_unused(config, words)
        known = has_workload(config) or config.run.precision == 0  # else the end depends on the measured variance
        say = (lambda seconds: print(f"{NAME}: {forecast(config, seconds)}", file=sys.stderr)) if known else None
        with RunBar(sys.stderr.isatty(), say=say) as bar:
            result, ran_now = obtain(config, directory, bar.report)
        print(summary(result, directory, ran_now), flush=True)
        say_cautions(NAME, [result])
        require_finished(result)


def forecast(config: DictConfig, seconds: float) -> str:
    """A message with the duration of a long run, and the keys that shorten it with their present values."""
    name = "workload" if has_workload(config) else "run"
    section = config[name]
    keys = ("warmup_ns", "measure_ns", "scale", "size_scale", "max_ns")
    shorter = [f"{name}.{key} (now {section[key]:,g})" for key in keys if key in section]
    return (
        f"this run will take about {duration_text(seconds)}; smaller values of {', '.join(shorter)} or a smaller "
        "topology shorten it"
    )


def summary(result: Mapping[str, Any], directory: Path, ran_now: bool) -> str:
    """A line about a run for the terminal, and a line per job."""
    state = f"{result['cpu_seconds']:.1f} s" if ran_now else "finished before"
    where = f"{relative(directory)} ({state})"
    if result["jobs"]:
        over = "finished" if result["workload_finished"] else "NOT finished"
        lines = [f"{where}: {over} after {time_text(result['simulated_ns'])}"]
        if "queue" in result:
            return "\n".join([*lines, *_queue_summary(result["queue"])])
        lines += [f"  {name}: {_job_summary(job)}" for name, job in result["jobs"].items()]
        return "\n".join([*lines, *_class_summary(result)])
    if not result["packets_delivered"]:
        return f"{where}: no packet was delivered in the window"
    mean, p99 = result["packet_latency_mean_ns"], result["packet_latency_p99_ns"]
    accepted = f"accepted {result['accepted_load']:.3f}"
    if result["offered_load"] is not None:
        accepted += f" of {result['offered_load']:.3f}"
    line = f"{where}: {accepted}, latency mean {mean:,.0f} ns, p99 {p99:,.0f} ns, hops {result['hops_mean']:.2f}"
    line = "\n".join([line, *_class_summary(result)])
    if "flows" in result:
        return "\n".join([line, *_flow_summary(result["flows"])])
    return f"{line}\n{_intervals(result)}" if "steady" in result else line


def _class_summary(result: Mapping[str, Any]) -> list[str]:
    """A line per traffic class."""
    lines = []
    for name, own in result.get("classes", {}).items():
        lines.append(f"  class {name}: {own['packets']:,} packets, accepted {own['accepted_load']:.3f}")
        if own["packets"]:
            mean, p99 = own["packet_latency_mean_ns"], own["packet_latency_p99_ns"]
            lines[-1] += f", latency mean {mean:,.0f} ns, p99 {p99:,.0f} ns"
    return lines


def _flow_summary(flows: Mapping[str, Any]) -> list[str]:
    """Lines about the flows: counts, completion times, order, and the slowdown by size."""
    left = f", {flows['unfinished']} of them NOT complete" if flows["unfinished"] else ""
    lines = [f"  {flows['measured']:,} flows{left}"]
    if "bin_bytes" not in flows:
        return lines
    lines[0] += f", mean completion {time_text(flows['completion_mean_ns'])}, {flows['late_share']:.1%} packets late"
    columns = ("bytes", "flows", "mean", "p50", "p95", "p99")
    bins = zip(*(flows[f"bin_{key}" if key in columns[:2] else f"bin_slowdown_{key}"] for key in columns), strict=True)
    whole = [flows["measured"] - flows["unfinished"], *(flows[f"slowdown_{key}"] for key in columns[2:])]
    rows: list[tuple[str, ...]] = [("up to bytes", "flows", "slowdown mean", "p50", "p95", "p99")]
    rows += [(f"{end:,.0f}", f"{n:,}", *(f"{x:.2f}" for x in values)) for end, n, *values in bins]
    rows.append(("all", f"{whole[0]:,}", *(f"{x:.2f}" for x in whole[1:])))
    return lines + ["  " + "".join(f"{cell:>14}" for cell in row) for row in rows]


def _queue_summary(queue: Mapping[str, Any]) -> list[str]:
    """Lines about the jobs of a scheduler."""
    lines = [f"  {queue['jobs_finished']} of {queue['jobs']} jobs finished"]
    if "makespan_ns" not in queue:
        return lines
    lines[0] += f", makespan {time_text(queue['makespan_ns'])}, utilisation {queue['utilisation']:.1%}"
    wait, p95 = time_text(queue["wait_ns_mean"]), time_text(queue["wait_ns_p95"])
    lines.append(f"  waiting time mean {wait}, p95 {p95}; fragmentation {queue['fragmentation_mean']:.2f}")
    for key, words in (("bounded_slowdown", "bounded slowdown"), ("slowdown", "slowdown against a run alone")):
        if queue[f"{key}_mean"] is not None:
            lines.append(f"  {words} mean {queue[f'{key}_mean']:.2f}, p95 {queue[f'{key}_p95']:.2f}")
    return lines


def _intervals(result: Mapping[str, Any]) -> str:
    state = "steady" if result["steady"] else "NOT steady"
    latency, accepted = result["packet_latency_mean_ns_interval"], result["accepted_load_interval"]
    known = f"latency {latency[0]:,.0f} to {latency[1]:,.0f} ns, accepted load {accepted[0]:.4f} to {accepted[1]:.4f}"
    confidence, warmup = result["config"]["run"]["confidence"], result["warmup_end_ns"]
    return f"  {state}, {100 * confidence:.12g} % intervals: {known}; warm-up {warmup:,.0f} ns"


def _job_summary(job: Mapping[str, Any]) -> str:
    ranks = f"{job['ranks']} ranks"
    if job["finish_ns"] is None:
        ranks += f", {job['ranks_finished']} of them finished"
    if job["comm_time_mean_ns"] is None:
        return ranks
    over = "" if job["finish_ns"] is None else f", finished at {time_text(job['finish_ns'])}"
    return f"{ranks}, communication {time_text(job['comm_time_mean_ns'], job['comm_time_std_ns'])}{over}"


def main() -> None:
    """Entry point of the command."""

    def end() -> None:
        for folder in sweep.folders:
            for path in conclude(folder, plot_formats(sweep.runs[0].plain["plot"]["format"]), NAME):
                print(relative(path))

    sweep = Sweep(NAME, SIMULATIONS, summary, meanwhile=import_ahead)
    sweep.main(lambda: by_hydra(app, NAME, "config"), end)
