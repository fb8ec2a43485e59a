"""A lock that admits one process at a time to a folder. The system releases it when the process ends or dies."""

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
    """Lock `directory` while the block runs.

    Raises:
        CommandError: another process holds the lock. The message names the process, its machine and the time.
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
        path.unlink(missing_ok=True)  # before the lock is released, so that no other process locks the removed file
        os.close(handle)


def _locked(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(handle, 1000, 0)
            os.close(handle)
            raise CommandError(f"{path.parent}: {_owner(text)}; wait for its end, or stop it") from None
        except BaseException:
            os.close(handle)
            raise
        # The previous owner may have removed the file between the two calls. Then this lock is on a removed file.
        try:
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)


def _owner(text: bytes) -> str:
    try:
        owner = json.loads(text)
        return f"process {owner['pid']} on {owner['host']} has used this folder since {owner['since']}"
    except (ValueError, KeyError, TypeError):  # the owner has not written its line yet
        return "another process uses this folder"
