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
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console

from ...configs.assembly import TABLE, Assembly
from ...configs.routes import route_id
from ...simcore import ConfigError
from ..plotting.drawing import save_figure
from ..results.files import read_columns, results_below
from ..results.rows import ROWS_FILE, row, write_rows
from ..terminal.commandline import EXIT_BAD_CONFIG, of_run, say_damaged
from .figure import Numbers, draw_several
from .one_table import KIND, channel_graph, files
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
            wanted = [directory / route_id(_root_=one) for _, one in configs]
        if not compare(directory, wanted):
            raise SystemExit(EXIT_BAD_CONFIG)


def combinations(words: Sequence[str]) -> list[tuple[list[str], dict[str, Any]]] | None:
    """Every run of a sweep: the overrides that tell it from the others, and its resolved configuration.

    None where a sweeper picks its values itself.

    Raises:
        ConfigError: one of them cannot be composed; names it.
        hydra.errors.HydraException: the overrides cannot be read.
    """
    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    overrides = parser.parse_overrides(list(words))
    if any(override.is_interval_sweep() for override in overrides):
        return None
    assembly = Assembly(TABLE)
    every = list(itertools.product(*map(_choices, overrides)))
    assembly.expect(every)
    runs = []
    for chosen in every:
        own = [word for word, override in zip(chosen, overrides, strict=True) if override.is_sweep_override()]
        try:
            runs.append((own, assembly.resolved(chosen, {})))
        except (HydraException, OmegaConfBaseException, ConfigError) as error:
            raise of_run(own, error) from error
    return runs


def check(words: Sequence[str]) -> None:
    """Build every network of a sweep once, and read every file.

    Raises:
        ConfigError, OSError: one of them cannot be.
        hydra.errors.HydraException: the overrides cannot be read.
    """
    seen = {}
    for own, config in combinations(words) or ():
        key = str([config[key] for key in ("topology", "failures", "demand", "flows")])
        if key not in seen:
            seen[key] = True
            wanted = OmegaConf.create(config)
            try:
                files(wanted, channel_graph(wanted))
            except ConfigError as error:
                raise of_run(own, error) from error


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
