"""`flitgym-gather`: the results of many runs as one Parquet table. A sweep does it by itself when it ends."""

import argparse
import sys
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from .commandline import CommandError, run_command
from .results import ROWS_FILE, gather


class GatherAfterSweep(Callback):
    """Hydra's hook at the end of a sweep."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Gather every finished run of the study."""
        directory = Path(config.hydra.sweep.dir)
        print(f"{directory / ROWS_FILE}: {gather(directory)} rows")


def main() -> None:
    """Entry point of the command."""
    parser = argparse.ArgumentParser(
        prog="flitgym-gather", description="Put every finished run below a folder into rows.parquet."
    )
    parser.add_argument("directory", type=Path, nargs="?", default=Path("results"))
    directory = parser.parse_args().directory

    def command() -> None:
        count = gather(directory)
        if count == 0:
            raise CommandError(f"no finished run below {directory}")
        print(f"{directory / ROWS_FILE}: {count} rows")

    sys.exit(run_command("flitgym-gather", command))


if __name__ == "__main__":
    main()
