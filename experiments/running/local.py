"""An executor of warm processes on this machine."""

import contextlib
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from .cores import environment_of
from .executor import Executor, WorkerDiedError

_KILL_AFTER_SECONDS = 0.8  # time for a worker to end before it is killed


class LocalExecutor(Executor):
    """Executes calls in processes that stay for the next call, so that only the first call waits for imports.

    Args:
        workers: Largest number of processes. A process is started when a call needs it.
    """

    def __init__(self, workers: int) -> None:
        self.most = workers
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, tuple[_Worker, Future[Any]]] = {}
        self._waiting: queue.SimpleQueue[tuple[Future[Any], bytes]] = queue.SimpleQueue()
        self._lock, self._open = threading.Lock(), 0  # calls that have not ended
        self._wake_receiver, self._wake_sender = (Connection(end.detach()) for end in socket.socketpair())
        self._closed = False
        self._parts: dict[Future[Any], tuple[float, float]] = {}
        self._thread = threading.Thread(target=self._attend, daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call `fn(*args, report)` in a worker. The sweep limits the memory, so `kwargs` is ignored."""
        if self._closed:
            raise RuntimeError("this executor is shut down")
        call = pickle.dumps((str(Path.cwd()), fn, args))
        future: Future[Any] = Future()
        with self._lock:
            self._open += 1
        future.add_done_callback(self._count)
        self._waiting.put((future, call))
        self._wake_sender.send(None)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all workers, either when all calls have ended or, with `cancel_futures`, immediately."""
        del wait  # this method always waits for the calls or interrupts them
        if self._closed:
            return
        while not cancel_futures and self._open:
            time.sleep(0.01)
        self._closed = True
        self._wake_sender.send(None)
        self._thread.join()
        workers = [*self._idle, *(worker for worker, _ in self._busy.values())]
        for worker in workers:
            worker.close()
        deadline = time.monotonic() + _KILL_AFTER_SECONDS
        for worker in workers:
            worker.join(deadline)
        while not self._waiting.empty():
            self._waiting.get()[0].cancel()
        for _, future in self._busy.values():
            future.set_exception(WorkerDiedError("it was interrupted"))
        self._busy.clear()

    def forget(self) -> None:
        """Close the connections of a copy that a fork made. The workers belong to the parent."""
        for connection in (self._wake_receiver, self._wake_sender, *(worker.connection for worker in self._idle)):
            connection.close()

    @property
    def idle(self) -> bool:
        """Whether all calls have ended."""
        return not self._open

    def parts(self) -> Mapping[Any, tuple[float, float]]:
        """See `Executor`. A call that has not reported yet has (0, 0)."""
        return {future: self._parts.get(future, (0.0, 0.0)) for _, future in list(self._busy.values())}

    def _attend(self) -> None:
        """Body of the only thread that starts workers and receives their answers."""
        while True:
            for connection in wait([self._wake_receiver, *self._busy]):
                if connection is self._wake_receiver:
                    self._wake_receiver.recv()
                elif isinstance(connection, Connection):
                    self._hear(connection)
            if self._closed:
                return
            while len(self._busy) < self.most and not self._waiting.empty():
                self._begin(*self._waiting.get())

    def _count(self, future: "Future[Any]") -> None:
        with self._lock:
            self._open -= 1

    def _begin(self, future: "Future[Any]", call: bytes) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            worker = self._idle_worker() or _Worker(self.most)
        except OSError as error:
            future.set_exception(WorkerDiedError(f"its process cannot be started: {error}"))
            return
        self._busy[worker.connection] = worker, future
        with contextlib.suppress(OSError):  # `_hear` detects a worker that has died
            worker.connection.send_bytes(call)

    def _idle_worker(self) -> "_Worker | None":
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.close()
        return None

    def _hear(self, connection: Connection) -> None:
        worker, future = self._busy[connection]
        try:
            kind, content = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            status = worker.join(time.monotonic() + _KILL_AFTER_SECONDS)
            kind, content = "error", WorkerDiedError(_died(status))
        else:
            if kind == "part":
                self._parts[future] = content
                return
            self._idle.append(worker)
        del self._busy[connection]
        self._parts.pop(future, None)
        if kind == "error":
            future.set_exception(content)
        else:
            future.set_result(content)


def _died(status: int) -> str:
    if status == -signal.SIGKILL:
        return "its process was killed (signal 9), perhaps because memory ran out; fewer parallel runs need less"
    return f"its process ended with status {status}"


class _Worker:
    """A worker process and the connection to it.

    Args:
        workers: Number of workers that share the cores.
    """

    def __init__(self, workers: int) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=environment_of(workers),
                start_new_session=True,  # so that the terminal sends Ctrl-C only to the command
            )
        self.connection = Connection(ours.detach())
        with contextlib.suppress(OSError):
            self.connection.send([str(Path(entry).resolve()) if entry else os.getcwd() for entry in sys.path])  # noqa: PTH109

    @property
    def alive(self) -> bool:
        """Whether the process runs. The system may have ended it, for example to get memory back."""
        return self._process.poll() is None

    def close(self) -> None:
        """Close the connection, which interrupts the worker's run and ends the worker."""
        with contextlib.suppress(OSError):
            self.connection.close()

    def join(self, deadline: float) -> int:
        """Wait for the end of the process, and kill it at the deadline of `time.monotonic`; returns its exit status."""
        try:
            return self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
