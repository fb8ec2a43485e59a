"""The interface of every executor: `concurrent.futures`, batches of calls and their progress."""

import concurrent.futures
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any


class WorkerDiedError(Exception):
    """The process of a call ended without an answer, for example because memory ran out."""


class Executor(concurrent.futures.Executor, ABC):
    """`concurrent.futures.Executor` with batches of calls and their progress.

    A call receives a function as its last argument, and reports (finished fraction, seconds) through it.
    """

    most: int  # number of parallel calls
    tries = 1  # attempts at a call whose worker dies

    @abstractmethod
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        """Call `fn(*args, report)` in a worker; returns a future.

        Args:
            fn: A function of a module.
            args: The arguments of the call.
            kwargs: `memory`, the bytes that the call will probably take, for executors that schedule by memory.
        """

    def batch(self) -> AbstractContextManager[Any]:
        """A context whose calls are submitted together."""
        return nullcontext()

    def parts(self) -> Mapping[Any, tuple[float, float]]:
        """The last (finished fraction, seconds) that a running call reported, by its future."""
        return {}
