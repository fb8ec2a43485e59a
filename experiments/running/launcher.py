"""Where the runs of a command go: processes of this machine, a Ray cluster, or jobs of Slurm.

The words of a sweep say it (`hydra/launcher=ray hydra.launcher.address=host:6379`), whichever command it is.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from ...configs.composition import compose_root
from ...configs.launchers import LAUNCHERS, PACKAGE
from ..terminal.commandline import CommandError
from .executor import Executor
from .local import LocalExecutor

_GROUP, _SECTION = "hydra/launcher", "hydra.launcher."
# By the class of the launcher: "" is this machine, the others name an executor.
_KINDS = {"RayLauncher": "ray", "SubmititSlurmLauncher": "slurm", "SubmititLocalLauncher": "local"}


@dataclass(frozen=True)
class Launcher:
    """Where runs go.

    Args:
        kind: "" for processes of this machine, "ray", or an executor of submitit: "slurm", "local".
        settings: The settings of the section `hydra.launcher`.
    """

    kind: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @contextmanager
    def executor(self, most: int, workers: int | None, folder: Path, description: str) -> Iterator[Executor]:
        """An executor; what still runs when the context ends is interrupted, and leaves nothing unfinished behind.

        Args:
            most: Processes of this machine.
            workers: Runs at the same time elsewhere; None: as many as a cluster has room for.
            folder: The folder of the results, which every machine must see.
            description: The description of the runs.

        Raises:
            ConfigError: there is no cluster at the address.
            CommandError: the launcher needs something that is not installed, or not here.
        """
        if not self.kind:
            with _warm(most) as local:
                yield local
            return
        try:
            if self.kind == "ray":
                from .ray_executor import RayExecutor as Elsewhere
            else:
                from .submitit_executor import SubmititExecutor as Elsewhere  # type: ignore[assignment]
        except ImportError:
            extra = "ray" if self.kind == "ray" else "slurm"
            raise CommandError(f"{_GROUP}: it needs another package: pip install 'flitgym[{extra}]'") from None
        executor = Elsewhere(self.kind, workers, folder, description, self.settings)
        try:
            yield executor
        finally:
            executor.shutdown(cancel_futures=True)


HERE = Launcher()
ONE_RUN = "a run alone is done by this process; with -m, the runs of a sweep go to a launcher"

# The processes of the last sweep here, and the surroundings that they were started in.
_kept: list[tuple[LocalExecutor, object]] = []


@contextmanager
def _warm(most: int) -> Iterator[LocalExecutor]:
    """Processes of this machine: those of the sweep before, if they fit, and kept for the next if all ended well."""
    surroundings = (most, dict(os.environ), list(sys.path))
    executor, known = _kept.pop() if _kept else (None, None)
    if executor is None or known != surroundings:
        if executor is not None:
            executor.shutdown()
        executor = LocalExecutor(most)
    try:
        yield executor
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    if executor.idle:
        _kept.append((executor, surroundings))
    else:
        executor.shutdown(cancel_futures=True)


def launcher_of(words: Sequence[str]) -> tuple[Launcher, list[str]]:
    """The launcher that the words of a command line name, and the other words.

    Raises:
        hydra.errors.HydraException: no such launcher, or none of its keys; see `explain`.
        CommandError: the launcher needs something that is not here.
    """
    own = [word for word in words if _is_of_launcher(word)]
    if not own:
        return HERE, list(words)
    config = compose_root("config", own, hydra=True)
    return _launcher(config.hydra.launcher), [word for word in words if word not in own]


def launcher_of_app(config: DictConfig | None = None) -> Launcher:
    """The launcher that the words of this process, which is a Hydra application, name.

    Args:
        config: With Hydra's own section; None: that of the application.

    Raises:
        CommandError: as `launcher_of`.
    """
    hydra = HydraConfig.get() if config is None else config.hydra
    return _launcher(hydra.launcher)


def refuse_launcher(why: str) -> None:
    """Refuse words about launchers in this process, which is a Hydra application and has no use for one.

    Args:
        why: And what is valid.

    Raises:
        CommandError: there are such words.
    """
    own = [word for word in HydraConfig.get().overrides.hydra if _is_of_launcher(word)]
    if own:
        raise CommandError(f"{own[0]}: {why}")


def runs_at_once(launcher: Launcher) -> int | None:
    """The runs at the same time that the section of a launcher here sets; None: one per core."""
    most = int(launcher.settings.get("n_jobs", -1))
    return most if not launcher.kind and most > 0 else None


def _is_of_launcher(word: str) -> bool:
    return word.lstrip("+~").partition("=")[0] == _GROUP or word.lstrip("+~").startswith(_SECTION)


def _launcher(section: DictConfig) -> Launcher:
    # Unresolved: interpolations of Hydra's folders mean nothing here.
    settings: Any = OmegaConf.to_container(section, resolve=False)
    package, _, name = settings.pop("_target_").rpartition(".")
    if package != PACKAGE:
        raise CommandError(f"{_GROUP}: {name} is of another package; valid launchers: {', '.join(LAUNCHERS)}")
    kind = _KINDS.get(name, "")
    if kind == "slurm" and shutil.which("srun") is None:
        raise CommandError(
            f"{_GROUP}=submitit_slurm: there is no Slurm here (no srun); call the command on a node that submits "
            f"jobs, or use {_GROUP}=submitit_local"
        )
    return Launcher(kind, settings)
