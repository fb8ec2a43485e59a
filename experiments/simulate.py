"""`flitgym-simulate`: one run, or with `-m` a sweep over all cores. `flitgym-simulate --help` lists the choices."""

import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from ..configs import CONFIG_DIR, refuse_unused
from . import ray_launcher
from .commandline import run_command
from .one_run import obtain
from .progress import RunBar, no_report
from .times import time_text
from .workload_run import require_finished


@hydra.main(config_path=str(CONFIG_DIR), config_name="config", version_base="1.3")
def app(config: DictConfig) -> None:
    """Simulate one configuration in Hydra's run directory."""
    hydra_config = HydraConfig.get()
    directory = Path(hydra_config.runtime.output_dir)
    alone = hydra_config.mode == RunMode.RUN
    # The runs of a sweep share one terminal, and several bars at once would write over each other.
    try:
        refuse_unused(config, hydra_config.overrides.task)
        with RunBar() if alone and sys.stderr.isatty() else nullcontext() as bar:
            result, ran_now = obtain(config, directory, bar.report if bar else no_report)
    except BaseException:
        # Hydra has made the folder already; a run that came to nothing leaves none behind.
        with suppress(OSError):
            directory.rmdir()
        raise
    print(summary(result, directory, ran_now), flush=True)
    require_finished(result)


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
    ray_launcher.register()
    sys.exit(run_command("flitgym-simulate", app))


if __name__ == "__main__":
    main()
