"""The live line of a training: reward, latency, throughput, loss, and the remaining time; and its end by Ctrl-C."""

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from ..terminal.progress import LINE_EVERY_SECONDS, Pace, RunBar, has_bars
from ..terminal.times import duration_text

_SHOWN = {
    "reward": "reward {:.3f}",
    "latency_ns": "latency {:,.0f} ns",
    "throughput": "throughput {:.3f}",
    "loss": "loss {:.4f}",
}


class TrainProgress:
    """A bar on a terminal until `resources` end, or a line every 15 s in a log file.

    Nothing is shown if another training shares the terminal. `done` rounds were finished before this process.
    """

    def __init__(self, resources: ExitStack, title: str, rounds: int, done: int, alone: bool = True) -> None:
        self._bar = resources.enter_context(RunBar()) if alone and has_bars() else None
        self._title, self._rounds, self._first, self._alone = title, rounds, done, alone
        self._pace, self._part, self._last_line = Pace(), 0.0, time.monotonic()
        if done:
            self.say(f"continuing after round {done}")

    def say(self, words: str) -> None:
        """Show the work of this moment."""
        if self._bar is not None:
            self._bar.report(f"{self._title}: {words}", self._part)
        elif self._alone:
            print(f"{self._title}: {words}", file=sys.stderr, flush=True)

    def update(self, done: int, metrics: Mapping[str, float]) -> None:
        """Show the metrics of a finished round."""
        self._part = (done - self._first) / (self._rounds - self._first)
        finite = {key: form for key, form in _SHOWN.items() if math.isfinite(metrics.get(key, math.nan))}
        words = [f"round {done} of {self._rounds}", *(form.format(metrics[key]) for key, form in finite.items())]
        left = self._pace.left(self._part)
        if self._bar is None and left and done < self._rounds:
            words.append(f"about {duration_text(left)} left")
        late = time.monotonic() - self._last_line > LINE_EVERY_SECONDS
        if self._bar is not None or late or done == self._rounds:
            self._last_line = time.monotonic()
            self.say(", ".join(words))


class Stop:
    """A context manager in which Ctrl-C or SIGTERM ends a training after a round, when it can be saved.

    A second signal ends the training immediately. Outside the main thread, where signals cannot be caught, the context
    manager does nothing. `abandon` gives up the present round; None: rounds are short, and the present one is finished.
    """

    def __init__(self, say: Callable[[str], None], abandon: Callable[[], None] | None) -> None:
        self.asked, self._say, self._abandon = False, say, abandon
        self._before: dict[signal.Signals, Any] = {}

    def _ask(self, number: int, frame: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        what = "finishing this round" if self._abandon is None else "giving up this round"
        self._say(f"{what}; press Ctrl-C again to stop immediately")
        if self._abandon is not None:
            self._abandon()

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():
            self._before = {kind: signal.signal(kind, self._ask) for kind in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *details: object) -> None:
        for kind, handler in self._before.items():
            signal.signal(kind, handler)
