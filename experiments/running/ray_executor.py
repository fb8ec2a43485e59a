"""Runs as tasks of a Ray cluster, whose nodes share the folder of the results."""

import itertools
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.queue import Empty, Queue
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ...agents.rllib.ray_cluster import join
from ...simcore import CoreError
from .executor import Executor, WorkerDiedError, call_elsewhere

_GRACE_SECONDS = 5.0  # time for interrupted runs to remove their unfinished files
_MOST_REPORTS = 1000  # taken from the queue at a time


class RayExecutor(Executor):
    """Executes each call as a task. The arguments are those of `Launcher.executor` and the fields of `Launcher`.

    Without `workers`, as many calls are parallel as the cluster has CPUs for, including nodes that join later.
    """

    tries = 2  # if a run's worker dies twice, the run itself is probably the cause

    def __init__(
        self, kind: str, workers: int | None, folder: Path, description: str, settings: Mapping[str, Any]
    ) -> None:
        del kind, description
        join(settings["address"], "hydra.launcher.address", log_to_driver=False, include_dashboard=False)
        self.most = workers or sys.maxsize
        # The queue stays on this node, so that it survives the loss of another node.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._reports = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": here})
        # A run that requests more memory than any node has would never start. So the request is at most the memory of
        # the largest node.
        nodes: Any = ray.nodes()  # type: ignore[no-untyped-call]
        self._largest = max(node["Resources"].get("memory", 0.0) for node in nodes if node["Alive"])
        given = settings["memory_gb_per_run"]
        self._given = given and given * 1e9
        # Each run has its own process, so that its peak memory does not include other runs. Ray's retries are off,
        # because they are silent and would repeat forever a run that runs out of memory.
        self._cpus = settings["cpus_per_run"]
        self._remote = ray.remote(max_calls=1, num_cpus=self._cpus, max_retries=0)(_run)
        self._numbers = itertools.count()
        self._active: dict[Future[Any], tuple[Any, int]] = {}  # task and number of each call
        self._parts: dict[int, float] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._mark = tempfile.NamedTemporaryFile(prefix=".shared-", dir=folder)  # noqa: SIM115
        self._where = (str(Path.cwd()), str(Path(self._mark.name).resolve()))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        number = next(self._numbers)
        options = {"memory": int(min(self._given or kwargs.get("memory", 0.0), self._largest))}
        reference = self._remote.options(**options).remote(fn, args, *self._where, self._cpus, self._reports, number)
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        self._active[future] = reference, number
        reference.future().add_done_callback(lambda ended: self._ended(future, ended))
        return future

    def parts(self) -> Mapping[Any, float]:
        """See `Executor`."""
        try:
            waiting = min(self._reports.qsize(), _MOST_REPORTS)
            self._parts.update(self._reports.get_nowait_batch(waiting) if waiting else ())
        except Empty:
            pass
        except RayError as error:
            text = f"the Ray cluster is gone ({_in_short(error)}); finished runs are kept, start again to continue"
            raise CoreError(text) from error
        return {future: self._parts.get(number, 0.0) for future, (_, number) in list(self._active.items())}

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        references = [reference for reference, _ in list(self._active.values())]
        if references and cancel_futures:
            for reference in references:
                ray.cancel(reference)
            ray.wait(references, num_returns=len(references), timeout=_GRACE_SECONDS)
        elif references and wait:
            ray.wait(references, num_returns=len(references))
        self._mark.close()
        ray.shutdown()

    def _ended(self, future: "Future[Any]", ended: "Future[Any]") -> None:
        self._active.pop(future, None)
        error = ended.exception()
        if error is None:
            failure, value = ended.result()
            future.set_exception(failure) if failure is not None else future.set_result(value)
        elif isinstance(error, RayError) and not isinstance(error, RayTaskError):
            future.set_exception(WorkerDiedError(f"its worker died ({_in_short(error)})"))
        else:
            future.set_exception(error)


def _in_short(error: object) -> str:
    """The first sentence of an error of Ray, whose text can fill pages."""
    return str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".") or type(error).__name__


def _run(
    fn: Callable[..., Any], arguments: tuple[Any, ...], working: str, mark: str, cpus: float, reports: Any, number: int
) -> tuple[Exception | None, Any]:
    """Body of a task: the error of the call, and its value."""
    if not (Path(working).is_dir() and Path(mark).exists()):
        home, folder = socket.gethostname(), Path(mark).parent
        return CoreError(f"the machine {home} does not see {folder}, which all nodes must share"), None
    return call_elsewhere(fn, arguments, working, cpus, lambda part: reports.put_nowait((number, part)))
