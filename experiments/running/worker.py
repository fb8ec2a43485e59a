"""A worker process, which executes runs of a sweep in sequence: `python -m flitgym.experiments.running.worker <fd>`.

The command starts it with one end of a socket. Unlike `multiprocessing`, it does not import the user's program, so a
script that sweeps needs no `if __name__ == "__main__"`. The peak memory of a run does not include earlier runs of the
worker.
"""

import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

_GRACE_SECONDS = 0.6  # time for an interrupted run to remove its unfinished files
_REPORT_EVERY_SECONDS = 0.3


class Reporter:
    """A `Report` that sends the finished fraction of the run, and the seconds since its beginning, at intervals.

    Args:
        send: Receives both numbers as a pair.
    """

    def __init__(self, send: Callable[[tuple[float, float]], object]) -> None:
        self._send, self._began = send, time.monotonic()
        self._last = self._began

    def __call__(self, phase: str, part: float) -> None:
        """Send the progress unless the last report is recent."""
        now = time.monotonic()
        if now - self._last > _REPORT_EVERY_SECONDS:
            self._last = now
            self._send((min(part, 0.999), now - self._began))


def main() -> None:
    """Serve the command until it closes its end of the connection, which also interrupts a run."""
    connection = Connection(int(sys.argv[1]))
    # `_listen` sends SIGINT, and a batch system sends SIGTERM. Both raise KeyboardInterrupt in the run.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    try:
        sys.path[:] = connection.recv()
        threading.Thread(target=_listen, args=(connection, tasks), daemon=True).start()
        while True:
            _serve(connection, tasks.get())
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        os._exit(130)


def _listen(connection: Connection, tasks: "queue.SimpleQueue[bytes]") -> None:
    try:
        while True:
            tasks.put(connection.recv_bytes())
    except (EOFError, OSError):
        # The command has stopped this worker, or has died. The signal also wakes a main thread that waits for a task.
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_GRACE_SECONDS)
        os._exit(130)


def _serve(connection: Connection, call: bytes) -> None:
    _forget_peak()
    try:
        folder, function, arguments = pickle.loads(call)
        with suppress(OSError):
            os.chdir(folder)
        value = function(*arguments, lambda part: connection.send_bytes(pickle.dumps(("part", part))))
        answer = pickle.dumps(("value", value))
    except (BrokenPipeError, EOFError):
        raise
    except Exception as error:
        answer = _of_error(error)
    connection.send_bytes(answer)


def _of_error(error: Exception) -> bytes:
    """The answer for an error, with its traceback as a note. An error that cannot be pickled is sent as text."""
    text = traceback.format_exc()
    error.add_note(text)
    try:
        answer = pickle.dumps(("error", error))
        pickle.loads(answer)
    except Exception:
        answer = pickle.dumps(("error", RuntimeError(f"{type(error).__name__}: {error}\n{text}")))
    return answer


def _forget_peak() -> None:
    """Reset the kernel's record of the peak memory to the present memory (Linux, proc(5), clear_refs)."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123 - a device, not a path
        file.write("5")


if __name__ == "__main__":
    main()
