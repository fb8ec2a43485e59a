"""Before a sweep (`-m`) starts, its networks are built: what cannot run stops it before its first run, not later."""

import itertools
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ...configs import FAILING, GROUPS
from ...configs.assembly import SIMULATION, Assembly
from ...simcore import ConfigError
from ..terminal.commandline import EXIT_BAD_CONFIG, of_run
from .one_run import prepare
from .sweep import WORKERS
from .sweep_forecast import announce, runs_of

# Keys whose every value is tried: groups of components, words that name motifs, and what may cut the network.
_EVERY_VALUE = {*GROUPS, "workload.target", "workload.background", *(f"failures.{key}" for key in FAILING)}


class CheckBeforeSweep(Callback):
    """Hydra's hook at the start of a sweep."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """End the program with the core's message if a combination of the sweep cannot run."""
        words = list(config.hydra.overrides.task)
        assembly = Assembly(SIMULATION)
        try:
            check(words, lambda chosen: prepare(OmegaConf.create(assembly.resolved(chosen, {}))))
        except HydraException:
            return  # Hydra composes every run itself in a moment and says so
        except ConfigError as error:
            # Hydra turns the exceptions of its hooks into warnings, but lets an exit through.
            print(f"flitgym-simulate: {error}", file=sys.stderr)
            raise SystemExit(EXIT_BAD_CONFIG) from None
        announce(runs_of(words), WORKERS)


def check(words: Sequence[str], one: Callable[[Sequence[str]], object], more: Collection[str] = ()) -> None:
    """Build every combination of components that a sweep asks for, each with the first value of every other swept key.

    Args:
        words: The overrides of the command line.
        one: Builds what the overrides of a single run ask for.
        more: Keys whose every value is tried, beside the components.

    Raises:
        ConfigError: one of them cannot be composed, or cannot run; names it.
        hydra.errors.HydraException: the overrides cannot be read.
    """
    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    overrides = parser.parse_overrides(list(words))
    for chosen in itertools.product(*(_choices(override, {*_EVERY_VALUE, *more}) for override in overrides)):
        try:
            one(chosen)
        except (HydraException, OmegaConfBaseException, ConfigError) as error:
            own = [word for word, override in zip(chosen, overrides, strict=True) if override.is_sweep_override()]
            raise of_run(own, error) from error


def _choices(override: Override, every_value: Collection[str]) -> list[str]:
    if not override.is_sweep_override():
        return [str(override.input_line)]
    key = override.get_key_element()
    if override.is_interval_sweep():  # of a sweeper that picks its values itself
        interval = override.value()
        assert isinstance(interval, IntervalSweep)
        return [f"{key}={interval.start}"]
    values = [f"{key}={value}" for value in override.sweep_string_iterator()]
    return values if key in every_value else values[:1]
