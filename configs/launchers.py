"""Types of `hydra/launcher=<name>` and of the sweeper for grids. Their classes stand in experiments/running.

Hydra takes plugins from the package `hydra_plugins` alone, which is the first part of every `_target_`.
"""

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins

PACKAGE = "hydra_plugins.flitgym"


@dataclass
class Sweeper:
    """Every combination of the values that are swept."""

    _target_: str = f"{PACKAGE}.GridSweeper"


@dataclass
class Local:
    """`local`, `joblib`: processes of this machine."""

    _target_: str = f"{PACKAGE}.LocalLauncher"
    n_jobs: int = -1  # runs at the same time; -1 = one per core. Fewer run where memory is short.


@dataclass
class Basic(Local):
    """`basic`: one run after the other."""

    n_jobs: int = 1


@dataclass
class Ray:
    """`ray`: tasks of a Ray cluster, whose machines share the folder of the results; needs the extra `ray`."""

    _target_: str = f"{PACKAGE}.RayLauncher"
    # auto, host:port or ray://host:port; None: RAY_ADDRESS, else Ray is started on this machine
    address: str | None = None
    cpus_per_run: float = 1.0  # CPUs of the cluster that a run takes
    memory_gb_per_run: float | None = None  # GB of a node's memory that a run takes; None: the estimate of each run


@dataclass
class Submitit:
    """The keys of every executor of submitit, with the names and defaults of Hydra's launcher for it."""

    timeout_min: int = 60
    cpus_per_task: int | None = None
    gpus_per_node: int | None = None
    tasks_per_node: int = 1
    mem_gb: int | None = None
    nodes: int = 1
    stderr_to_stdout: bool = False


@dataclass
class SubmititLocal(Submitit):
    """`submitit_local`: processes that submitit starts here, to try a sweep without a batch system."""

    _target_: str = f"{PACKAGE}.SubmititLocalLauncher"


@dataclass
class SubmititSlurm(Submitit):
    """`submitit_slurm`: an array of Slurm jobs, one per run; the keys are options of `sbatch`."""

    _target_: str = f"{PACKAGE}.SubmititSlurmLauncher"
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
    """Put them where Hydra finds them; safe to repeat.

    Hydra has launchers under some of these names. It reads its plugins first, so that ours take their place.
    """
    Plugins.instance()
    store = ConfigStore.instance()
    for name, schema in LAUNCHERS.items():
        store.store(group="hydra/launcher", name=name, node=schema, provider="flitgym")
    store.store(group="hydra/sweeper", name="grid", node=Sweeper, provider="flitgym")
