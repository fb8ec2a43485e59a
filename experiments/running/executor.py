"""The interface of every executor: `concurrent.futures`, batches of calls and their progress."""

import concurrent.futures
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any


class WorkerDiedError(Exception):
    """The process of a call ended without an answer, for example for want of memory."""


class Executor(concurrent.futures.Executor, ABC):
    """`concurrent.futures.Executor` with batches of calls and their progress.

    A call gets a function as its last argument, to which it may give (part done, seconds).
    """

    most: int  # calls at the same time
    tries = 1  # of a call whose worker dies

    @abstractmethod
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        """Call `fn(*args, tell)` somewhere; returns a future.

        Args:
            fn: A function of a module.
            args: The arguments of the call.
            kwargs: `memory`, the bytes that the call will probably take, where an executor has to know.
        """

    def batch(self) -> AbstractContextManager[Any]:
        """Calls that are submitted within the context go out together."""
        return nullcontext()

    def parts(self) -> Mapping[Any, tuple[float, float]]:
        """The last (part, seconds) that a running call told, by its future."""
        return {}
