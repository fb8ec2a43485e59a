"""The runs of a sweep as tasks of a Ray cluster, whose nodes share the folder of the results."""

import os
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
from omegaconf import OmegaConf
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ...agents.ray_cluster import join
from ...configs import explain
from ...simcore import ConfigError, CoreError
from .cores import share_cores_by
from .ray_tasks import Tasks, in_short
from .sweep import PlannedRun, run_planned

_LOOK_SECONDS = 1.0
_GRACE_SECONDS = 5.0  # for runs that are interrupted to clean up behind themselves


class _Board:
    """An actor to which every task tells how far it is."""

    def __init__(self) -> None:
        self._parts: dict[str, float] = {}

    def tell(self, directory: str, part: float) -> None:
        self._parts[directory] = part

    def told(self) -> dict[str, float]:
        """What was told since the last call."""
        parts, self._parts = self._parts, {}
        return parts


class RayPool:
    """A task per run.

    Args:
        workers: Runs at the same time; None: as many as the cluster has CPUs for, nodes that join later included.
        folder: Of the results; every node must see it.
        needs: Bytes that each run will take, by its directory.
        address: Of the cluster, as `join` takes it.
        cpus_per_run: How many of its CPUs a run counts for.
        memory_gb_per_run: Of a node's memory that a run counts for, in the place of `needs`.
    """

    def __init__(
        self,
        workers: int | None,
        folder: Path,
        needs: Mapping[Path, float],
        *,
        address: str | None,
        cpus_per_run: float,
        memory_gb_per_run: float | None,
    ) -> None:
        join(address, "hydra.launcher.address", log_to_driver=False, include_dashboard=False)
        self._most = workers or sys.maxsize
        self._runs: dict[Path, PlannedRun] = {}
        # Beside this process: it must not die with a node that simulates.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        remote: Any = ray.remote  # its types know neither this strategy nor actors of classes as they are
        self._board = remote(num_cpus=0, scheduling_strategy=here)(_Board).remote()
        # What no node has would be waited for for ever: such a run has the largest node to itself.
        nodes: Any = ray.nodes()  # type: ignore[no-untyped-call]
        largest = max(node["Resources"].get("memory", 0.0) for node in nodes if node["Alive"])
        given = memory_gb_per_run and memory_gb_per_run * 1e9
        self._memory = {path: int(min(given or need, largest)) for path, need in needs.items()}
        # A process per run, so that each row's peak memory is its own.
        self._tasks: Tasks[Path] = Tasks(_run, max_calls=1, num_cpus=cpus_per_run)
        folder.mkdir(parents=True, exist_ok=True)
        self._mark = tempfile.NamedTemporaryFile(prefix=".shared-", dir=folder)  # noqa: SIM115
        self._common = (str(Path.cwd()), str(Path(self._mark.name).resolve()), self._board, cpus_per_run)

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def room(self) -> int:
        """How many more may be started now."""
        return self._most - len(self)

    def start(self, runs: Sequence[PlannedRun]) -> None:
        """Start them."""
        for run in runs:
            self._runs[run.directory] = run
            own = (run.plain, str(run.directory), *self._common)
            self._tasks.start(run.directory, *own, memory=self._memory[run.directory])

    def news(self) -> list[tuple[PlannedRun, float | str]]:
        """Wait for news; the runs that have any, with the part of each that is done (1 = it ended) or its error.

        Raises:
            CoreError: the cluster itself has died, or this process's node.
        """
        ended = self._tasks.ended(_LOOK_SECONDS)
        try:
            told: dict[str, float] = ray.get(self._board.told.remote())
        except RayError as error:
            said = f"the Ray cluster is gone ({in_short(error)}); finished runs are kept, start again to go on"
            raise CoreError(said) from error
        heard: list[tuple[PlannedRun, float | str]] = [
            (self._runs[path], part) for name, part in told.items() if (path := Path(name)) in self._runs
        ]
        for task in ended:
            if task.again:
                print(f"{task.key.name}: {task.said}; it begins again", file=sys.stderr, flush=True)
                heard.append((self._runs[task.key], 0.0))
                continue
            run = self._runs.pop(task.key)
            if said := task.said if task.error else task.value:
                heard.append((run, said))
            heard.append((run, 1.0))
        return heard

    def stop(self) -> None:
        """End what still runs; unfinished runs leave nothing behind."""
        if len(self):
            self._tasks.stop()
            self._tasks.ended(_GRACE_SECONDS)
        self._mark.close()
        ray.shutdown()


def _run(plain: dict[str, Any], directory: str, working: str, mark: str, board: Any, cpus: float) -> str | None:
    """Body of a task: one run; what went wrong, if something did."""
    try:
        os.chdir(working)
        Path(mark).stat()
    except OSError:
        return f"the machine {socket.gethostname()} does not see {Path(mark).parent}, which all nodes must share"
    share_cores_by(cpus)
    try:
        run_planned(OmegaConf.create(plain), Path(directory), lambda part: board.tell.remote(directory, part))
    except (ConfigError, CoreError, OSError) as error:
        return explain(error)
    return None
