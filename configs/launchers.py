"""Types of `hydra/launcher=<name>` and of the sweeper for grids. Their classes stand in experiments/running.

Hydra takes plugins from the package `hydra_plugins` alone, which is the first part of every `_target_`.
"""

from dataclasses import dataclass, field
from typing import Any

from .source import offer

PACKAGE = "hydra_plugins.flitgym"


@dataclass
class Sweeper:
    """Every combination of the values that are swept."""

    _target_: str = f"{PACKAGE}.GridSweeper"


@dataclass
class Local:
    """Processes of this machine."""

    _target_: str = f"{PACKAGE}.LocalLauncher"
    n_jobs: int = -1


@dataclass
class Ray:
    """Tasks of a Ray cluster."""

    _target_: str = f"{PACKAGE}.RayLauncher"
    address: str | None = None
    cpus_per_run: float = 1.0
    memory_gb_per_run: float | None = None


@dataclass
class Submitit:
    """Jobs that submitit makes; the names and defaults are those of Hydra's launcher for it."""

    timeout_min: int = 60
    cpus_per_task: int | None = None
    gpus_per_node: int | None = None
    tasks_per_node: int = 1
    mem_gb: int | None = None
    nodes: int = 1
    stderr_to_stdout: bool = False


@dataclass
class SubmititLocal(Submitit):
    """Processes that submitit starts, to try a sweep without a batch system."""

    _target_: str = f"{PACKAGE}.SubmititLocalLauncher"


@dataclass
class SubmititSlurm(Submitit):
    """Jobs of Slurm; the keys are options of `sbatch`."""

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
    array_parallelism: int = 256
    setup: list[str] | None = None


def register_launchers() -> None:
    """Offer them to Hydra; safe to repeat."""
    for name, schema in {
        "local": Local,
        "ray": Ray,
        "submitit_local": SubmititLocal,
        "submitit_slurm": SubmititSlurm,
    }.items():
        offer(f"hydra/schema/launcher/{name}", lambda schema=schema: schema)  # type: ignore[misc]
    offer("hydra/sweeper/grid", lambda: Sweeper)
