"""`flitgym export <folder>`: the table of all runs of a study, or of all runs below a folder, as Parquet or CSV."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ..simcore import ConfigError, CoreError
from .results.rows import ROWS_FILE, is_labelled, rows_in, write_rows
from .terminal.commandline import CommandError, require_folder, run_command, say_damaged
from .terminal.tables import write_csv
from .terminal.words import parse

NAME = "flitgym export"
_USAGE = f"""\
usage: {NAME} <folder> [out=<file.csv>|<file.parquet>]

Write a row per finished run below a folder: its numbers, and its configuration as traffic.load, routing.name and so on.
"""


def export(directory: Path, out: Path | None) -> tuple[Path, int]:
    """Write the rows of a study, a run, or a folder of several. Returns the file and the number of its rows.

    `out` ends in `.parquet` or in `.csv`, where lists are JSON; None: `rows.parquet` of the folder.

    Raises:
        CommandError: there is no finished run.
        CoreError: some runs are damaged. The file holds the others.
        OSError: the file cannot be written.
    """
    require_folder(NAME, directory)
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise ConfigError(f"out={out}: write a name that ends in .csv or .parquet")
    rows, damaged = rows_in(directory)
    say_damaged(NAME, damaged)
    if not rows:
        raise CommandError(f"no finished run below {directory}; make some with flitgym simulate")
    if out is None:
        out = directory / ROWS_FILE
        if not is_labelled(out):
            write_rows(out, rows)
    elif out.suffix == ".csv":
        columns = list(dict.fromkeys(key for row in rows for key in row))
        nested = (list, dict)
        texts = [{key: json.dumps(x) if isinstance(x, nested) else x for key, x in row.items()} for row in rows]
        write_csv(out, texts, columns)
    else:
        write_rows(out, rows)
    if damaged:
        raise CoreError(f"{len(damaged)} damaged runs are left out; repeat the commands that made them")
    return out, len(rows)


def command(words: Sequence[str]) -> None:
    """Execute the command with its arguments."""
    folders, given, options = parse(words, ("out",), ("help", "h"))
    if options:
        print(_USAGE, end="")
        return
    if len(folders) != 1:
        raise CommandError(f"the command takes one folder, not {len(folders)}; for example {NAME} results/first")
    print("{}: {} rows".format(*export(folders[0], Path(given["out"]) if "out" in given else None)))


def main() -> None:
    """Entry point of the command."""
    sys.exit(run_command(NAME, lambda: command(sys.argv[1:])))
