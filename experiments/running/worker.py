"""A process that does the runs of a sweep, one after the other: `python -m flitgym.experiments.running.worker <fd>`.

The command starts it with one end of a socket. It does not import the user's program, as `multiprocessing` would, so a
script that sweeps needs no `if __name__ == "__main__"`. The peak memory of a run leaves out earlier runs of the worker.
"""

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

_GRACE_SECONDS = 0.6  # for a run that was interrupted to remove its unfinished files
_REPORT_EVERY_SECONDS = 0.3


class Reporter:
    """A `Report` that sends the part of the run that is done, and the seconds since it began, now and then.

    Args:
        send: Takes both.
    """

    def __init__(self, send: Callable[[tuple[float, float]], object]) -> None:
        self._send, self._began = send, time.monotonic()
        self._last = self._began

    def __call__(self, phase: str, part: float) -> None:
        """Send if the last report is some time ago."""
        now = time.monotonic()
        if now - self._last > _REPORT_EVERY_SECONDS:
            self._last = now
            self._send((min(part, 0.999), now - self._began))


def main() -> None:
    """Serve the command at the other end until it closes its end, which also interrupts a run."""
    connection = Connection(int(sys.argv[1]))
    # A terminal sends Ctrl-C to every process of the command. The command decides what becomes of its workers.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    try:
        sys.path[:] = connection.recv()
        threading.Thread(target=_listen, args=(connection, tasks), daemon=True).start()
        while True:
            _serve(connection, *tasks.get())
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        os._exit(130)


def _listen(connection: Connection, tasks: "queue.SimpleQueue[Any]") -> None:
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        # The command has stopped this worker, or has died.
        os.kill(os.getpid(), signal.SIGINT)  # which also wakes a main thread that waits for a task
        time.sleep(_GRACE_SECONDS)
        os._exit(130)


def _serve(connection: Connection, folder: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with suppress(OSError):
        os.chdir(folder)
    _forget_peak()
    try:
        value = function(*arguments, lambda part: connection.send(("part", part)))
    except Exception as error:
        answer: tuple[str, Any] = ("error", error)
    else:
        answer = ("value", value)
    try:
        connection.send(answer)
    except (BrokenPipeError, EOFError):
        raise
    except Exception as error:  # an error that cannot be pickled
        connection.send(("error", RuntimeError(f"{type(answer[1]).__name__}: {answer[1]} ({error})")))


def _forget_peak() -> None:
    """Let the kernel's record of the peak memory begin at the memory of this moment (Linux, proc(5), clear_refs)."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123 - a device, not a path
        file.write("5")


if __name__ == "__main__":
    main()
