"""The files that a sweep writes at its end: the table of its runs, its picture and its report.

Large modules are imported only for drawing, so that a sweep whose runs are all finished ends immediately.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import wait
from importlib import import_module
from pathlib import Path
from typing import Any

FIGURE = "sweep"  # the picture's files without their suffixes
REPORT = "report.html"


def import_ahead() -> None:
    """Import the modules of `conclude`, for example in a thread during the runs of a sweep."""
    from ..results.rows import table_of

    import_module("..report.page", __package__)
    table_of([{"column": 0}])  # PyArrow imports pandas at the first conversion, if it is installed


def conclude(directory: Path, formats: Sequence[str] = ("png", "svg"), command: str = "flitgym simulate") -> list[Path]:
    """Gather the runs of a study into `rows.parquet`, draw `sweep.<format>` and write `report.html`.

    If no result is newer than these files, nothing is written. Damaged runs are reported on stderr and left out. There
    is a picture if at least two runs can be compared, and a format (`png`, `svg`, `pdf`) is given.

    Returns:
        The table, the pictures and the report; an empty list without a finished run.
    """
    old = list(directory.glob(f"{FIGURE}.*"))
    written = [directory / "rows.parquet", *(directory / f"{FIGURE}.{kind}" for kind in formats), directory / REPORT]
    if len(old) == len(formats) and all(path.is_file() for path in written):
        newest = max((path.stat().st_mtime_ns for path in directory.glob("**/result.json")), default=0)
        if newest < written[-1].stat().st_mtime_ns:
            return written
    from ..results.rows import ROWS_FILE, rows_below, write_gathered
    from ..terminal.commandline import say_damaged

    rows, results, damaged = rows_below(directory)
    say_damaged(command, damaged)
    if not rows:
        return []
    from ..running.launcher import warm

    for path in old:
        path.unlink()  # it may show another set of runs
    with warm() as workers:  # which draw while this process writes the table and draws the report
        drawings = [workers.submit(_draw, rows, str(directory / FIGURE), kind) for kind in formats]
        write_gathered(directory, rows)
        from ..report.page import figures_in, write_report

        def figures() -> Iterator[Path]:
            wait(drawings)
            yield from figures_in(directory)

        report = write_report(directory, directory.resolve().name, results, figures())
        pictures = [path for drawing in drawings for path in drawing.result()]
    return [directory / ROWS_FILE, *pictures, report]


def _draw(rows: Sequence[Mapping[str, Any]], stem: str, kind: str, report: object) -> list[Path]:
    """Draw the picture in one format, if there are runs to compare."""
    from ..plotting.drawing import save_figure
    from ..plotting.lines import blocks_of
    from ..plotting.sweeps import sweep_figure

    return save_figure(sweep_figure(rows), Path(stem), FIGURE, [kind]) if blocks_of(rows) else []
