"""Types of `hydra/launcher=<name>` and of the sweeper for grids. Their classes are in experiments/running.

Hydra takes plugins only from the package `hydra_plugins`, which is the first part of every `_target_`. The engine of a
sweep executes its runs for every launcher, as its key `kind` says.
"""

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins

PACKAGE = "hydra_plugins.flitgym"


@dataclass
class Sweeper:
    """Every combination of the swept values."""

    _target_: str = f"{PACKAGE}.GridSweeper"


@dataclass
class Local:
    """`local`, `joblib`: processes of this machine."""

    _target_: str = f"{PACKAGE}.EngineLauncher"
    kind: str = ""
    n_jobs: int = -1  # runs at the same time; -1 = one per core; fewer if memory is short


@dataclass
class Basic(Local):
    """`basic`: one run after another."""

    n_jobs: int = 1


@dataclass
class Ray:
    """`ray`: tasks of a Ray cluster whose machines share the folder of results; it needs the extra `ray`."""

    _target_: str = f"{PACKAGE}.EngineLauncher"
    kind: str = "ray"
    # auto, host:port or ray://host:port; None: RAY_ADDRESS, or else Ray starts on this machine
    address: str | None = None
    cpus_per_run: float = 1.0  # CPUs of the cluster per run
    memory_gb_per_run: float | None = None  # GB of a node's memory per run; None: the estimate of each run


@dataclass
class Submitit:
    """The keys of all executors of submitit, with the names and defaults of Hydra's submitit launcher."""

    _target_: str = f"{PACKAGE}.EngineLauncher"
    timeout_min: int = 60
    cpus_per_task: int | None = None
    gpus_per_node: int | None = None
    tasks_per_node: int = 1
    mem_gb: int | None = None
    nodes: int = 1
    stderr_to_stdout: bool = False


@dataclass
class SubmititLocal(Submitit):
    """`submitit_local`: submitit starts processes on this machine, to try a sweep without a batch system."""

    kind: str = "local"


@dataclass
class SubmititSlurm(Submitit):
    """`submitit_slurm`: an array of Slurm jobs, one per run; the keys are options of `sbatch`."""

    kind: str = "slurm"
    partition: str | None = None
    qos: str | None = None
    comment: str | None = None
    constraint: str | None = None
    exclude: str | None = None
    gres: str | None = None
    cpus_per_gpu: int | None = None
    gpus_per_task: int | None = None
    mem_per_gpu: str | None = None
    mem_per_cpu: str | None = None
    account: str | None = None
    signal_delay_s: int = 120
    max_num_timeout: int = 0
    additional_parameters: dict[str, Any] = field(default_factory=dict)
    array_parallelism: int = 256  # jobs at the same time
    setup: list[str] | None = None


LAUNCHERS = {
    "local": Local,
    "joblib": Local,
    "basic": Basic,
    "ray": Ray,
    "submitit_local": SubmititLocal,
    "submitit_slurm": SubmititSlurm,
}


def register_launchers() -> None:
    """Register the launchers and the sweeper with Hydra; safe to repeat.

    Hydra has launchers with some of these names. Its plugins are loaded first, so that these replace them.
    """
    Plugins.instance()
    store = ConfigStore.instance()
    for name, schema in LAUNCHERS.items():
        store.store(group="hydra/launcher", name=name, node=schema, provider="flitgym")
    store.store(group="hydra/sweeper", name="grid", node=Sweeper, provider="flitgym")
