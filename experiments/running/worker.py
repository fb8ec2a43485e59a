"""A worker process, which executes runs of a sweep in sequence: `python -m flitgym.experiments.running.worker <fd>`.

The command starts it with one end of a socket. Unlike `multiprocessing`, it does not import the user's program, so a
script that sweeps needs no `if __name__ == "__main__"`. The peak memory of a run does not include earlier runs of the
worker.
"""

import os
import pickle
import signal
import sys
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from types import FrameType


def main() -> None:
    """Serve the command until it ends or sends SIGTERM. If it has died, the next report of a run raises an error."""
    connection = Connection(int(sys.argv[1]))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        sys.path[:] = connection.recv()
        while True:
            call = connection.recv_bytes()
            # Resets the kernel's record of the peak memory to the present memory (Linux, proc(5)).
            with suppress(OSError), open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123 - a device, not a path
                file.write("5")
            connection.send_bytes(_answer(call, connection))
    except (EOFError, ConnectionError, KeyboardInterrupt):
        os._exit(130)


def _stop(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, so that a run cleans up. An import may lose the error, so the worker ends there."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt


def _answer(call: bytes, connection: Connection) -> bytes:
    """Make a call. An error has its traceback as a note, and becomes text if it cannot be pickled."""
    try:
        folder, function, arguments = pickle.loads(call)
        os.chdir(folder)
        return pickle.dumps(("value", function(*arguments, lambda part: connection.send(("part", part)))))
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:
        text = traceback.format_exc()
        error.add_note(text)
        with suppress(Exception):
            answer = pickle.dumps(("error", error))
            pickle.loads(answer)
            return answer
        return pickle.dumps(("error", RuntimeError(f"{type(error).__name__}: {error}\n{text}")))


if __name__ == "__main__":
    main()
