"""`hydra/launcher=ray`: the runs of a sweep (-m) as tasks of a Ray cluster. Ray itself is imported when a sweep starts.

Hydra's own plugin for Ray asks for an older cloudpickle than joblib brings and for one cloud's SDK, and cannot join a
cluster that is there already without help; this is the part of it that a sweep needs.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from ..agents.ray_cluster import join
from .commandline import CommandError

# Hydra takes launchers from the package `hydra_plugins` alone: this module stands there under a second name.
_PLUGIN = "hydra_plugins.flitgym"


class RayLauncher(Launcher):
    """Hydra's launcher that hands every run to Ray.

    Args:
        address: Of the cluster, as `ray.init` takes it; None starts Ray on this machine unless RAY_ADDRESS names one.
        cpus_per_run: How many of its CPUs a run counts for.
    """

    __module__ = _PLUGIN

    def __init__(self, address: str | None, cpus_per_run: float) -> None:
        self._address, self._cpus_per_run = address, cpus_per_run

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra's hook before a sweep."""
        self._context, self._function, self._config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run all jobs; their results in order.

        Raises:
            CommandError: Ray is not installed.
            ConfigError: there is no cluster at the address, or none that lets this process in.
        """
        try:
            import ray
        except ImportError:
            raise CommandError("hydra/launcher=ray needs Ray: pip install 'flitgym[ray]'") from None
        setup_globals()
        join(self._address, "hydra.launcher.address", log_to_driver=True)
        run = ray.remote(num_cpus=self._cpus_per_run, max_retries=0)(run_one)
        try:
            tasks = []
            for number, overrides in enumerate(job_overrides, initial_job_idx):
                config = self._job_config(overrides, number)
                state = Singleton.get_state()
                tasks.append(run.remote(self._context, config, self._function, state, str(Path.cwd())))
            results: list[JobReturn] = ray.get(tasks)
        finally:
            # Ends what still runs when the sweep is interrupted.
            ray.shutdown()
        return results

    def _job_config(self, overrides: Sequence[str], number: int) -> DictConfig:
        config = self._context.config_loader.load_sweep_config(self._config, list(overrides))
        with open_dict(config):
            config.hydra.job.id = str(number)
            config.hydra.job.num = number
        return config


def run_one(
    context: HydraContext, config: DictConfig, function: Callable[[Any], Any], state: dict[Any, Any], directory: str
) -> JobReturn:
    """Body of a task: one run, in the folder in which the sweep was started, which all machines must see."""
    os.chdir(directory)
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


@dataclass
class RayLauncherConfig:
    """Types of `hydra/launcher/ray.yaml`."""

    _target_: str = f"{_PLUGIN}.{RayLauncher.__name__}"
    address: str | None = None
    cpus_per_run: float = 1.0


def register() -> None:
    """Make the launcher known to Hydra; safe to repeat."""
    sys.modules[_PLUGIN] = sys.modules[__name__]
    Plugins.instance().register(RayLauncher)
    ConfigStore.instance().store(group="hydra/launcher", name="flitgym_ray", node=RayLauncherConfig)
