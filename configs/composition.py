"""Composes configurations. Hydra composes a single one. A sweep joins options that Hydra has composed once.

Hydra takes some 60 ms for a configuration. A sweep has hundreds of runs but few options, and an option sets only the
section of its group. So `Composer` composes each option once and joins the sections. Hydra itself composes unusual
overrides (`+key`, packages, options that set other sections) and reports every error.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException
from hydra.version import VersionBase
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ..simcore import ConfigError
from .added import refuse_added
from .errors import explain, options_of, refuse_valueless_groups
from .jobs import refuse_unused
from .policies import shipped_policy, with_files
from .quantities import in_number, in_numbers
from .schema import GROUPS
from .warmup import warmup_ns

CONFIG_DIR = Path(__file__).parent.resolve()

# Errors of a configuration that cannot be composed (Hydra, OmegaConf) or cannot run (flitgym).
WRONG = (HydraException, OmegaConfBaseException, ConfigError)

# The resolvers in flitgym's options. Each is a function (argument, whole configuration) -> value.
_RESOLVERS: dict[str, Callable[[str, Mapping[str, Any]], Any]] = {
    "shipped_policy": lambda name, whole: shipped_policy(name),
    "warmup_ns": lambda _, whole: warmup_ns(_root_=whole),
}
_INTERPOLATION = re.compile(r"\$\{(\w+):(\w*)\}")


def compose(overrides: Sequence[str] = ()) -> DictConfig:
    """The configuration that `flitgym simulate <overrides>` uses.

    Raises:
        ConfigError: an override has no effect because of the workload, a key does not exist, or a preset cannot be
            read.
        hydra.errors.HydraException: an option or key is unknown, or a value has the wrong type; see `explain`.
    """
    config = compose_root("config", overrides)
    refuse_added(config)
    refuse_unused(config, overrides)
    return config


def compose_root(name: str, overrides: Sequence[str], hydra: bool = False) -> DictConfig:
    """A primary configuration composed by Hydra, on the search path of the running command of flitgym if there is one.

    Args:
        name: Name of the file, without `.yaml`.
        overrides: As on the command line.
        hydra: Whether to include Hydra's own section.

    Raises:
        ConfigError: a preset cannot be read.
        hydra.errors.HydraException: see `compose`.
    """
    overrides = in_numbers(with_files(overrides))
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


@dataclass(frozen=True)
class Root:
    """The primary configuration of a command.

    Args:
        name: Name of the file, without `.yaml`.
        groups: Groups of options. A group has a section of the same name, and its options set only this section.
        check: Raises an error for invalid configurations that Hydra accepts; gets a configuration and its overrides or
            keys.
    """

    name: str
    groups: tuple[str, ...]
    check: Callable[[Mapping[Any, Any], Iterable[str]], None]

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """Compose by Hydra, and check.

        Raises:
            ConfigError, hydra.errors.HydraException: see `compose`.
        """
        config = compose_root(self.name, overrides)
        refuse_added(config)
        self.check(config, overrides)
        return config


SIMULATION = Root("config", (*GROUPS, "run"), refuse_unused)


class _UnusualError(Exception):
    """Raised inside `Composer` if only Hydra can compose the overrides."""


class Composer:
    """Composes the configurations of many runs. Each option is composed once and kept.

    Args:
        root: The primary configuration of the command.
    """

    def __init__(self, root: Root) -> None:
        self.root = root
        self.left_to_hydra = 0  # number of runs that Hydra composed
        self._defaults: DictConfig | None = None
        self._without_options: DictConfig | None = None
        self._options: dict[tuple[str, str], DictConfig] = {}
        self._words: dict[str, Override] = {}
        self._sections: dict[tuple[str, str, str], Any] = {}
        self._by_hydra: dict[tuple[str, ...], DictConfig] = {}

    def resolved(self, words: Sequence[str], values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The resolved configuration of a run. Runs share equal sections, so a caller must not change it.

        Args:
            words: Overrides as on the command line.
            values: Values of further keys, set in this order.

        Raises:
            ConfigError, hydra.errors.HydraException, omegaconf.errors.OmegaConfBaseException: as `compose`.
        """
        values = values or {}
        words = in_numbers(with_files(words))
        values = {key: in_number(key, value) for key, value in values.items()}
        try:
            return self._assembled(words, values)
        except (_UnusualError, *WRONG):
            # Hydra reports the error, or composes the unusual overrides.
            self.left_to_hydra += 1
            return self.by_hydra(words, values)

    def by_hydra(self, words: Sequence[str], values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The same as `resolved`, but Hydra composes every list of overrides."""
        values, key = values or {}, tuple(words)
        if key not in self._by_hydra:
            self._by_hydra[key] = self.root.compose(words)
        config = self._by_hydra[key].copy()
        self.root.check(config, values)
        for name, value in values.items():
            OmegaConf.update(config, name, value)
        plain: Any = OmegaConf.to_container(config, resolve=True)
        return dict(plain)

    def _assembled(self, words: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
        refuse_valueless_groups(words)
        options, pairs = self._split(words)
        of_section: dict[str, list[tuple[str, Any]]] = {}
        for key, value in (*pairs, *values.items()):
            of_section.setdefault(key.partition(".")[0], []).append((key, value))
        keys = list(map(str, self._default()))
        if not {*options, *of_section} <= set(keys):
            raise _UnusualError
        whole = {key: self._section(key, options.get(key, ""), of_section.get(key, [])) for key in keys}
        self.root.check(whole, [*words, *values])
        return {key: _resolved(section, whole) for key, section in whole.items()}

    def _split(self, words: Sequence[str]) -> tuple[dict[str, str], list[tuple[str, Any]]]:
        """The options and the values in overrides."""
        options, pairs = {}, []
        for word in words:
            if word not in self._words:
                self._words[word] = OverridesParser.create().parse_override(word)
            override = self._words[word]
            if override.type is not OverrideType.CHANGE or override.package or override.is_sweep_override():
                raise _UnusualError
            key, value = override.key_or_group, override.value()
            if key in self.root.groups and isinstance(value, str):
                options[key] = value
            elif key in self.root.groups or options_of(key):
                raise _UnusualError
            else:
                pairs.append((key, value))
        return options, pairs

    def _section(self, key: str, option: str, values: list[tuple[str, Any]]) -> Any:
        """A section with `values` set in it; interpolations are not resolved."""
        name = (key, option, repr(values))
        if name not in self._sections:
            config = self._bare().copy()  # with the types of the root, which convert values
            if option or key in self.root.groups:
                config[key] = self._option(key, option) if option else self._default()[key]
            for path, value in values:
                OmegaConf.update(config, path, value)
            plain: Any = OmegaConf.to_container(config)
            section = plain[key]
            if any("${" in _INTERPOLATION.sub(_known, text) or text == "???" for text in _texts(section)):
                raise _UnusualError
            self._sections[name] = section
        return self._sections[name]

    def _option(self, key: str, option: str) -> Any:
        if (key, option) not in self._options:
            config = compose_root(self.root.name, [f"{key}={option}"])
            refuse_added(config)
            if _without(key, config) != _without(key, self._default()):
                raise _UnusualError  # the option sets other sections
            self._options[key, option] = config[key]
        return self._options[key, option]

    def _default(self) -> DictConfig:
        if self._defaults is None:
            self._defaults = self.root.compose(())
        return self._defaults

    def _bare(self) -> DictConfig:
        """The root. Sections of groups are set to None, except those with a typed schema."""
        if self._without_options is None:
            config = self._default().copy()
            kind = OmegaConf.get_type(config)
            typed = {f.name for f in fields(kind) if is_dataclass(f.type)} if kind and is_dataclass(kind) else set()
            for group in set(self.root.groups) - typed:
                config[group] = None
            self._without_options = config
        return self._without_options


def _without(key: str, config: DictConfig) -> dict[Any, Any]:
    plain: Any = OmegaConf.to_container(config)
    return {other: value for other, value in plain.items() if other != key}


def _known(found: re.Match[str]) -> str:
    return "" if found[1] in _RESOLVERS else found[0]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _resolved(value: Any, whole: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _resolved(item, whole) for key, item in value.items()}
    found = _INTERPOLATION.fullmatch(value) if isinstance(value, str) else None
    return _RESOLVERS[found[1]](found[2], whole) if found else value
