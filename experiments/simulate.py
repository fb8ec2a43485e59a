"""`flitgym-simulate`: one run, or with `-m` a sweep over all cores. `flitgym-simulate --help` lists the choices."""

import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from ..configs import CONFIG_DIR, explain, has_workload, refuse_added, refuse_unused
from ..simcore import ConfigError, CoreError
from .results.cautions import say_cautions
from .running import grid, ray_launcher, sweep_forecast
from .running.launcher import ONE_RUN, refuse_launcher
from .running.one_run import obtain
from .running.parent import end_with_command, have_workers
from .terminal.commandline import past_hydra, run_command
from .terminal.progress import Forecast, RunBar, no_report
from .terminal.times import duration_text, time_text
from .workload.run import require_finished

NAME = "flitgym-simulate"


@hydra.main(config_path=str(CONFIG_DIR), config_name="config", version_base="1.3")
def app(config: DictConfig) -> None:
    """Simulate one configuration in Hydra's run directory."""
    end_with_command()
    if HydraConfig.get().mode == RunMode.RUN:
        with past_hydra():
            _simulate(config, None)
    else:
        _simulate(config, int(HydraConfig.get().job.num))


def _simulate(config: DictConfig, number: int | None) -> None:
    # A run of a sweep has a number.
    hydra_config = HydraConfig.get()
    directory = Path(hydra_config.runtime.output_dir)
    # The runs of a sweep share one terminal, and several bars at once would write over each other.
    try:
        if number is None:
            refuse_launcher(ONE_RUN)
        refuse_added(config)
        refuse_unused(config, hydra_config.overrides.task)
        with RunBar() if number is None and sys.stderr.isatty() else nullcontext() as bar:
            report = bar.report if bar else no_report
            if not number:  # of a sweep, the first run stands for the others
                report = Forecast(report, lambda seconds: _say(forecast(config, seconds, number is not None)))
            result, ran_now = obtain(config, directory, report)
    except BaseException as error:
        # Hydra has made the folder already; a run that came to nothing leaves none behind.
        with suppress(OSError):
            directory.rmdir()
        if number is not None and isinstance(error, (ConfigError, CoreError)):
            raise type(error)(f"{directory.name}: {explain(error)}") from error
        raise
    print(summary(result, directory, ran_now), flush=True)
    if number is None:
        say_cautions(NAME, [result])
    elif ran_now and (left := sweep_forecast.after_run(number, directory.parent)):
        _say(left)
    require_finished(result)


def forecast(config: DictConfig, seconds: float, in_sweep: bool) -> str:
    """What a long run will take, and the keys that shorten it."""
    text = f"this run will take about {duration_text(seconds)}"
    runs, workers = sweep_forecast.size()
    if in_sweep and runs > 1:
        whole = duration_text(seconds * -(-runs // workers))
        text += f", all {runs} runs about {whole} if they are alike and none is finished"
    if has_workload(config):
        shorter = "workload.scale=0.1, workload.size_scale=0.1"
    else:
        run = config.run
        shorter = f"run.warmup_ns (now {run.warmup_ns:,.0f}), run.measure_ns ({run.measure_ns:,.0f})"
    return f"{text}; shorter with {shorter}, a smaller topology"


def _say(text: str) -> None:
    print(f"{NAME}: {text}", file=sys.stderr, flush=True)


def summary(result: dict[str, Any], directory: Path, ran_now: bool) -> str:
    """One line about a run for the terminal, and one for each of its jobs."""
    state = f"{result['cpu_seconds']:.1f} s" if ran_now else "finished before"
    where = f"{_shown(directory)} ({state})"
    if result["jobs"]:
        over = "finished" if result["workload_finished"] else "NOT finished"
        return "\n".join(
            [
                f"{where}: {over} after {time_text(result['simulated_ns'])}",
                *(f"  {name}: {_job_summary(job)}" for name, job in result["jobs"].items()),
            ]
        )
    if not result["packets_delivered"]:
        return f"{where}: no packet was delivered in the window"
    mean, p99 = result["packet_latency_mean_ns"], result["packet_latency_p99_ns"]
    accepted = f"accepted {result['accepted_load']:.3f} of {result['offered_load']:.3f}"
    return f"{where}: {accepted}, latency mean {mean:,.0f} ns, p99 {p99:,.0f} ns, hops {result['hops_mean']:.2f}"


def _job_summary(job: dict[str, Any]) -> str:
    ranks = f"{job['ranks']} ranks"
    if job["finish_ns"] is None:
        ranks += f", {job['ranks_finished']} of them finished"
    if job["comm_time_mean_ns"] is None:
        return ranks
    over = "" if job["finish_ns"] is None else f", finished at {time_text(job['finish_ns'])}"
    return f"{ranks}, communication {time_text(job['comm_time_mean_ns'], job['comm_time_std_ns'])}{over}"


def _shown(directory: Path) -> Path:
    return directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory


def main() -> None:
    """Entry point of the command."""
    have_workers()
    ray_launcher.register()
    grid.register()
    sys.exit(run_command(NAME, app))


if __name__ == "__main__":
    main()
