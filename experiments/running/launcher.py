"""Where the runs of a command go: processes of this machine, a Ray cluster, or jobs of Slurm.

It is said in the words of a sweep (`hydra/launcher=ray hydra.launcher.address=host:6379`), whichever command it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from ...configs.composition import compose_root
from ..terminal.commandline import CommandError
from . import ray_launcher

if TYPE_CHECKING:
    from .sweep import PlannedRun

_GROUP, _SECTION = "hydra/launcher", "hydra.launcher."
# The last part of Hydra's `_target_`, and what we call it. Those of hydra-submitit-launcher are named by its executors.
_KINDS = {"RayLauncher": "ray", "SlurmLauncher": "slurm", "LocalLauncher": "local"}


class Pool(Protocol):
    """Runs that go on at the same time, somewhere."""

    def __len__(self) -> int:
        """How many have been started and have not ended."""

    @property
    def room(self) -> int:
        """How many more may be started now."""

    def start(self, runs: Sequence[PlannedRun]) -> None:
        """Start them."""

    def news(self) -> list[tuple[PlannedRun, float | str]]:
        """Wait for news; the runs that have any, with the part of each that is done (1 = it ended) or its error."""

    def stop(self) -> None:
        """End what still runs; unfinished runs leave nothing behind."""


@dataclass(frozen=True)
class Launcher:
    """Where runs go.

    Args:
        kind: "" for processes of this machine, "ray", or an executor of submitit: "slurm", "local".
        settings: Of the section `hydra.launcher`.
    """

    kind: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def pool(self, workers: int | None, folder: Path, description: str, needs: Mapping[Path, float]) -> Pool | None:
        """A pool of at most so many runs at a time; None where they are processes of this machine.

        Args:
            workers: At the same time; None: what the cluster has room for.
            folder: Of the results, for what the pool itself writes.
            description: Of the runs.
            needs: Bytes that each run will take, by its directory.

        Raises:
            ConfigError: there is no cluster at the address.
            CommandError: what the launcher needs is not installed, or not here.
        """
        if not self.kind:
            return None
        if self.kind == "ray":
            from .ray_pool import RayPool

            return RayPool(workers, folder, needs, **self.settings)
        from .submitit_pool import SubmititPool

        return SubmititPool(self.kind, workers, folder, description, self.settings)


HERE = Launcher()
ONE_RUN = "a run alone is done by this process; with -m, the runs of a sweep go to a launcher"


def launcher_of(words: Sequence[str]) -> tuple[Launcher, list[str]]:
    """What the words of a command line say of it, and the other words.

    Raises:
        hydra.errors.HydraException: no such launcher, or none of its keys; see `explain`.
        CommandError: what the launcher needs is not here.
    """
    own = [word for word in words if _is_of_launcher(word)]
    if not own:
        return HERE, list(words)
    ray_launcher.register()
    config = compose_root("config", own, hydra=True)
    return _launcher(config.hydra.launcher, own), [word for word in words if word not in own]


def require_slurm(section: DictConfig) -> None:
    """Refuse a section `hydra.launcher` that hands runs to Slurm where there is none.

    Raises:
        CommandError: says where to call the command.
    """
    if _KINDS.get(str(section.get("_target_", "")).rpartition(".")[2]) == "slurm" and shutil.which("srun") is None:
        raise CommandError(
            "hydra/launcher=submitit_slurm: there is no Slurm here (no srun); call the command on a node that submits "
            "jobs, or use hydra/launcher=submitit_local"
        )


def launcher_of_app() -> Launcher:
    """What the words of this process, which is a Hydra application, say of it.

    Raises:
        CommandError: as `launcher_of`.
    """
    config = HydraConfig.get()
    return _launcher(config.launcher, config.overrides.hydra)


def refuse_launcher(why: str) -> None:
    """Refuse what the words of this process, which is a Hydra application, say of launchers: it has no use for one.

    Args:
        why: And what is valid.

    Raises:
        CommandError: there are such words.
    """
    own = [word for word in HydraConfig.get().overrides.hydra if _is_of_launcher(word)]
    if own:
        raise CommandError(f"{own[0]}: {why}")


def _is_of_launcher(word: str) -> bool:
    return word.lstrip("+~").partition("=")[0] == _GROUP or word.startswith(_SECTION)


def _launcher(section: DictConfig, words: Sequence[str]) -> Launcher:
    require_slurm(section)
    # Unresolved: what Hydra's own launchers say of a sweep's folder means nothing here.
    settings: Any = OmegaConf.to_container(section, resolve=False)
    kind = _KINDS.get(settings.pop("_target_").rpartition(".")[2], "")
    asked = [word for word in words if word.startswith(_SECTION)]
    if not kind and asked:  # what it sets would not count
        raise CommandError(
            f"{asked[0]}: without hydra/launcher=ray, submitit_slurm or submitit_local the runs of this command are "
            "processes of this machine; workers=1 runs one at a time"
        )
    return Launcher(kind, settings) if kind else HERE
