"""`flitgym report <folder>`: shows all runs below a folder, and the figures in it, on one HTML page."""

import argparse
import sys
from pathlib import Path

from ...simcore import CoreError
from ..results.files import DamagedError, check_table
from ..results.rows import rows_below
from ..table_quality.one_table import KIND
from ..terminal.commandline import CommandError, require_folder, run_command, say_damaged
from .page import REPORT_FILE, figures_in, write_report


def report(directory: Path, output: Path | None) -> Path:
    """Write the page of all undamaged runs below `directory`, and print its path.

    Raises:
        CommandError: there is no such run.
        CoreError: some runs are damaged. The page shows the others.
        OSError: the page cannot be written.
    """
    require_folder("flitgym report", directory)
    _, found, damaged = rows_below(directory)
    results = []
    for result, folder in found:
        if result.get("kind") in ("saturation", "regret", KIND):
            continue  # these commands have pages and pictures of their own
        try:
            for key in result.get("files", {}):
                check_table(result, folder, key)
            results.append((result, folder))
        except DamagedError as error:
            damaged.append(error)
    say_damaged("flitgym report", damaged)
    if not results:
        raise CommandError(
            f"no run below {directory}; make some with `flitgym simulate -m study=<name> ...`, then give "
            "`flitgym report results/<name>`"
        )
    name = directory.resolve().name
    command = f"flitgym report {directory}"
    page = write_report(directory, name, results, figures_in(directory), output=output, command=command)
    print(page)
    if damaged:
        raise CoreError(f"{len(damaged)} damaged runs are not shown; repeat the commands that made them")
    return page


def main() -> None:
    """Entry point of the command."""
    parser = argparse.ArgumentParser(
        prog="flitgym report", description="Make one HTML page of every run below a folder and of the figures in it."
    )
    parser.add_argument("directory", type=Path, help="a folder that holds runs, e.g. results/<study>")
    parser.add_argument("--output", type=Path, help=f"default: <directory>/{REPORT_FILE}")
    arguments = parser.parse_args()
    sys.exit(run_command("flitgym report", lambda: report(arguments.directory, arguments.output)))
