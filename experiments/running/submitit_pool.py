"""The runs of a sweep as an array of Slurm jobs, by submitit, which Hydra's launcher of that name is made of, too."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ...configs import explain
from ...simcore import ConfigError, CoreError
from .cores import CORES, share_cores_by
from .sweep import PlannedRun, run_planned

_LOOK_SECONDS = 1.0
_LOGS = ".submitit/%j"  # beside the runs
# Of the section: what every executor takes, what it is made with, and what this pool says itself.
_COMMON = ("timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "stderr_to_stdout")
_OF_EXECUTOR = ("max_num_timeout",)
_OURS = ("submitit_folder", "name")


class SubmititPool:
    """A job per run. What they wait for is the queue; nothing is known of their progress but that they ended.

    Args:
        executor: "slurm", or "local" for processes of this machine.
        workers: Runs at the same time; None: what the section says (`array_parallelism`), of "local" one per core.
        folder: Of the results; every node must see it.
        description: The jobs' name.
        settings: Of the section, as `hydra_plugins.hydra_submitit_launcher.config` has them.
    """

    def __init__(
        self, executor: str, workers: int | None, folder: Path, description: str, settings: Mapping[str, Any]
    ) -> None:
        import submitit  # whoever could choose this launcher has it

        own = {f"{executor}_{key}": settings[key] for key in _OF_EXECUTOR if key in settings}
        self._executor = submitit.AutoExecutor(folder=folder.resolve() / _LOGS, cluster=executor, **own)
        rest = {
            key if key in _COMMON else f"{executor}_{key}": value
            for key, value in settings.items()
            if key not in (*_OF_EXECUTOR, *_OURS)
        }
        if workers and executor == "slurm":
            rest["slurm_array_parallelism"] = workers
        self._executor.update_parameters(name=description, **rest)
        # Slurm itself keeps to its part of an array; processes have nobody else who does.
        self._most: int = workers or CORES if executor == "local" else 1 << 30
        self._cpus: int | None = settings["cpus_per_task"]
        self._active: list[tuple[Any, PlannedRun]] = []

    def __len__(self) -> int:
        return len(self._active)

    @property
    def room(self) -> int:
        """How many more may be started now."""
        return self._most - len(self)

    def start(self, runs: Sequence[PlannedRun]) -> None:
        """Submit them, as one array."""
        if not runs:
            return
        with self._executor.batch():
            jobs = [
                self._executor.submit(_run, run.plain, str(run.directory), str(Path.cwd()), self._cpus) for run in runs
            ]
        self._active += zip(jobs, runs, strict=True)

    def news(self) -> list[tuple[PlannedRun, float | str]]:
        """Wait for news; the runs that have any, with 1 for those that ended, behind an error if there was one."""
        time.sleep(_LOOK_SECONDS)
        heard: list[tuple[PlannedRun, float | str]] = []
        for job, run in list(self._active):
            if not job.done():
                continue
            self._active.remove((job, run))
            if said := _said(job):
                heard.append((run, said))
            heard.append((run, 1.0))
        return heard

    def stop(self) -> None:
        """Cancel what still runs or waits; unfinished runs leave nothing behind."""
        for job, _ in self._active:
            job.cancel()


def _said(job: Any) -> str | None:
    """What went wrong in a job that ended, if something did."""
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        said: str | None = job.result()
        return said
    except UncompletedJobError:
        return f"its job {job.job_id} ended without a result (state {job.state}); {job.paths.stderr} may say why"
    except FailedJobError:
        return f"its job {job.job_id} failed; {job.paths.stderr} says why"


def _run(plain: dict[str, Any], directory: str, working: str, cpus: int | None) -> str | None:
    """Body of a job: one run; what went wrong, if something did."""
    os.chdir(working)
    share_cores_by(cpus or 1)
    try:
        run_planned(OmegaConf.create(plain), Path(directory), lambda part: None)
    except (ConfigError, CoreError, OSError) as error:
        return explain(error)
    return None
