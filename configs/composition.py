"""Composes configurations. Hydra composes single configurations; a sweep joins options that Hydra has composed once.

Hydra takes some 60 ms for a configuration. A sweep has hundreds of runs but few options, and an option sets only the
section of its group. So `Root` composes each option alone, once per process, and joins the sections. Hydra itself
composes unusual overrides (`+key`, packages, options that set other sections) and reports every error.
"""

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from warnings import catch_warnings, simplefilter

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException
from hydra.version import VersionBase
from omegaconf import DictConfig, OmegaConf, flag_override
from omegaconf.errors import OmegaConfBaseException

from ..simcore import ConfigError
from ..simcore.plugins import files
from .errors import explain, refuse_added, refuse_valueless_groups
from .jobs import refuse_unused
from .machine import expanded
from .quantities import in_number
from .schema import GROUPS, node_of, root_schema
from .source import CONFIG_DIR, options_of

# Errors of a configuration that cannot be composed (Hydra, OmegaConf) or cannot run (flitgym).
WRONG = (HydraException, OmegaConfBaseException, ConfigError)


def compose(overrides: Sequence[str] = ()) -> DictConfig:
    """The configuration that `flitgym simulate <overrides>` uses.

    Raises:
        ConfigError: an override has no effect because of the workload, a key does not exist, or a preset cannot be
            read.
        hydra.errors.HydraException: an option or key is unknown, or a value has the wrong type; see `explain`.
    """
    return SIMULATION.compose(overrides)


def compose_root(name: str, overrides: Sequence[str], hydra: bool = False) -> DictConfig:
    """A primary configuration composed by Hydra, on the search path of the running command of flitgym if there is one.

    With `hydra`, it includes Hydra's own section.
    """
    overrides = expanded(overrides, name)
    refuse_valueless_groups(overrides)
    outer = GlobalHydra.instance()
    if outer.is_initialized() and any(source.path == str(CONFIG_DIR) for source in outer.config_loader().get_sources()):
        return _composed(name, overrides, hydra)
    # The caller may be another program of Hydra, whose state must stay as it is.
    running, base = outer.hydra, VersionBase.instance().version_base
    outer.clear()
    try:
        with initialize_config_dir(str(CONFIG_DIR), version_base="1.3"):
            return _composed(name, overrides, hydra)
    finally:
        outer.hydra, VersionBase.instance().version_base = running, base
        GlobalHydra.set_instance(outer)


def _composed(name: str, overrides: Sequence[str], hydra: bool) -> DictConfig:
    try:
        return hydra_compose(name, overrides=list(overrides), return_hydra_config=hydra)
    except WRONG:
        raise
    except Exception as error:
        # The parsers of YAML, text and interpolations raise errors of many types.
        raise ConfigError(explain(error)) from error


class _UnusualError(Exception):
    """Raised inside `Root` if only Hydra can compose the overrides."""


