"""Progress on the terminal, with the time that is left."""

import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .times import duration_text

# Rich takes time to import, and only a terminal needs it.
if TYPE_CHECKING:
    from rich.progress import Progress

# Called with what a run does ("warm-up", "measure", "1.25 ms simulated") and the part of it that is done, 0..1.
Report = Callable[[str, float], None]

_LINE_EVERY_SECONDS = 15

_FORECAST_AFTER_SECONDS = 3.0  # of a run
_LONG_SECONDS = 60.0  # what takes longer is announced


def no_report(phase: str, part: float) -> None:
    """A `Report` that shows nothing."""


def bars() -> "Progress":
    """The one look of every progress bar; on stderr, so that what is printed can be piped."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        # Runs differ in speed; the time left follows the whole sweep rather than the last half minute.
        speed_estimate_period=600,
    )


class Shown:
    """Bars that are on the terminal while a `with` block lasts.

    Args:
        progress: The bars; None where there is no terminal for them.
    """

    def __init__(self, progress: "Progress | None") -> None:
        self._bars = progress

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()


class SweepProgress(Shown):
    """Progress of many runs: a bar on a terminal, a line now and then in a log file. A context manager.

    Args:
        description: Of the sweep.
        costs: What each run takes, in any one unit.
    """

    def __init__(self, description: str, costs: Sequence[float]) -> None:
        # Half by what runs take, half by their number: a run of next to nothing still starts a process, and files are
        # read and written.
        total = sum(costs)
        self._description = description
        self._costs = [(cost / total if total else 0.0) + 1 / len(costs) for cost in costs]
        super().__init__(bars() if sys.stderr.isatty() else None)
        self._task = self._bars.add_task(description, total=sum(self._costs)) if self._bars else None
        self._began = self._last_line = time.monotonic()

    def update(self, parts: Sequence[float]) -> None:
        """Show the part of each run that is done, 0..1, in the order of the costs."""
        done = sum(cost * part for cost, part in zip(self._costs, parts, strict=True))
        label = f"{self._description} {sum(part == 1.0 for part in parts)}/{len(parts)}"
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, completed=done, description=label)
        elif time.monotonic() - self._last_line > _LINE_EVERY_SECONDS and done > 0:
            self._last_line = time.monotonic()
            elapsed, whole = self._last_line - self._began, sum(self._costs)
            left = elapsed * (whole - done) / done
            print(f"{label} runs, {done / whole:.0%}, about {duration_text(left)} left", file=sys.stderr, flush=True)


class RunBar(Shown):
    """The bar of a single run: a context manager whose `report` a run calls."""

    def __init__(self) -> None:
        self._progress = bars()
        super().__init__(self._progress)
        self._task = self._progress.add_task("build", total=1.0)

    def report(self, phase: str, part: float) -> None:
        """Show the phase and the part (0..1) of the run that is done."""
        self._progress.update(self._task, completed=part, description=phase)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._progress.update(self._task, completed=1.0, description="done")
        super().__exit__(kind, error, trace)


class Forecast:
    """A `Report` that says, a few seconds into a run that takes more than a minute, how long it will take.

    Said again when it turns out to take twice as long: a network that fills up slows down.

    Args:
        report: Told of everything.
        say: Called with the seconds that the whole run will take.
    """

    def __init__(self, report: Report, say: Callable[[float], None]) -> None:
        self._report, self._say = report, say
        self._seen: list[tuple[float, float]] = []  # time and part
        self._said = _LONG_SECONDS / 2

    def __call__(self, phase: str, part: float) -> None:
        """Show the phase and the part (0..1) of the run that is done."""
        self._report(phase, part)
        now = time.monotonic()
        if len(self._seen) > 500:
            self._seen = self._seen[::2]
        self._seen.append((now, part))
        began = self._seen[0][0]
        if now - began < _FORECAST_AFTER_SECONDS:
            return
        # By the speed since half of the time, since it was empty at first.
        then, before = next(seen for seen in self._seen if now - seen[0] <= (now - began) / 2 or seen is self._seen[-2])
        if part <= before or now <= then:
            return
        whole = now - began + (1 - part) * (now - then) / (part - before)
        if whole >= 2 * self._said:
            self._said = whole
            self._say(whole)
