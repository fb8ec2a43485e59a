"""Runs as an array of Slurm jobs, by submitit."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import submitit

from ...simcore._cores import CORES
from .executor import Executor, WorkerDiedError, call_elsewhere

_LOOK_SECONDS = 1.0
_LOGS = ".submitit/%j"  # in the folder of the results
# Keys of the section: parameters that have the same name in every executor of submitit, and arguments of the executor's
# constructor.
_COMMON = ("timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "stderr_to_stdout")
_OF_EXECUTOR = ("max_num_timeout",)


class SubmititExecutor(Executor):
    """Executes each call as a job. The arguments are those of `Launcher.executor` and the fields of `Launcher`.

    Without `workers`, `array_parallelism` jobs are parallel, or one per core for "local".
    """

    def __init__(
        self, kind: str, workers: int | None, folder: Path, description: str, settings: Mapping[str, Any]
    ) -> None:
        own = {f"{kind}_{key}": settings[key] for key in _OF_EXECUTOR if key in settings}
        self._executor = submitit.AutoExecutor(folder=folder.resolve() / _LOGS, cluster=kind, **own)
        rest = {
            key if key in _COMMON else f"{kind}_{key}": value
            for key, value in settings.items()
            if key not in _OF_EXECUTOR
        }
        if workers and kind == "slurm":
            rest["slurm_array_parallelism"] = workers
        self._executor.update_parameters(name=description, **rest)
        # Slurm itself limits the number of parallel jobs of an array.
        self.most = workers or CORES if kind == "local" else 1 << 30
        self._cpus = settings["cpus_per_task"] or 1
        self._active: list[tuple[Any, Future[Any]]] = []
        self._looked = time.monotonic()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """See `Executor`. The memory of a job comes from the section `hydra.launcher`."""
        job = self._executor.submit(call_elsewhere, fn, args, str(Path.cwd()), self._cpus)
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        self._active.append((job, future))
        return future

    def batch(self) -> AbstractContextManager[Any]:
        """See `Executor`. The calls become one array of jobs."""
        return self._executor.batch()

    def parts(self) -> Mapping[Any, float]:
        """See `Executor`. Jobs report no progress; the futures of those that have ended become done."""
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            over = [(job, future) for job, future in self._active if job.done()]
            for job, future in over:
                self._active.remove((job, future))
                _end(job, future)
            self._looked = time.monotonic()
        return {}

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        while wait and not cancel_futures and self._active:
            time.sleep(_LOOK_SECONDS)
            self.parts()
        for job, _ in self._active:
            job.cancel()


def _end(job: Any, future: "Future[Any]") -> None:
    try:
        failure, value = job.result()
    except Exception:  # it died, or its files cannot be read
        text = f"its job {job.job_id} ended without a result (state {job.state}); {job.paths.stderr} may say why"
        future.set_exception(WorkerDiedError(text))
    else:
        future.set_exception(failure) if failure is not None else future.set_result(value)
