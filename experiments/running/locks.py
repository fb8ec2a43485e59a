"""One process at a time in a folder, by a lock that the system takes back when the process ends, however it ends."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..terminal.commandline import CommandError

LOCK_FILE = "running.lock"


@contextmanager
def sole_owner(directory: Path) -> Iterator[None]:
    """Hold `directory` while the block runs.

    Raises:
        CommandError: another process has it; the message says which, on which machine and since when.
        OSError: the folder cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / LOCK_FILE
    handle = _locked(path)
    try:
        os.ftruncate(handle, 0)
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        os.pwrite(handle, json.dumps(owner).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is still held: no process can lose a lock on a file that is gone
        os.close(handle)


def _locked(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(handle, 1000, 0)
            os.close(handle)
            raise CommandError(f"{path.parent}: {_owner(text)}; wait until it is done, or end it") from None
        except BaseException:
            os.close(handle)
            raise
        # Its last owner may have removed the file between the two calls. The lock is then on a file without a name.
        try:
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)


def _owner(text: bytes) -> str:
    try:
        owner = json.loads(text)
        return f"process {owner['pid']} on {owner['host']} has been at work here since {owner['since']}"
    except (ValueError, KeyError, TypeError):  # not written yet
        return "another process is at work here"
