"""Launchers: a command executes its runs in processes of this machine, on a Ray cluster, or as jobs of Slurm.

Every command that runs a sweep takes the same words, such as `hydra/launcher=ray hydra.launcher.address=host:6379`.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from ...configs import refuse_added
from ...configs.composition import compose_root
from ...configs.launchers import LAUNCHERS, PACKAGE
from ...simcore._cores import CORES
from ..results.files import remove_if_unused
from ..terminal.commandline import CommandError, past_hydra
from .executor import Executor
from .local import LocalExecutor

_GROUP = "hydra/launcher"


@dataclass(frozen=True)
class Launcher:
    """Gives the executor of a sweep's runs."""

    kind: str = ""  # "" for processes of this machine, "ray", or an executor of submitit: "slurm", "local"
    settings: Mapping[str, Any] = field(default_factory=dict)  # the section `hydra.launcher`

    @property
    def workers(self) -> int | None:
        """The number of parallel runs that the settings of this machine name; None: one per core."""
        most = int(self.settings.get("n_jobs", -1))
        return most if not self.kind and most > 0 else None

    @contextmanager
    def executor(self, most: int, workers: int | None, folder: Path, description: str) -> Iterator[Executor]:
        """An executor. At the end of the context, runs in progress are interrupted and remove their unfinished files.

        Args:
            most: Number of processes of this machine.
            workers: Number of parallel runs elsewhere; None: as many as the cluster takes.
            folder: The folder of the results, which every machine must see.
            description: The name of the jobs.
        """
        if not self.kind:
            with warm(most) as local:
                yield local
            return
        try:
            if self.kind == "ray":
                from .ray_executor import RayExecutor as Elsewhere
            else:
                from .submitit_executor import SubmititExecutor as Elsewhere  # type: ignore[assignment]
        except ImportError:
            extra = "ray" if self.kind == "ray" else "slurm"
            raise CommandError(f"{_GROUP}: a package is missing; pip install 'flitgym[{extra}]'") from None
        executor = Elsewhere(self.kind, workers, folder, description, self.settings)
        try:
            yield executor
        finally:
            executor.shutdown(cancel_futures=True)


HERE = Launcher()

# The executor of the last sweep on this machine, with its number of processes, environment and search path.
_kept: list[tuple[LocalExecutor, object]] = []
os.register_at_fork(after_in_child=_kept.clear)  # a fork copies no threads, and the workers belong to the parent


@contextmanager
def warm(most: int | None = None) -> Iterator[LocalExecutor]:
    """Processes of this machine, by default as many as the previous sweep had.

    A sweep takes over the processes of the previous one if their settings agree.
    """
    most = most or (_kept[0][0].most if _kept else CORES)
    surroundings = (most, dict(os.environ), list(sys.path))
    executor, known = _kept.pop() if _kept else (LocalExecutor(most), surroundings)
    if known != surroundings:
        executor.shutdown()
        executor = LocalExecutor(most)
    try:
        yield executor
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    _kept.append((executor, surroundings))


def launcher_of(words: Sequence[str]) -> tuple[Launcher, list[str]]:
    """The launcher that the words of a command line name, and the other words."""
    own = [word for word in words if _is_of_launcher(word)]
    launcher = launcher_of_app(compose_root("config", own, hydra=True)) if own else HERE
    return launcher, [word for word in words if word not in own]


def launcher_of_app(config: DictConfig | None = None) -> Launcher:
    """The launcher in a configuration with Hydra's own section; None: that of this process, a Hydra application."""
    hydra = HydraConfig.get() if config is None else config.hydra
    # Unresolved, because the interpolations of Hydra's folders cannot be resolved here.
    settings: Any = OmegaConf.to_container(hydra.launcher, resolve=False)
    package, _, name = settings.pop("_target_").rpartition(".")
    if package != PACKAGE:
        raise CommandError(f"{_GROUP}: {name} belongs to another package; valid launchers: {', '.join(LAUNCHERS)}")
    kind = settings.pop("kind")
    if kind == "slurm" and shutil.which("srun") is None:
        raise CommandError(
            f"{_GROUP}=submitit_slurm: this machine has no Slurm (no srun); start the command on a node that can "
            f"submit jobs, or use {_GROUP}=submitit_local"
        )
    return Launcher(kind, settings)


@contextmanager
def in_run_folder(config: DictConfig, single: bool = True) -> Iterator[tuple[Path, list[str]]]:
    """The block of a Hydra application: its folder, which stays only with files, and its overrides.

    Added keys are refused, and so are words about launchers for a single run, which uses this process.
    """
    running = HydraConfig.get()
    directory = Path(running.runtime.output_dir)
    with past_hydra(), remove_if_unused(directory):  # Hydra has made it already
        own = [word for word in running.overrides.hydra if single and _is_of_launcher(word)]
        if own:
            raise CommandError(
                f"{own[0]}: a single run uses this process; add -m to give the runs of a sweep to a launcher"
            )
        refuse_added(config)
        yield directory, list(running.overrides.task)


def _is_of_launcher(word: str) -> bool:
    return re.match(r"[+~]*hydra(/launcher(=|$)|\.launcher\.)", word) is not None
