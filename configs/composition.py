"""Composing a configuration from Python, for programs and tests that are not Hydra applications themselves."""

from collections.abc import Sequence
from pathlib import Path

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ..simcore import ConfigError
from .added import refuse_added
from .errors import explain, refuse_valueless_groups
from .jobs import refuse_unused

CONFIG_DIR = Path(__file__).parent.resolve()


def compose(overrides: Sequence[str] = ()) -> DictConfig:
    """The configuration that `flitgym-simulate <overrides>` would run with.

    Raises:
        ConfigError: an override that the workload makes useless, or one that adds a key nobody reads; a preset that
            cannot be read.
        hydra.errors.HydraException: unknown option or key, or a value of the wrong type; see `explain`.
    """
    refuse_valueless_groups(overrides)
    try:
        config = compose_root("config", overrides)
    except (HydraException, OmegaConfBaseException, ConfigError):
        raise
    except Exception as error:
        # Of a preset that cannot be read, in the words of whoever reads it.
        raise ConfigError(explain(error)) from error
    refuse_added(config)
    refuse_unused(config, overrides)
    return config


def compose_root(name: str, overrides: Sequence[str], hydra: bool = False) -> DictConfig:
    """What Hydra composes of a primary configuration, on its search path if it runs already; with its own part or not.

    Raises:
        Exception: of many kinds; see `explain`.
    """
    if GlobalHydra.instance().is_initialized():
        return hydra_compose(name, overrides=list(overrides), return_hydra_config=hydra)
    with initialize_config_dir(str(CONFIG_DIR), version_base="1.3"):
        return hydra_compose(name, overrides=list(overrides), return_hydra_config=hydra)
