"""The progress bar of a run from Python. A short run shows none."""

import time
from types import TracebackType
from typing import Self

from ..terminal.progress import RunBar, has_bars

_SHOWN_AFTER_SECONDS = 1.0


class LateBar:
    """A context manager that is also a `Report`. The bar appears after a second.

    Args:
        wanted: Whether to show the bar if a terminal or a notebook can.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted and has_bars()
        self._began = time.monotonic()
        self._bar: RunBar | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, phase: str, part: float) -> None:
        """Show the phase and the finished fraction of the run."""
        if self._bar is None and self._wanted and time.monotonic() - self._began > _SHOWN_AFTER_SECONDS:
            self._bar = RunBar()
            self._bar.__enter__()
        if self._bar is not None:
            self._bar.report(phase, part)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)
