"""The configuration of `flitgym route`: its types, and the identity of a table."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ..simcore import ConfigError, registered
from .composition import Root
from .identity import check_seed, core_failures, digest, plain_of, with_hashed_files
from .jobs import file_word
from .schema import component_node, offer_root
from .source import offer

# Keys that do not change a table or its numbers.
_NOT_IDENTITY = {"study", "overwrite", "dump", "hydra", "failures"}
_FILES = ("file", "demand", "flows")
DUMPS = ("auto", "always", "never")


def register_routes() -> None:
    """Offer the root and every engine's parameters to Hydra; safe to repeat."""
    offer_root("routes", "route")
    for name in registered("engine"):
        offer(f"engine/{name}", partial(component_node, "engine", name))
    OmegaConf.register_new_resolver("route_id", route_id, replace=True)


def check_route(config: Mapping[Any, Any], overrides: Iterable[str]) -> None:
    """Refuse invalid values with a ConfigError that names the key, its value and the valid values."""
    for key in _FILES:
        if config[key] == "":
            raise ConfigError(f"{key}: no file is given; leave it out, or write {key}=null")
    if config["file"] is not None:
        for word in overrides:
            if word.lstrip("+~").partition("=")[0].partition(".")[0] == "engine":
                raise ConfigError(f"{word}: file={config['file']} is a table already; give one of them")
    check_seed(config["seed"])
    if config["patterns"] < 0:
        raise ConfigError(f"patterns: {config['patterns']} is negative")
    if config["dump"] not in DUMPS:
        raise ConfigError(f"dump: '{config['dump']}' is not one of {', '.join(DUMPS)}")
    if config["failures"]["events"] is not None:
        raise ConfigError("failures.events: a table is for links that do not change; name the links in failures.links")


TABLE = Root("route", ("topology", "engine"), check_route)


def route_hash(config: Mapping[Any, Any]) -> str:
    """Hash of everything that determines a table, 12 hexadecimal digits. Files count by their content."""
    plain = plain_of(config)
    identity = {key: value for key, value in plain.items() if key not in _NOT_IDENTITY}
    identity = with_hashed_files("", identity, _FILES)
    identity["topology"] = with_hashed_files("topology", identity["topology"])
    if plain["file"] is not None:
        identity.pop("engine")
    identity["failures"] = core_failures(plain)
    return digest(identity)


def route_id(*, _root_: Mapping[Any, Any]) -> str:
    """The name of a table's directory: readable, stable, and different for different configurations."""
    plain = {key: plain_of(_root_[key]) for key in _root_ if key != "hydra"}
    file = plain["topology"].get("file")
    topology = Path(file).stem if file else str(plain["topology"]["name"])
    return f"{file_word(topology, 60)}_{file_word(table_label(plain), 60)}_{route_hash(plain)}"


def table_label(config: Mapping[Any, Any]) -> str:
    """The engine of a table, or the name of its file."""
    return Path(config["file"]).name.split(".")[0] if config["file"] else str(config["engine"]["name"])


# On import, since a sweep's worker processes only import this module.
register_routes()
