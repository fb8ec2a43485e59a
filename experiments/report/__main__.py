"""`flitgym-report <folder>`: every run below a folder, and the figures in it, as one HTML page."""

import argparse
import sys
from pathlib import Path

from ..commandline import CommandError, run_command
from ..results import RESULT_FILE, read_result
from .page import REPORT_FILE, write_report


def report(directory: Path, output: Path | None) -> Path:
    """Write the page of all runs below `directory`.

    Raises:
        CommandError: there is none.
        OSError: the page cannot be written.
    """
    if not directory.is_dir():
        raise CommandError(f"{directory} is not a folder; name one that holds runs, e.g. results/<study>")
    folders = [path.parent for path in sorted(directory.glob(f"**/{RESULT_FILE}"))]
    results = [(result, folder) for folder in folders if (result := read_result(folder)) is not None]
    if not results:
        raise CommandError(
            f"no run below {directory}; make one with `flitgym-simulate study=<name> workload=pair`, then give "
            "`flitgym-report results/<name>`"
        )
    figures = sorted(path for path in directory.iterdir() if path.suffix in (".png", ".svg"))
    name = directory.resolve().name
    command = f"flitgym-report {directory}"
    return write_report(directory, name, results, figures, output=output, command=command)


def main() -> None:
    """Entry point of the command."""
    parser = argparse.ArgumentParser(
        prog="flitgym-report", description="Make one HTML page of every run below a folder and of the figures in it."
    )
    parser.add_argument("directory", type=Path, help="a folder that holds runs, e.g. results/<study>")
    parser.add_argument("--output", type=Path, help=f"default: <directory>/{REPORT_FILE}")
    arguments = parser.parse_args()
    sys.exit(run_command("flitgym-report", lambda: print(report(arguments.directory, arguments.output))))


if __name__ == "__main__":
    main()
