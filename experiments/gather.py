"""`flitgym gather`: gathers the results of many runs into one Parquet table. A sweep does the same at its end."""

import argparse
import sys
from pathlib import Path

from ..simcore import CoreError
from .results.rows import ROWS_FILE, gather
from .terminal.commandline import CommandError, require_folder, run_command, say_damaged


def main() -> None:
    """Entry point of the command."""
    parser = argparse.ArgumentParser(
        prog="flitgym gather", description="Put every finished run below a folder into rows.parquet."
    )
    parser.add_argument("directory", type=Path, nargs="?", default=Path("results"))
    directory = parser.parse_args().directory

    def command() -> None:
        require_folder("flitgym gather", directory)
        count, damaged = gather(directory)
        say_damaged("flitgym gather", damaged)
        if count == 0:
            raise CommandError(f"no finished run below {directory}; make some with flitgym simulate")
        print(f"{directory / ROWS_FILE}: {count} rows")
        if damaged:
            raise CoreError(f"{len(damaged)} damaged runs are left out; repeat the commands that made them")

    sys.exit(run_command("flitgym gather", command))
