"""`flitgym-route`: the forwarding table that an engine makes of a network, or one from a file, and how good it is.

    flitgym-route topology=graph topology.file=fabric.csv engine=dfsssp,sssp,min_hop,up_down -m

`configs/route.yaml` explains every key.
"""

import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig
from rich.console import Console

from ..configs import CONFIG_DIR
from ..configs.routes import check_route, register_routes
from .running import grid, ray_launcher
from .running.launcher import ONE_RUN, refuse_launcher
from .running.parent import end_with_command, have_workers
from .table_quality.one_table import obtain
from .table_quality.text import headline, print_rows
from .terminal.commandline import past_hydra, run_command
from .terminal.progress import RunBar, no_report

NAME = "flitgym-route"
_WIDTH_OF_FILES = 140  # columns, where the output is no terminal


@hydra.main(config_path=str(CONFIG_DIR), config_name="route", version_base="1.3")
def app(config: DictConfig) -> None:
    """Make and measure one table in Hydra's run directory."""
    end_with_command()
    if HydraConfig.get().mode == RunMode.RUN:
        with past_hydra():
            _route(config, in_sweep=False)
    else:
        _route(config, in_sweep=True)


def _route(config: DictConfig, in_sweep: bool) -> None:
    hydra_config = HydraConfig.get()
    directory = Path(hydra_config.runtime.output_dir)
    try:
        if not in_sweep:
            refuse_launcher(ONE_RUN)
        check_route(config, list(hydra_config.overrides.task))
        # The tables of a sweep share one terminal, and several bars at once would write over each other.
        with nullcontext() if in_sweep or not sys.stderr.isatty() else RunBar() as bar:
            result, made_now = obtain(config, directory, bar.report if bar else no_report, keep_refusals=in_sweep)
    except BaseException:
        # Hydra has made the folder already; what came to nothing leaves none behind.
        with suppress(OSError):
            directory.rmdir()
        raise
    if in_sweep:
        print(_line(result, directory, made_now), flush=True)
    else:
        print_rows(Console(width=None if sys.stdout.isatty() else _WIDTH_OF_FILES), [result])
        shown = _shown(directory)
        print(*(str(shown / name) for name in ("result.json", *result["files"].values())), sep="\n", flush=True)


def _line(result: dict[str, Any], directory: Path, made_now: bool) -> str:
    state = "" if made_now else " (finished before)"
    text = headline(result) if result["routed"] else f"no table: {result['note']}"
    return f"{_shown(directory)}{state}: {text}"


def _shown(directory: Path) -> Path:
    return directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory


def main() -> None:
    """Entry point of the command."""
    have_workers()
    ray_launcher.register()
    grid.register()
    register_routes()
    sys.exit(run_command(NAME, app))


if __name__ == "__main__":
    main()
