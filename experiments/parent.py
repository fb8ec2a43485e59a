"""A worker ends when the command that it works for is gone, however that ended: nobody waits for its result."""

import _thread
import os
import threading
import time

_LOOK_EVERY_SECONDS = 0.5
_GRACE_SECONDS = 5.0  # for a run to clean up behind itself
_COMMAND = "FLITGYM_COMMAND"  # holds the number of the command's process; its workers inherit it

_watching = False


def have_workers() -> None:
    """Say that this process is a command, whose children end with it if they call `end_with_command`."""
    os.environ[_COMMAND] = str(os.getpid())


def end_with_command() -> None:
    """In a child of a command, `end_with_parent`; elsewhere nothing: a command outlives the shell that started it."""
    if os.environ.get(_COMMAND) == str(os.getppid()):
        end_with_parent()


def end_with_parent() -> None:
    """End this process soon after its parent has ended, with Ctrl-C's exception first; safe to call again."""
    global _watching
    if not _watching:
        _watching = True
        threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    # An orphan is given to another parent at once, on every Unix.
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_SECONDS)
    _thread.interrupt_main()
    time.sleep(_GRACE_SECONDS)
    os._exit(1)
