"""An executor of warm processes on this machine."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from .executor import RUNS_AT_ONCE, Executor, WorkerDiedError

_KILL_AFTER_SECONDS = 0.8  # time for a worker to end before it is killed


class LocalExecutor(Executor):
    """Executes calls in processes that stay for the next call, so that only the first call waits for imports.

    Each process has a thread here, which gives it the calls and waits for the answers. At most `workers` processes are
    started, each when a call needs it.
    """

    def __init__(self, workers: int) -> None:
        self.most = workers
        self._threads, self._own = ThreadPoolExecutor(workers), threading.local()
        self._lock, self._closed = threading.Lock(), False
        self._workers: list[_Worker] = []
        self._parts: dict[Future[Any], list[float]] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call `fn(*args, report)` in a worker. The sweep limits the memory, so `kwargs` is ignored."""
        reports = [0.0]
        future = self._threads.submit(self._call, pickle.dumps((str(Path.cwd()), fn, args)), reports)
        self._parts[future] = reports
        future.add_done_callback(lambda ended: self._parts.pop(ended, None))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all workers, either when all calls have ended or, with `cancel_futures`, immediately."""
        self._threads.shutdown(wait=not cancel_futures, cancel_futures=cancel_futures)
        with self._lock:
            self._closed = True
        for worker in self._workers:
            worker.process.terminate()
        deadline = time.monotonic() + _KILL_AFTER_SECONDS
        for worker in self._workers:
            worker.join(deadline)
        self._threads.shutdown()

    def parts(self) -> Mapping[Any, float]:
        return {future: reports[-1] for future, reports in list(self._parts.items())}

    def _call(self, call: bytes, reports: list[float]) -> Any:
        """Make a call and wait for its answer, in a thread."""
        worker = getattr(self._own, "worker", None)
        # The system may have ended an idle worker, for example to get memory back.
        if worker is None or worker.process.poll() is not None:
            with self._lock:
                if self._closed:
                    raise WorkerDiedError("it was interrupted")
                worker = self._own.worker = _Worker(self.most)
                self._workers.append(worker)
        try:
            worker.connection.send_bytes(call)
            while (answer := worker.connection.recv())[0] == "part":
                reports[:] = answer[1:]
        except (EOFError, OSError):
            raise WorkerDiedError(_died(worker.join(time.monotonic() + _KILL_AFTER_SECONDS))) from None
        if answer[0] == "error":
            raise answer[1]
        return answer[1]


def _died(status: int) -> str:
    if status == -signal.SIGKILL:
        return "its process was killed (signal 9), perhaps because memory ran out; fewer parallel runs need less"
    return f"its process ended with status {status}"


class _Worker:
    """A worker process, which shares the cores with others, and the connection to it."""

    def __init__(self, workers: int) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, RUNS_AT_ONCE: str(workers)},
                start_new_session=True,  # so that the terminal sends Ctrl-C only to the command
            )
        self.connection = Connection(ours.detach())
        self.connection.send([str(Path(entry).resolve()) for entry in sys.path])

    def join(self, deadline: float) -> int:
        """Wait for the end of the process, and kill it at the deadline of `time.monotonic`; returns its exit status."""
        try:
            return self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
