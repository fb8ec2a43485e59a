"""Refuses keys that a `+` adds to the configuration, because no code reads them."""

from dataclasses import fields, is_dataclass

from omegaconf import DictConfig, OmegaConf

from ..simcore import ConfigError
from .errors import unknown


def refuse_added(config: DictConfig, where: str = "") -> None:
    """Refuse keys that the types of a configuration do not have. Hydra lets `+key=value` add any key.

    Args:
        config: A composed configuration, or a section of it.
        where: The key of the section.

    Raises:
        ConfigError: names the key, the valid keys and the nearest one.
    """
    kind = OmegaConf.get_type(config)
    if kind is not None and is_dataclass(kind):
        valid = {field.name for field in fields(kind)}
        for key in config:
            if key not in valid:
                raise ConfigError(unknown(where or "configuration", str(key), valid - {"name"}, "key"))
    for key in map(str, config):
        if key in config and not OmegaConf.is_interpolation(config, key) and isinstance(config[key], DictConfig):
            refuse_added(config[key], f"{where}.{key}" if where else key)
