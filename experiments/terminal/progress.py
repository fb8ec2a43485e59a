"""Progress on the terminal, with the remaining time."""

import io
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from contextvars import ContextVar
from importlib.util import find_spec
from math import inf
from typing import TYPE_CHECKING, Self

from .times import duration_text

# Rich takes time to import, and only a terminal needs it.
if TYPE_CHECKING:
    from rich.progress import Progress

# Receives the phase of a run ("warm-up", "measure", "1.25 ms simulated") and the finished fraction, 0..1.
Report = Callable[[str, float], None]

LINE_EVERY_SECONDS = 15

_FORECAST_AFTER_SECONDS = 3.0  # from the beginning of a run
_LONG_SECONDS = 60.0  # a run that takes longer is announced
_LEAST_PART = 0.1  # of a run, before its speed counts: the first messages and the warm-up are not typical


def _left_text(seconds: float | None) -> str:
    return "" if seconds is None else f"about {duration_text(seconds)} left"


def no_report(phase: str, part: float) -> None:
    """A `Report` that shows nothing."""


_quiet = ContextVar("quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """A context that shows neither bars nor messages."""
    token = _quiet.set(True)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        _quiet.reset(token)


def has_bars() -> bool:
    """Whether progress bars can be shown: on a terminal, or in a notebook with the widgets that Rich needs."""
    if _quiet.get():
        return False
    return (sys.stderr is not None and sys.stderr.isatty()) or (in_notebook() and find_spec("ipywidgets") is not None)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, where Rich draws bars as widgets."""
    shell = sys.modules.get("IPython")
    own = shell.get_ipython() if shell is not None else None
    return own is not None and type(own).__name__ == "ZMQInteractiveShell"


class Bar:
    """A context manager with a progress bar on stderr, so that standard output can be piped.

    The bar appears `after` some seconds, so work that ends before shows none.
    """

    def __init__(self, shown: bool, total: float = 1.0, after: float = 0.0) -> None:
        self._from, self._total = time.monotonic() + after if shown else inf, total
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        if self._bar is not None:
            self._bar.refresh()  # in a notebook, stop() leaves the bar as last drawn
            self._bar.stop()

    def show(self, description: str, done: float, left: str) -> None:
        """Show the bar with its description and the text of the remaining time; further lines are below the bar."""
        description, _, below = description.partition("\n")
        if self._bar is None and time.monotonic() >= self._from:
            self._bar = _bar()
            self._task = self._bar.add_task(description, total=self._total, left="", below="")
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=description, left=left, below=below)


def _bar() -> "Progress":
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class LinesBelow(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            for below in filter(None, (task.fields["below"] for task in self.tasks)):
                yield Text(f"  {below}".replace("\n", "\n  "), style="dim")

    return LinesBelow(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=None if in_notebook() else Console(stderr=True),
        redirect_stdout=sys.stdout.isatty(),  # standard output that goes to a file is left alone
    )


class SweepProgress(Bar):
    """Progress of runs with these costs: a bar on a terminal or in a notebook, a line every 15 s in a log file."""

    def __init__(self, description: str, costs: Sequence[float]) -> None:
        # Half by cost and half by number, because even the shortest run reads and writes files.
        total = sum(costs)
        self._costs = [(cost / total if total else 0.0) + 1 / len(costs) for cost in costs]
        super().__init__(has_bars(), sum(self._costs))
        self._description, self._pace, self._last_line = description, Pace(), time.monotonic()

    def update(self, ended: Collection[int], parts: Mapping[int, float]) -> None:
        """Show the indices of the runs that have ended, and the finished fractions (0..1) of those in progress."""
        done = sum(self._costs[k] for k in ended) + sum(self._costs[k] * part for k, part in parts.items())
        label = f"{self._description} {len(ended)}/{len(self._costs)}"
        left = _left_text(self._pace.left(done / self._total))
        self.show(label, done, left)
        if self._bar is None and time.monotonic() - self._last_line > LINE_EVERY_SECONDS and done > 0:
            self._last_line = time.monotonic()
            self.say(", ".join(filter(None, [f"{label} runs", f"{done / self._total:.0%}", left])))

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        print(text, file=sys.stderr, flush=True)


class Pace:
    """The time left of a run or a sweep, from the finished fraction at each report.

    A run of jobs stands still while its ranks compute, and a network that fills up slows down. The speed is therefore
    that of the second half of the elapsed time, but at least half of the mean speed.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[float, float]] = []  # time and part

    @property
    def elapsed(self) -> float:
        """Seconds from the first to the last report."""
        return self._seen[-1][0] - self._seen[0][0] if self._seen else 0.0

    def left(self, part: float) -> float | None:
        """Record a finished fraction (0..1), and estimate the seconds left; None before a tenth of the run."""
        now = time.monotonic()
        if len(self._seen) > 500:
            self._seen = self._seen[::2]
        self._seen.append((now, part))
        if part < _LEAST_PART or not self.elapsed:
            return None
        then, before = next(seen for seen in self._seen if now - seen[0] <= self.elapsed / 2)
        recent = (part - before) / (now - then) if now > then else 0.0
        return (1 - part) / max(recent, part / self.elapsed / 2)


class RunBar(Bar):
    """The progress bar of a single run, a context manager. Its `report` is the run's `Report`.

    Args:
        shown: Whether there is a bar.
        after: Seconds until it appears.
        say: Receives the seconds that the whole run will take, if they exceed a minute, once a tenth of the run is
            done. Receives them again when they have doubled, because a network that fills up slows down.
    """

    def __init__(self, shown: bool = True, after: float = 0.0, say: Callable[[float], None] | None = None) -> None:
        super().__init__(shown, after=after)
        self._pace, self._say, self._said = Pace(), say, _LONG_SECONDS / 2

    def __enter__(self) -> Self:
        self.show("build", 0.0, "")
        return self

    def report(self, phase: str, part: float) -> None:
        """Show the phase and the finished fraction (0..1) of the run."""
        left = self._pace.left(part)
        self.show(phase, part, _left_text(left))
        if self._say and left is not None and self._pace.elapsed >= _FORECAST_AFTER_SECONDS:
            whole = self._pace.elapsed + left
            if whole >= 2 * self._said:
                self._said = whole
                self._say(whole)

    def __exit__(self, *details: object) -> None:
        if details[0] is None and self._bar is not None:
            self.show("done", 1.0, "")
        super().__exit__(*details)
