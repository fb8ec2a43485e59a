"""`hydra/launcher=ray`: the runs of a sweep (-m) as tasks of a Ray cluster. Ray itself is imported when a sweep starts.

Hydra's own plugin for Ray asks for an older cloudpickle than joblib brings and for one cloud's SDK, and cannot join a
cluster that is there already without help; this is the part of it that a sweep needs.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from ...agents.ray_cluster import join
from ...simcore import CoreError
from ..terminal.commandline import CommandError
from ..terminal.times import duration_text
from .cores import share_cores_by

_LOOK_SECONDS = 1.0
_LINES = 20  # in a sweep of any length
_LONG_SECONDS = 60.0  # what takes longer is announced

# Hydra takes launchers from the package `hydra_plugins` alone: this module stands there under a second name.
_PLUGIN = "hydra_plugins.flitgym"


class RayLauncher(Launcher):
    """Hydra's launcher that hands every run to Ray.

    Args:
        address: Of the cluster, as `ray.init` takes it; None starts Ray on this machine unless RAY_ADDRESS names one.
        cpus_per_run: How many of its CPUs a run counts for.
        memory_gb_per_run: Of a node's memory that a run counts for; None: it is not counted.
    """

    __module__ = _PLUGIN

    def __init__(self, address: str | None, cpus_per_run: float, memory_gb_per_run: float | None = None) -> None:
        self._address, self._cpus_per_run, self._memory_gb_per_run = address, cpus_per_run, memory_gb_per_run

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra's hook before a sweep."""
        self._context, self._function, self._config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run all jobs; their results in order. One that fails, or whose worker dies twice, leaves the others alone.

        Raises:
            CommandError: Ray is not installed.
            ConfigError: there is no cluster at the address, or none that lets this process in.
        """
        try:
            import ray

            from .ray_tasks import Tasks
        except ImportError:
            raise CommandError("hydra/launcher=ray needs Ray: pip install 'flitgym[ray]'") from None
        setup_globals()
        join(self._address, "hydra.launcher.address", log_to_driver=True)
        options: dict[str, Any] = {"num_cpus": self._cpus_per_run}
        if self._memory_gb_per_run:
            options["memory"] = int(self._memory_gb_per_run * 1e9)
        tasks: Tasks[int] = Tasks(run_one, **options)
        try:
            for number, overrides in enumerate(job_overrides):
                config = self._job_config(overrides, initial_job_idx + number)
                state = Singleton.get_state()
                tasks.start(number, self._context, config, self._function, state, str(Path.cwd()), self._cpus_per_run)
            return self._results(tasks, len(job_overrides))
        finally:
            # Ends what still runs when the sweep is interrupted.
            ray.shutdown()

    def _results(self, tasks: Any, count: int) -> list[JobReturn]:
        """Of all jobs, in order. One whose worker died, as the one that raised something, says so when it is read."""
        results: dict[int, JobReturn] = {}
        began = time.monotonic()
        while len(results) < count:
            for task in tasks.ended(_LOOK_SECONDS):
                if task.error is None:
                    results[task.key] = task.value
                else:
                    more = "; it begins again" if task.again else ""
                    _say(f"run {task.key} of the sweep: {task.said}{more}")
                    if task.again:
                        continue
                    results[task.key] = JobReturn(status=JobStatus.FAILED, _return_value=CoreError(task.said))
                if len(results) % max(1, count // _LINES) == 0 and len(results) < count:
                    left = (time.monotonic() - began) / len(results) * (count - len(results))
                    if left >= _LONG_SECONDS:
                        _say(f"{len(results)} of {count} runs, about {duration_text(left)} left")
        return [results[number] for number in range(count)]

    def _job_config(self, overrides: Sequence[str], number: int) -> DictConfig:
        config = self._context.config_loader.load_sweep_config(self._config, list(overrides))
        with open_dict(config):
            config.hydra.job.id = str(number)
            config.hydra.job.num = number
        return config


def run_one(
    context: HydraContext,
    config: DictConfig,
    function: Callable[[Any], Any],
    state: dict[Any, Any],
    directory: str,
    cpus: float,
) -> JobReturn:
    """Body of a task: one run, in the folder in which the sweep was started, which all machines must see."""
    os.chdir(directory)
    share_cores_by(cpus)
    setup_globals()
    Singleton.set_state(state)
    HydraConfig.instance().set_config(config)
    return run_job(
        hydra_context=context,
        task_function=function,
        config=config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass
class RayLauncherConfig:
    """Types of `hydra/launcher/ray.yaml`."""

    _target_: str = f"{_PLUGIN}.{RayLauncher.__name__}"
    address: str | None = None
    cpus_per_run: float = 1.0
    memory_gb_per_run: float | None = None


def register() -> None:
    """Make the launcher known to Hydra; safe to repeat."""
    sys.modules[_PLUGIN] = sys.modules[__name__]
    Plugins.instance().register(RayLauncher)
    ConfigStore.instance().store(group="hydra/launcher", name="flitgym_ray", node=RayLauncherConfig)
