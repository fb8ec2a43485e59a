"""Hydra's sweeper for grids (`-m`), with a check of all runs before the first that takes milliseconds for each.

Hydra's own composes every run anew, a tenth of a second each, and does not say which of them is wrong.
"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ...configs.assembly import ROOTS, Assembly
from ...configs.schema import SWEEPER
from ...simcore import ConfigError
from ..terminal.commandline import of_run
from .launcher import require_slurm


class GridSweeper(Sweeper):
    """Every combination of the values that are swept."""

    __module__ = SWEEPER.rpartition(".")[0]

    def __init__(self, max_batch_size: int | None, params: dict[str, str] | None) -> None:
        # Not before Hydra has read its plugins, for which it makes every class of them anew.
        from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

        self._basic = BasicSweeper(max_batch_size, params)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra's hook before a sweep.

        Raises:
            CommandError: the launcher is of a batch system that is not here.
        """
        require_slurm(config.hydra.launcher)
        self._basic.setup(hydra_context=hydra_context, task_function=task_function, config=config)
        self._basic.launcher = _Raising(self._basic.launcher)  # type: ignore[assignment]
        root = ROOTS.get(config.hydra.job.config_name)
        if root is not None:
            assembly = Assembly(root)
            self._basic.validate_batch_is_legal = partial(check_batch, assembly)  # type: ignore[method-assign]

    def sweep(self, arguments: list[str]) -> Any:
        """Hydra's hook for the sweep itself."""
        return self._basic.sweep(arguments)


class _Raising:
    """A launcher for a sweep that ends with the error of its first failed run.

    Whoever reads the value of a failed run from Hydra makes it print a line about the run before our own.
    """

    def __init__(self, launcher: Any) -> None:
        self._launcher = launcher

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Hydra's hook for the runs of a batch."""
        done: Sequence[JobReturn] = self._launcher.launch(job_overrides, initial_job_idx=initial_job_idx)
        for run in done:
            if run.status == JobStatus.FAILED:
                raise run._return_value
        return done


def check_batch(assembly: Assembly, batch: Sequence[Sequence[str]]) -> None:
    """Compose every run of a batch.

    Args:
        assembly: Of their root.
        batch: The overrides of each.

    Raises:
        ConfigError: one of them cannot be composed; names it.
    """
    assembly.expect(batch)
    common = set(batch[0]).intersection(*batch)
    for words in batch:
        try:
            assembly.resolved(words, {})
        except (HydraException, OmegaConfBaseException, ConfigError) as error:
            raise of_run([word for word in words if word not in common], error) from error


def register() -> None:
    """Make the sweeper known to Hydra, which takes sweepers from the package `hydra_plugins` alone; safe to repeat."""
    sys.modules[GridSweeper.__module__] = sys.modules[__name__]
    Plugins.instance().register(GridSweeper)
