"""Several tables by one command (`-m`): checked before the first is made, compared after the last."""

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from omegaconf import DictConfig
from rich.console import Console

from ...configs.routes import compose_route, route_id
from ...simcore import ConfigError
from ..commandline import EXIT_BAD_CONFIG
from ..drawing import save_figure
from ..gather import say_damaged
from ..results import ROWS_FILE, read_columns, results_below, row, write_rows
from .figure import Numbers, draw_several
from .study import KIND, files, network
from .text import network_label, print_rows

NAME = "flitgym-route"
_WIDTH_OF_FILES = 140  # columns, where the output is no terminal


class Sweep(Callback):
    """Hydra's hooks at both ends of a sweep."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """End the program with the message if a network cannot be built or a file cannot be read."""
        try:
            check(list(config.hydra.overrides.task))
        except HydraException:
            return  # Hydra composes every run itself in a moment and says so
        except ConfigError as error:
            # Hydra turns the exceptions of its hooks into warnings, but lets an exit through.
            print(f"{NAME}: {error}", file=sys.stderr)
            raise SystemExit(EXIT_BAD_CONFIG) from None
        except OSError as error:
            print(f"{NAME}: {error.strerror or error}: {error.filename}", file=sys.stderr)
            raise SystemExit(EXIT_BAD_CONFIG) from None

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Print a row per table, and write their figure and `rows.parquet`."""
        directory = Path(config.hydra.sweep.dir)
        wanted = None
        if (configs := combinations(list(config.hydra.overrides.task))) is not None:
            wanted = [directory / route_id(_root_=one) for one in configs]
        if not compare(directory, wanted):
            raise SystemExit(EXIT_BAD_CONFIG)


def combinations(words: Sequence[str]) -> list[DictConfig] | None:
    """The configuration of every run of a sweep; None where a sweeper picks its values itself.

    Raises:
        ConfigError, hydra.errors.HydraException: one of them cannot be composed.
    """
    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    overrides = parser.parse_overrides(list(words))
    if any(override.is_interval_sweep() for override in overrides):
        return None
    return [compose_route(chosen) for chosen in itertools.product(*map(_choices, overrides))]


def check(words: Sequence[str]) -> None:
    """Build every network of a sweep once, and read every file.

    Raises:
        ConfigError, OSError: one of them cannot be.
        hydra.errors.HydraException: the overrides cannot be composed.
    """
    seen = {}
    for config in combinations(words) or ():
        key = str((config.topology, config.failures, config.demand, config.flows))
        if key not in seen:
            seen[key] = True
            files(config, network(config))


def compare(directory: Path, wanted: Sequence[Path] | None) -> bool:
    """Print a row per table and write their figure and rows into `directory`.

    Args:
        directory: Of the sweep.
        wanted: The folders of its tables; None: all below `directory`.

    Returns:
        Whether there is a table at all.
    """
    found, damaged = results_below(directory)
    say_damaged(NAME, damaged)
    known = {path: result for result, path in found if result.get("kind") == KIND}
    chosen = [path for path in dict.fromkeys(known if wanted is None else wanted) if path in known]
    # A row only of what was made; a file may have gone since.
    results = [known[path] for path in chosen]
    print_rows(Console(width=None if sys.stdout.isatty() else _WIDTH_OF_FILES), results)
    write_rows(directory / ROWS_FILE, [row(result, path) for path, result in known.items()])
    written = [directory / ROWS_FILE]
    networks: dict[str, list[tuple[str, Numbers]]] = {}
    for path in chosen:
        if known[path]["routed"] and (columns := read_columns(known[path], path, "loads")) is not None:
            loads = columns["load"][columns["kind"] == "channel"]
            networks.setdefault(network_label(known[path]), []).append((known[path]["table"], loads))
    if networks:
        written += save_figure(draw_several(networks), directory / "loads", salt="loads")
    for path in written:
        print(path)
    return bool(networks)


def _choices(override: Override) -> list[str]:
    if not override.is_sweep_override():
        return [str(override.input_line)]
    return [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]
