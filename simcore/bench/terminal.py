"""Progress of a measurement: a bar on a terminal, and lines of text elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Steps:
    """Progress over a number of runs, on stderr so that tables can be piped. A context manager."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._last_line = time.monotonic()
        self._bar = Progress(
            BarColumn(bar_width=20),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
            speed_estimate_period=600,
            refresh_per_second=1,  # the bar uses the measured machine
            disable=not sys.stderr.isatty(),
            redirect_stdout=sys.stdout.isatty(),
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Steps:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def about(self, what: str) -> None:
        """Show the current run."""
        self._bar.update(self._task, description=what)
        if self._bar.disable and time.monotonic() - self._last_line > 20:
            self._last_line = time.monotonic()
            print(f"{self._done}/{self._total}: {what}", file=sys.stderr, flush=True)

    def add(self, count: int) -> None:
        """Increase the number of runs."""
        self._total += count
        self._bar.update(self._task, total=self._total)

    def advance(self) -> None:
        """Count a finished run."""
        self._done += 1
        self._bar.advance(self._task)
