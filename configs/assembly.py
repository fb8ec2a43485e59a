"""The configurations of many runs: Hydra composes every option once, and each run's sections are put together.

A composition takes Hydra a tenth of a second, whatever is in it. A sweep has hundreds of runs but few different
sections, and a section depends on nothing but its option and the values that are set in it. What is out of the ordinary
(`+key`, packages, interpolations from one section to another) and every error is left to Hydra, run by run.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf

from .added import refuse_added
from .composition import compose, compose_root
from .errors import refuse_valueless_groups
from .jobs import refuse_unused
from .routes import check_route, compose_route
from .schema import GROUPS
from .warmup import warmup_ns

Values = Mapping[str, Any]

# Interpolations of our own that say the same in every configuration, and those that are asked of a whole one.
_ALIKE = re.compile(r"\$\{shipped_policy:\w+\}")
_OF_WHOLE: dict[str, Callable[..., Any]] = {"${warmup_ns:}": warmup_ns}


@dataclass(frozen=True)
class Root:
    """What a command's configurations begin with.

    Args:
        groups: Whose options make the section of the same name.
        compose: The configuration of overrides, by Hydra and with everything that is refused.
        check: What `compose` refuses beyond Hydra, of a configuration and the overrides or keys that were given.
    """

    groups: tuple[str, ...]
    compose: Callable[[Sequence[str]], DictConfig]
    check: Callable[[Mapping[Any, Any], Iterable[str]], None]


SIMULATION = Root((*GROUPS, "run"), compose, refuse_unused)
TABLE = Root(("topology", "engine"), compose_route, check_route)
ROOTS = {"config": SIMULATION, "route": TABLE}  # by the name of their file


class _UnusualError(Exception):
    """Something that is not put together from sections."""


@dataclass(frozen=True)
class _Base:
    """What the overrides of several runs say.

    Args:
        options: Chosen per group.
        values: Set per section, in order.
        sections: By key, resolved but for interpolations of the whole.
    """

    options: dict[str, str]
    values: dict[str, tuple[tuple[str, Any], ...]]
    sections: dict[str, Any]


class Assembly:
    """Composes configurations of one root; remembers what it has read as long as it lives.

    `left_to_hydra` counts the runs that could not be put together.
    """

    def __init__(self, root: Root) -> None:
        self.groups = root.groups
        self.left_to_hydra = 0
        self._root = root
        self._default: DictConfig | None = None
        self._options: dict[tuple[str, str | None], DictConfig] = {}
        self._words: dict[str, Override] = {}
        self._bases: dict[tuple[str, ...], _Base] = {}
        self._sections: dict[tuple[str, str | None, str], Any] = {}
        self._composed: dict[tuple[str, ...], DictConfig] = {}

    def expect(self, lists: Iterable[Sequence[str]]) -> None:
        """Read the options that lists of overrides choose, all at once. What is wrong with them is told later."""
        with suppress(Exception):
            chosen = (self._split(words)[0].items() for words in dict.fromkeys(map(tuple, lists)))
            self._read(dict.fromkeys(choice for choices in chosen for choice in choices))

    def resolved(self, words: Sequence[str], values: Values) -> dict[str, Any]:
        """The resolved configuration of a run. Runs share what is alike: it is not to be changed.

        Args:
            words: Hydra overrides.
            values: Of further keys, set in this order.

        Raises:
            ConfigError, hydra.errors.HydraException, omegaconf.errors.OmegaConfBaseException: as `compose` of the root.
        """
        try:
            return self._assembled(tuple(words), values)
        except Exception:
            # Hydra is the judge: what is wrong it says in its own words, and what is only unusual is right.
            self.left_to_hydra += 1
            return self.by_hydra(words, values)

    def by_hydra(self, words: Sequence[str], values: Values) -> dict[str, Any]:
        """The same as `resolved`, with a composition of its own for every list of overrides."""
        words = tuple(words)
        if words not in self._composed:
            self._composed[words] = self._root.compose(words)
        base = self._composed[words]
        self._root.check(base, values)
        config = base.copy()
        for key, value in values.items():
            OmegaConf.update(config, key, value)
        plain: Any = OmegaConf.to_container(config, resolve=True)
        return dict(plain)

    def _assembled(self, words: tuple[str, ...], values: Values) -> dict[str, Any]:
        if words not in self._bases:
            self._bases[words] = self._base(words)
        base = self._bases[words]
        set_here: dict[str, list[tuple[str, Any]]] = {}
        for key, value in values.items():
            set_here.setdefault(_section_of(key), []).append((key, value))
        changed = {
            key: self._section(key, base.options.get(key), (*base.values.get(key, ()), *own))
            for key, own in set_here.items()
        }
        whole = {**base.sections, **changed}
        self._root.check(whole, [*words, *values])
        return {key: _with_whole(section, whole) for key, section in whole.items()}

    def _base(self, words: tuple[str, ...]) -> _Base:
        refuse_valueless_groups(words)
        options, pairs = self._split(words)
        self._read(options.items())
        values: dict[str, tuple[tuple[str, Any], ...]] = {}
        for key, value in pairs:
            values[_section_of(key)] = (*values.get(_section_of(key), ()), (key, value))
        keys = list(map(str, self._root_default()))
        if not {*options, *values} <= set(keys):
            raise _UnusualError
        return _Base(options, values, {k: self._section(k, options.get(k), values.get(k, ())) for k in keys})

    def _split(self, words: Sequence[str]) -> tuple[dict[str, str], list[tuple[str, Any]]]:
        """The options that overrides choose, and the values that they set."""
        options: dict[str, str] = {}
        values = []
        for word in words:
            if word not in self._words:
                self._words[word] = OverridesParser.create().parse_override(word)
            override = self._words[word]
            if override.type is not OverrideType.CHANGE or override.package or override.is_sweep_override():
                raise _UnusualError
            key, value = override.key_or_group, override.value()
            if key not in self.groups:
                values.append((key, value))
            elif isinstance(value, str):
                options[key] = value
            else:
                raise _UnusualError
        return options, values

    def _read(self, choices: Iterable[tuple[str, str]]) -> None:
        # Every option in a place of its own, of one composition that has nothing else.
        missing = [choice for choice in choices if choice not in self._options]
        if not missing:
            return
        config = compose_root("options", [f"+{group}@option_{k}={name}" for k, (group, name) in enumerate(missing)])
        kinds = self._kinds()
        if len(config) != len(missing):
            raise _UnusualError  # one of them reaches beyond its section
        for k, (group, name) in enumerate(missing):
            section = config[f"option_{k}"]
            if is_dataclass(kinds[group]):  # the root says what is in it, not the option
                section = OmegaConf.merge(OmegaConf.structured(kinds[group]), section)
            refuse_added(section, group)
            self._options[group, name] = _alone(group, section)

    def _section(self, key: str, option: str | None, values: tuple[tuple[str, Any], ...]) -> Any:
        name = (key, option, repr(values))
        if name not in self._sections:
            self._sections[name] = self._made_section(key, option, values)
        return self._sections[name]

    def _made_section(self, key: str, option: str | None, values: tuple[tuple[str, Any], ...]) -> Any:
        if (key, option) not in self._options:
            self._options[key, option] = self._of_root(key)
        alone = self._options[key, option]
        if not values:
            return _plain(alone, key)
        # What is set in one key of a section says nothing of the others: few values, in many combinations.
        inner: dict[str, list[tuple[str, Any]]] = {}
        for full_key, value in values:
            inner.setdefault(full_key.partition(".")[2].partition(".")[0], []).append((full_key, value))
        if "" in inner:
            return _plain(_set(alone, values), key)
        changed = dict(self._section(key, option, ()))
        for word, own in inner.items():
            name = (f"{key}.{word}", option, repr(own))
            if name not in self._sections:
                self._sections[name] = _plain(_set(alone, own), key)[word]
            changed[word] = self._sections[name]
        return changed

    def _of_root(self, key: str) -> DictConfig:
        """Of the root's own configuration as much as a section needs: the section, or all that belongs to none."""
        root = self._root_default()
        if key not in root:
            raise _UnusualError
        if key in self.groups:
            return _alone(key, root[key])
        config = root.copy()
        for group in self.groups:
            if not is_dataclass(self._kinds()[group]):
                config[group] = None
        return config

    def _kinds(self) -> dict[str, Any]:
        kind = OmegaConf.get_type(self._root_default())
        return {} if kind is None else {field.name: field.type for field in fields(kind)}

    def _root_default(self) -> DictConfig:
        if self._default is None:
            self._default = self._root.compose(())
        return self._default