class Root:
    """The primary configuration of a command. Each option is composed once and kept.

    Args:
        name: Name of the file, without `.yaml`.
        groups: Groups of options. A group has a section of the same name, and its options set only this section.
        check: Raises an error for invalid configurations that Hydra accepts; gets a configuration and its overrides or
            keys.
    """

    def __init__(
        self, name: str, groups: tuple[str, ...], check: Callable[[Mapping[Any, Any], Iterable[str]], None]
    ) -> None:
        self.name, self.groups, self._check = name, groups, check
        self._sources: object = None  # of everything that is kept
        self._options: dict[tuple[str, str], DictConfig] = {}
        self._chosen: dict[tuple[tuple[str, str], ...], DictConfig] = {}
        self._by_hydra: dict[tuple[str, ...], DictConfig] = {}

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """Compose by Hydra, and check."""
        config = compose_root(self.name, overrides)
        refuse_added(config)
        self._check(config, overrides)
        return config

    def resolved(self, words: Sequence[str], values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The resolved configuration of a run.

        Args:
            words: Overrides as on the command line.
            values: Values of further keys, set in this order.
        """
        if self._sources != (sources := _sources()):
            self._sources, self._options, self._chosen, self._by_hydra = sources, {}, {}, {}
        words = expanded(words, self.name)
        try:
            return self._completed(*self._joined(words), words, values or {})
        except (_UnusualError, *WRONG):
            return self.by_hydra(words, values)  # which reports the error, or composes the unusual overrides

    def by_hydra(self, words: Sequence[str], values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The same as `resolved`, but Hydra composes every list of overrides."""
        key = tuple(words)
        if key not in self._by_hydra:
            self._by_hydra[key] = self.compose(words)
        return self._completed(self._by_hydra[key], [], words, values or {})

    def _completed(
        self, config: DictConfig, own: Sequence[tuple[str, Any]], words: Sequence[str], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The resolved configuration with the values of overrides, and with further values.

        `config` serves many runs. The changed values are put back, since a copy of the configuration takes 2 ms.
        """
        before: list[tuple[dict[str, Any], str, Any]] = []
        for key in (*dict(own), *values):
            name, *rest = re.split(r"[.\[]", key)
            holder, section = config, config._get_node(name) if name in set(config) else None
            if rest and isinstance(section, DictConfig) and rest[0] in set(section):
                holder, name = section, rest[0]
            if name in set(holder):
                # The run changes a copy of the node. An assignment would forget which nodes accept any key.
                content = holder.__dict__["_content"]
                before.append((content, name, content[name]))
                content[name] = copy.deepcopy(content[name])
        try:
            for key, value in own:
                OmegaConf.update(config, key, value)
            self._check(config, [*words, *values])
            for key, value in values.items():
                OmegaConf.update(config, key, in_number(key, value))
            plain: Any = OmegaConf.to_container(config, resolve=True)
            return dict(plain)
        finally:
            for content, name, node in reversed(before):
                content[name] = node

    def _joined(self, words: Sequence[str]) -> tuple[DictConfig, list[tuple[str, Any]]]:
        """The configuration with the options of overrides, and the values of the other overrides."""
        refuse_valueless_groups(words)
        options: dict[str, str] = {}
        values = []
        for word in words:
            override = _parsed(word)
            if override.type is not OverrideType.CHANGE or override.package or override.is_sweep_override():
                raise _UnusualError
            key, value = override.key_or_group, override.value()
            if key in self.groups and isinstance(value, str):
                options[key] = value
            elif key in self.groups or options_of(key):
                raise _UnusualError
            else:
                values.append((key, value))
        chosen = tuple(options.items())
        if chosen not in self._chosen:
            config = self._option().copy()
            for key, value in chosen:
                config[key] = self._option(key, value)
            self._chosen[chosen] = config
        return self._chosen[chosen], values

    def _option(self, group: str = "", option: str = "") -> DictConfig:
        """The section of an option; without one, the whole default configuration."""
        if not self._options:
            default = compose_root(self.name, [], hydra=True)
            choices = default.hydra.runtime.choices
            with flag_override(default, ["read_only", "struct"], False):
                del default["hydra"]
            self._options = {(key, choices[key]): default[key] for key in self.groups} | {("", ""): default}
        if (group, option) not in self._options:
            with catch_warnings():
                simplefilter("ignore")  # Hydra wants `_self_` in the file of a primary configuration
                config = compose_root(f"{group}/{option}", [])
            if set(config) != {group}:
                raise _UnusualError  # the option sets other sections
            section: Any = config[group]
            types = node_of(root_schema(self.name))
            if not OmegaConf.is_missing(types, group):
                section = OmegaConf.merge(types[group], section)
            self._options[group, option] = section
        return self._options[group, option]


SIMULATION = Root("config", (*GROUPS, "run"), refuse_unused)


@cache
def _parsed(word: str) -> Override:
    return OverridesParser.create().parse_override(word)


def _sources() -> object:
    """The folder of `--config-dir` and the presets of plugins, which can change within a process."""
    hydra = GlobalHydra.instance()
    sources = hydra.config_loader().get_sources() if hydra.is_initialized() else []
    folders = [source.path for source in sources if source.provider == "command-line"]
    return folders, [(path, path.stat().st_mtime_ns) for _, path in files("configs", "*/*.yaml")]
