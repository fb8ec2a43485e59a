"""A worker ends when the command that it works for is gone, however that ended: nobody waits for its result."""

import _thread
import os
import socket
import threading
import time

_LOOK_EVERY_SECONDS = 0.5
_GRACE_SECONDS = 5.0  # for a run to clean up behind itself
_COMMAND = "FLITGYM_COMMAND"  # holds the number of the command's process and its machine; its workers inherit it

_watching = False


def have_workers() -> None:
    """Say that this process is a command, whose workers on this machine end with it if they call `end_with_command`."""
    os.environ[_COMMAND] = f"{os.getpid()}@{socket.gethostname()}"


def end_with_command() -> None:
    """End this process soon after its command has ended, with Ctrl-C's exception first; safe to call again.

    The command itself goes on without the shell that started it, and so does a process that has no command.
    """
    command, _, machine = os.environ.get(_COMMAND, "").partition("@")
    # A job of Slurm has the environment of the command, but may be elsewhere.
    if command and machine == socket.gethostname() and int(command) != os.getpid():
        end_with(int(command))


def end_with(process: int) -> None:
    """End this process soon after another has ended, as `end_with_command` does."""
    global _watching
    if not _watching:
        _watching = True
        threading.Thread(target=_watch, args=(process, os.getppid()), daemon=True).start()


def _watch(process: int, parent: int) -> None:
    # What was killed may stay in the list of processes, but its children are given to another parent at once.
    while os.getppid() == parent and _lives(process):
        time.sleep(_LOOK_EVERY_SECONDS)
    _thread.interrupt_main()
    time.sleep(_GRACE_SECONDS)
    os._exit(1)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    return True
