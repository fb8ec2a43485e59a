"""Progress on the terminal, with the time that is left."""

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


def bars(console: Console | None = None) -> Progress:
    """The one look of every progress bar; on stderr, so that what is printed can be piped."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console or Console(stderr=True),
    )


class RunBar:
    """The bar of a single run: a context manager whose `report` a run calls."""

    def __init__(self) -> None:
        self._progress = bars()
        self._task = self._progress.add_task("build", total=1.0)

    def report(self, phase: str, part: float) -> None:
        """Show the phase and the part (0..1) of the run that is done."""
        self._progress.update(self._task, completed=part, description=phase)

    def __enter__(self) -> "RunBar":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._progress.update(self._task, completed=1.0, description="done")
        self._progress.stop()
