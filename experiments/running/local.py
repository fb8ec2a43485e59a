"""An executor of warm processes on this machine."""

import contextlib
import os
import queue
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

_KILL_AFTER_SECONDS = 0.8  # what a worker may take to end itself


class LocalExecutor(Executor):
    """Does calls in processes that stay for the next call, so that only the first call waits for imports.

    Args:
        workers: Processes at most; each is started when a call needs it.
    """

    def __init__(self, workers: int) -> None:
        self.most = workers
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, tuple[_Worker, Future[Any]]] = {}
        self._waiting: queue.SimpleQueue[tuple[Future[Any], Any]] = queue.SimpleQueue()
        self._wake_receiver, self._wake_sender = (Connection(end.detach()) for end in socket.socketpair())
        self._closed = False
        self._parts: dict[Future[Any], tuple[float, float]] = {}
        self._thread = threading.Thread(target=self._attend, daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call `fn(*args, tell)` in a worker. The engine sees to the memory here."""
        if self._closed:
            raise RuntimeError("this executor is shut down")
        future: Future[Any] = Future()
        self._waiting.put((future, (str(Path.cwd()), fn, args)))
        self._wake_sender.send(None)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all workers; with `cancel_futures` at once, otherwise when all calls have ended."""
        del wait  # the calls are waited for, or interrupted, in any case
        if self._closed:
            return
        while not cancel_futures and (self._busy or not self._waiting.empty()):
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
        for _, future in self._busy.values():
            future.set_exception(WorkerDiedError("it was interrupted"))
        self._busy.clear()

    def parts(self) -> Mapping[Any, tuple[float, float]]:
        """See `Executor`; a call that has told nothing yet has (0, 0)."""
        return {future: self._parts.get(future, (0.0, 0.0)) for _, future in list(self._busy.values())}

    def _attend(self) -> None:
        """The one thread that starts workers and hears them."""
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

    def _begin(self, future: "Future[Any]", task: Any) -> None:
        if future.set_running_or_notify_cancel():
            worker = self._idle.pop() if self._idle else _Worker(self.most)
            self._busy[worker.connection] = worker, future
            with contextlib.suppress(OSError):  # `_hear` finds a worker that has died
                worker.connection.send(task)

    def _hear(self, connection: Connection) -> None:
        worker, future = self._busy[connection]
        try:
            kind, content = connection.recv()
        except (EOFError, OSError):
            status = worker.join(time.monotonic() + _KILL_AFTER_SECONDS)
            kind, content = "error", WorkerDiedError(f"its process ended with status {status}")
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


class _Worker:
    """A worker process and the connection to it.

    Args:
        workers: That share the cores.
    """

    def __init__(self, workers: int) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=environment_of(workers),
                start_new_session=True,  # a terminal's Ctrl-C goes to the command alone
            )
        self.connection = Connection(ours.detach())
        with contextlib.suppress(OSError):
            self.connection.send([str(Path(entry).resolve()) if entry else os.getcwd() for entry in sys.path])  # noqa: PTH109

    def close(self) -> None:
        """Tell it to end: its run is interrupted."""
        with contextlib.suppress(OSError):
            self.connection.close()

    def join(self, deadline: float) -> int:
        """Wait until it has ended, or end it by force when the clock (`time.monotonic`) says so; its exit status."""
        try:
            return self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
