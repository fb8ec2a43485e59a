"""Tasks of a Ray cluster, each of which is begun once more if its worker or its node dies."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError, TaskCancelledError

Key = TypeVar("Key", bound=Hashable)

_TRIES = 2  # a worker that dies twice under the same run may well die of it


@dataclass
class Ended(Generic[Key]):
    """A task that is over.

    Args:
        key: As it was started.
        value: What it returned, if it has no error.
        error: What it raised, or what became of its worker.
        again: Whether it has been begun anew for that, and is not over after all.
    """

    key: Key
    value: Any = None
    error: Exception | None = None
    again: bool = False

    @property
    def said(self) -> str:
        """The error, in a line."""
        cause = self.error.cause if isinstance(self.error, RayTaskError) else None
        if cause is not None:
            return f"{type(cause).__name__}: {cause}"
        return f"its worker died ({in_short(self.error)})"


def in_short(error: object) -> str:
    """The first sentence of one of Ray's errors, which go on for pages."""
    return str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".") or type(error).__name__


class Tasks(Generic[Key]):
    """Tasks by keys.

    Args:
        function: Of all of them.
        options: Of `ray.remote`.
    """

    def __init__(self, function: Any, **options: Any) -> None:
        # Ray's own retries would say nothing of it, and repeat what runs out of memory for ever.
        self._remote = ray.remote(max_retries=0, **options)(function)
        self._active: dict[Any, tuple[Key, tuple[Any, ...], int | None, int]] = {}

    def __len__(self) -> int:
        return len(self._active)

    def start(self, key: Key, *arguments: Any, memory: int | None = None) -> None:
        """Hand a task to the cluster; it counts for so many bytes of a node's memory."""
        self._begin(key, arguments, memory, _TRIES)

    def ended(self, seconds: float) -> list[Ended[Key]]:
        """Wait so long at most; the tasks that ended."""
        if not self._active:
            return []
        ready, _ = ray.wait(list(self._active), num_returns=1, timeout=seconds)
        # What else is there by now, without waiting for it.
        ready, _ = ray.wait(list(self._active), num_returns=len(self._active), timeout=0) if ready else ([], [])
        found = []
        for reference in ready:
            key, arguments, memory, left = self._active.pop(reference)
            try:
                found.append(Ended(key, ray.get(reference)))
            except RayError as error:
                died = not isinstance(error, RayTaskError | TaskCancelledError)
                found.append(Ended(key, error=error, again=died and left > 1))
                if found[-1].again:
                    self._begin(key, arguments, memory, left - 1)
        return found

    def stop(self) -> None:
        """Interrupt what still runs."""
        for reference in self._active:
            ray.cancel(reference)

    def _begin(self, key: Key, arguments: tuple[Any, ...], memory: int | None, tries: int) -> None:
        remote = self._remote.options(memory=memory) if memory else self._remote
        self._active[remote.remote(*arguments)] = (key, arguments, memory, tries)