def _alone(key: str, section: Any) -> DictConfig:
    config = OmegaConf.create({})
    config[key] = section
    OmegaConf.set_struct(config, True)
    return config


def _set(config: DictConfig, values: Iterable[tuple[str, Any]]) -> DictConfig:
    changed = config.copy()  # with the types, which say what a value becomes
    for key, value in values:
        OmegaConf.update(changed, key, value)
    return changed


def _plain(config: DictConfig, key: str) -> Any:
    """A section of a configuration, resolved but for interpolations of the whole."""
    whole: Any = OmegaConf.to_container(config)
    section = whole[key]
    open_ends = [text for text in _texts(section) if "${" in text or text == "???"]
    if not open_ends:
        return section
    if all(map(_ALIKE.fullmatch, open_ends)):
        whole = OmegaConf.to_container(config, resolve=True)
        return whole[key]
    inner = section.values() if isinstance(section, dict) else ()
    if open_ends != [value for value in inner if isinstance(value, str) and value in _OF_WHOLE]:
        raise _UnusualError
    return section


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _with_whole(section: Any, whole: Mapping[str, Any]) -> Any:
    if not isinstance(section, dict) or not any(isinstance(v, str) and v in _OF_WHOLE for v in section.values()):
        return section
    return {
        key: _OF_WHOLE[value](_root_=whole) if isinstance(value, str) and value in _OF_WHOLE else value
        for key, value in section.items()
    }


def _section_of(key: str) -> str:
    return key.partition(".")[0]
