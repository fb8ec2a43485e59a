"""Progress of a measurement on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """A bar over `total` runs, on stderr so that tables can be piped. Call the result with a text before each run."""
    columns = BarColumn(bar_width=20), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}")
    hidden = not sys.stderr.isatty()
    # The bar shares the processor with the measured program, so it is drawn once a second.
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=1, disable=hidden) as bar:
        task, begun = bar.add_task("", total=total), 0

        def begin(text: str) -> None:
            nonlocal begun
            bar.update(task, description=text, completed=begun, total=max(total, begun + 1))
            begun += 1

        yield begin
