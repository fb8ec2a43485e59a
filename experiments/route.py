"""`flitgym route`: makes the forwarding table of a network by an engine, or reads one, and measures its quality.

    flitgym route topology=graph topology.file=fabric.csv engine=dfsssp,sssp,min_hop,up_down -m

`configs/route.yaml` explains every key.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from ..configs import CONFIG_DIR, refuse_added
from ..configs.routes import check_route, register_routes
from .results.files import remove_if_unused
from .running.hydra_plugin import Sweep, register
from .running.launcher import ONE_RUN, refuse_launcher
from .running.plan import TABLES, PlannedRun
from .table_quality.one_table import obtain
from .table_quality.text import headline, print_rows
from .terminal.commandline import CommandError, by_hydra, past_hydra, run_command
from .terminal.progress import RunBar
from .terminal.tables import console

NAME = "flitgym route"
_WIDTH_OF_FILES = 140  # columns of tables that do not go to a terminal


@hydra.main(config_path=str(CONFIG_DIR), config_name="route", version_base="1.3")
def app(config: DictConfig) -> None:
    """Make and measure one table in Hydra's run directory."""
    with past_hydra():
        _route(config)


def _route(config: DictConfig) -> None:
    hydra_config = HydraConfig.get()
    directory = Path(hydra_config.runtime.output_dir)
    with remove_if_unused(directory):  # Hydra has made it already
        refuse_launcher(ONE_RUN)
        refuse_added(config)
        check_route(config, list(hydra_config.overrides.task))
        with RunBar(sys.stderr.isatty()) as report:
            result, _ = obtain(config, directory, report, keep_refusals=False)
    print_rows(console(_WIDTH_OF_FILES), [result])
    shown = _shown(directory)
    print(*(str(shown / name) for name in ("result.json", *result["files"].values())), sep="\n", flush=True)


def _line(result: Mapping[str, Any], directory: Path, made_now: bool) -> str:
    state = "" if made_now else " (finished before)"
    text = headline(result) if result["routed"] else f"no table: {result['note']}"
    return f"{_shown(directory)}{state}: {text}"


def _shown(directory: Path) -> Path:
    return directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory


def main() -> None:
    """Entry point of the command."""

    def done(run: PlannedRun, result: Mapping[str, Any], now: bool) -> None:
        print(_line(result, run.directory, now), flush=True)

    def command() -> None:
        by_hydra(app, NAME, "route")
        tables = False
        if sweep.runs:
            from .table_quality.sweep import compare  # with Matplotlib, which takes long to import

        for folder in sweep.folders:
            tables |= compare(folder, [run.directory for run in sweep.runs])
        sweep.require_success()
        if sweep.runs and not tables:
            raise CommandError("no engine could make a table for the network; the lines above give the reasons")

    register_routes()
    sweep = Sweep(NAME, TABLES, done)
    register(sweep)
    sys.exit(run_command(NAME, command))
