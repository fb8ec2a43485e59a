"""The interface of every executor: `concurrent.futures`, batches of calls and their progress."""

import concurrent.futures
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...simcore._cores import CORES

RUNS_AT_ONCE = "FLITGYM_RUNS_AT_ONCE"  # environment variable of the processes of a sweep, which share the cores


class WorkerDiedError(Exception):
    """The process of a call ended without an answer, for example because memory ran out."""


class Executor(concurrent.futures.Executor, ABC):
    """`concurrent.futures.Executor` with batches of calls and their progress.

    A call receives a function as its last argument, and reports its finished fraction (0..1) through it.
    """

    most: int  # number of parallel calls
    tries = 1  # attempts at a call whose worker dies

    @abstractmethod
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        """Call `fn(*args, report)` in a worker; returns a future. `fn` is defined at the top level of a module.

        `kwargs` has `memory`, the bytes that the call will probably take, for executors that schedule by memory.
        """

    def batch(self) -> AbstractContextManager[Any]:
        """A context whose calls are submitted together."""
        return nullcontext()

    def parts(self) -> Mapping[Any, float]:
        """The last fraction that a running call reported, by its future."""
        return {}


def call_elsewhere(
    fn: Callable[..., Any],
    arguments: tuple[Any, ...],
    folder: str,
    cpus: float,
    report: Callable[[Any], object] = lambda part: None,
) -> tuple[Exception | None, Any]:
    """Make a call in a process of another machine, in the folder of the command.

    Returns the error of the call and its value. `cpus` are the threads of a run with `run.threads=0`.
    """
    os.environ[RUNS_AT_ONCE] = str(max(1, int(CORES // max(1.0, cpus))))
    try:
        os.chdir(folder)
        return None, fn(*arguments, report)
    except Exception as error:
        return error, None


def cores_of_a_run() -> int:
    """The cores of each parallel run, which are its threads with `run.threads=0`."""
    return max(1, CORES // int(os.environ.get(RUNS_AT_ONCE, 1)))
