"""The files that a sweep writes at its end: the table of its runs, its picture and its report.

Large modules are imported only for drawing, so that a sweep whose runs are all finished ends immediately.
"""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

FIGURE = "sweep"  # the picture's files without their suffixes
REPORT = "report.html"

_RESULT = "result.json"
_MARK = re.compile(r'<meta name="flitgym-runs" content="([0-9a-f]{64}) ([0-9]+)">')
_HEAD = 2_000  # first bytes of a report, which contain the mark


def conclude(directory: Path, formats: Sequence[str] = ("png", "svg"), command: str = "flitgym simulate") -> list[Path]:
    """Gather the runs of a study into `rows.parquet`, draw `sweep.<format>` and write `report.html`.

    If the runs, the formats and the files have not changed since the last call, nothing is read or written. Damaged
    runs are reported on stderr and left out. There is a picture if at least two runs can be compared.

    Args:
        directory: The folder of the study.
        formats: Suffixes of the picture's files, `png`, `svg` or `pdf`; empty for no picture.
        command: The name of the calling command, for messages.

    Returns:
        The table, the pictures and the report; an empty list without a finished run.

    Raises:
        ConfigError: the folder holds a labelled table (see `results.rows.write_gathered`).
        OSError: a file cannot be written.
    """
    mark = fingerprint(directory, formats)
    written = _concluded(directory, formats, mark)
    if written:
        return written
    from ..results.rows import ROWS_FILE, rows_below, write_gathered
    from ..terminal.commandline import say_damaged

    rows, results, damaged = rows_below(directory)
    say_damaged(command, damaged)
    if not rows:
        return []
    write_gathered(directory, rows)
    from ...configs import PLOT_FORMATS
    from ..plotting.drawing import save_figure
    from ..plotting.lines import blocks_of
    from ..plotting.sweeps import sweep_figure
    from ..report.page import figures_in, write_report

    for path in (directory / f"{FIGURE}.{kind}" for kind in PLOT_FORMATS):
        path.unlink(missing_ok=True)  # it may show another set of runs
    pictures = []
    if formats and blocks_of(rows):
        pictures = save_figure(sweep_figure(rows), directory / FIGURE, FIGURE, formats)
    report = write_report(directory, directory.resolve().name, results, figures_in(directory),
                          mark=f"{mark} {len(pictures)}")  # fmt: skip
    return [directory / ROWS_FILE, *pictures, report]


def fingerprint(directory: Path, formats: Sequence[str]) -> str:
    """A hash of the names, sizes and times of the results below a folder, and of the formats."""
    found = []
    for folder, _, files in os.walk(directory):
        if _RESULT in files:
            about = os.stat(os.path.join(folder, _RESULT))  # noqa: PTH116, PTH118 - a study may hold thousands of runs
            found.append((os.path.relpath(folder, directory), about.st_size, about.st_mtime_ns))
    return hashlib.sha256(json.dumps([sorted(found), sorted(formats)]).encode()).hexdigest()


def _concluded(directory: Path, formats: Sequence[str], mark: str) -> list[Path]:
    """The files of an earlier call with the same mark; empty if one of them is missing."""
    report, table = directory / REPORT, directory / "rows.parquet"
    try:
        with report.open(encoding="utf-8") as file:
            found = _MARK.search(file.read(_HEAD))
    except (OSError, UnicodeDecodeError):
        return []
    if found is None or found[1] != mark or not table.is_file():
        return []
    pictures = [path for kind in formats if (path := directory / f"{FIGURE}.{kind}").is_file()]
    return [table, *pictures, report] if len(pictures) == int(found[2]) else []
