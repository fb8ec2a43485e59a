"""A lock that admits one process at a time to a folder. The system releases it when the process ends or dies."""

import fcntl
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
    """Lock `directory` while the block runs. A CommandError names the process that holds the lock already."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOCK_FILE).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read() or "another process"
            raise CommandError(f"{directory}: {owner} uses this folder; wait for its end, or stop it") from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%Y-%m-%d %H:%M:%S')},")
        file.flush()
        try:
            yield
        finally:
            (directory / LOCK_FILE).unlink(missing_ok=True)
