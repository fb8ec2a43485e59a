"""`flitgym route`: makes the forwarding table of a network by an engine, or reads one, and measures its quality.

    flitgym route topology=graph topology.file=fabric.csv engine=dfsssp,sssp,min_hop,up_down -m

`configs/route.yaml` explains every key.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig

from ..configs import CONFIG_DIR
from ..configs.identity import plain_of
from ..configs.routes import check_route, register_routes
from .running.hydra_plugin import Sweep
from .running.launcher import in_run_folder
from .running.plan import TABLES
from .table_quality.one_table import obtain
from .table_quality.text import headline, print_rows
from .terminal.commandline import CommandError, by_hydra, relative
from .terminal.progress import RunBar

NAME = "flitgym route"


@hydra.main(config_path=str(CONFIG_DIR), config_name="route", version_base="1.3")
def app(config: DictConfig) -> None:
    """Make and measure one table in Hydra's run directory."""
    with in_run_folder(config) as (directory, words):
        check_route(config, words)
        with RunBar(sys.stderr.isatty()) as bar:
            result, _ = obtain(plain_of(config), directory, bar.report, keep_refusals=False)
        print_rows([result])
        files = ("result.json", *result["files"].values())
        print(*(relative(directory) / name for name in files), sep="\n", flush=True)


def _line(result: Mapping[str, Any], directory: Path, made_now: bool) -> str:
    state = "" if made_now else " (finished before)"
    text = headline(result) if result["routed"] else f"no table: {result['note']}"
    return f"{relative(directory)}{state}: {text}"


def main() -> None:
    """Entry point of the command."""

    def end() -> None:
        if not sweep.runs:
            return
        from .table_quality.sweep import compare  # with Matplotlib, which takes long to import

        tables = [compare(folder, [run.directory for run in sweep.runs]) for folder in sweep.folders]
        if not any(tables) and not sweep.errors:
            raise CommandError("no engine could make a table for the network; the lines above give the reasons")

    register_routes()
    sweep = Sweep(NAME, TABLES, _line)
    sweep.main(lambda: by_hydra(app, NAME, "route"), end)
