"""Messages about wrong configurations.

A message names the key, the value, the valid choices and the nearest spelling.
"""

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError as ConfigAttrError
from omegaconf.errors import ConfigKeyError, InterpolationResolutionError, KeyValidationError, OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from ..simcore import ConfigError, registered
from .quantities import units_of
from .source import offered
from .source import options_of as options_in
from .world_presets import of_other_agent

# Keys of `flitgym evaluate` and `flitgym saturate` as users type them.
TYPED = {
    **{"networks": "topology", "routings": "routing", "patterns": "traffic", "workloads": "workload"},
    **{"loads": "traffic.load", "seeds": "seed"},
}
_LONGEST = 400  # characters of a message of Hydra or a parser
_LONGEST_WORD = 100  # characters of a word in a message


def unknown(where: str, word: str, valid: Iterable[str], noun: str = "name") -> str:
    """The message for an unknown word, with the valid words and the nearest spelling."""
    choices = sorted(valid)
    word = _short(word)
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    several = f"{noun[:-1]}ies" if noun == "policy" else f"{noun}s"
    valid = f"valid {several}: {', '.join(choices)}" if choices else f"there are no {several}"
    return f"{where}: unknown {noun} '{word}'{hint}; {valid}"


def _short(word: str) -> str:
    return word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}..."


def explain(error: BaseException) -> str:
    """Explain an error of the configuration to the user.

    Args:
        error: An exception of Hydra, OmegaConf or the core.

    Returns:
        One line, or the exception's own text if it is clear. Bytes of the command line that are not text appear as
        numbers.
    """
    return _explain(error).encode("utf-8", "backslashreplace").decode()


def _explain(error: BaseException) -> str:
    if isinstance(error, MissingConfigException):
        return _unknown_option(error)
    if isinstance(error, OverrideParseException):
        word = _short(error.override)
        if "=" not in word:
            return f"'{word}' is not of the form key=value; --help lists the keys"
        return f"{word}: {_first_line(str(error))}; special characters need quotes: {word.partition('=')[0]}='\"...\"'"
    if isinstance(error, HydraException):
        cause = _configuration_cause(error)
        if cause is None:
            return _in_worlds(str(error)) or _one_line(str(error))
        return _no_list(error) if "is not a ListConfig" in str(cause) else _explain(cause)
    if isinstance(error, (ConfigKeyError, ConfigAttrError)):
        return _unknown_key(error)
    if isinstance(error, RecursionError):
        return "values, presets or interpolations contain themselves, or nest too deeply"
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{mark.name}, line {mark.line + 1}: {_first_line(error.problem or str(error))}"
    if isinstance(error, InterpolationResolutionError) and (own := _raised_by_resolver(error)) is not None:
        return f"{own.strerror}: {own.filename}" if isinstance(own, OSError) else str(own)
    if isinstance(error, KeyValidationError) and isinstance(error.parent_node, ListConfig):
        return f"{error.parent_node} is a list, but it must be a mapping of keys"
    if isinstance(error, OmegaConfBaseException):
        key = f"{error.full_key}: " if error.full_key else ""
        text = _first_line(error.msg or str(error))
        units = ", ".join(units_of(str(error.full_key or ""))) if "to Float" in text else ""
        return f"{key}{text}; valid units: {units}" if units else key + text
    if isinstance(error, ConfigError):
        return as_typed(str(error))
    if isinstance(error, (YAMLError, UnicodeError)):
        return _first_line(str(error))
    return str(error)


def as_typed(text: str) -> str:
    """A message of the core with the user's keys: `traffic.load` instead of `traffic.uniform.load`.

    The core's messages name the component of a parameter, but a configuration has one component of a kind.
    """
    text = re.sub(r"\bengine\.engine\b", "engine", text)
    return re.sub(r"\b(topology|router|routing|traffic|engine)\.(\w+)\.(\w+)", _without_component, text)


def _without_component(found: re.Match[str]) -> str:
    kind, name, key = found.groups()
    component = registered(kind).get(name)
    return f"{kind}.{key}" if component is not None and key in component["params"] else found[0]


def refuse_valueless_groups(words: Iterable[str]) -> None:
    """Refuse `topology=null` and `topology=3`, for which Hydra does not name the group, and `topology.name=`.

    Args:
        words: Overrides as they were typed.

    Raises:
        ConfigError: names the group, the value and the valid options.
    """
    for word in words:
        key, _, value = word.partition("=")
        if re.fullmatch(r"null|true|false|[-\d.]+", value) and (options := options_of(key)):
            raise ConfigError(unknown(key, value, options, "option"))
        # The name determines the keys of a section, and is part of folders' names.
        group = key.removesuffix(".name")
        if group != key and options_of(group):
            raise ConfigError(f"{word}: the option of a group sets its name; write {group}={value}")


def options_of(group: str) -> list[str]:
    """The options of a group of the configuration; empty if there is no such group."""
    if not re.fullmatch(r"\w+", group):
        return []
    return list(options_in(group, Path(__file__).parent))


def _unknown_option(error: MissingConfigException) -> str:
    group, _, name = (error.missing_cfg_file or "").rpartition("/")
    if not error.options or not group:
        return _first_line(str(error))
    return unknown(group, name, error.options)


def _unknown_key(error: OmegaConfBaseException) -> str:
    # The message does not list `name`, which the option of a group sets, or `hydra`.
    parent = error.parent_node
    valid = {str(key) for key in parent} - {"name", "hydra"} if parent is not None else set()
    section = str(error.full_key).rpartition(".")[0]
    if isinstance(parent, ListConfig):
        return f"{parent} is a list, but it must be a mapping of keys"
    if error.key == "name" and section and "name" not in (parent or {}):
        return f"{section}: it has no 'name'; begin a preset with `defaults: [<registered name>, _self_]`"
    given = [name for name in valid if not section and not OmegaConf.is_missing(parent, name)]
    homes = [f"{name}.{error.key}" for name in given if _has(parent[name], error.key)]
    if homes:
        return f"{error.key}: a key of a section; write {' or '.join(sorted(homes))}"
    if not section and "routings" in valid:
        valid = {TYPED.get(key, key) for key in valid}
    text = unknown(section or "configuration", str(error.key), valid, "key")
    if section == "workload" and not valid:
        text = text.replace("there are no keys", "no workload is chosen; write workload=...")
    return text + _elsewhere(section, str(error.key))


def _has(section: Any, key: Any) -> bool:
    return isinstance(section, DictConfig) and key in section


def _elsewhere(section: str, key: str) -> str:
    """The other options of a section that have the key, e.g. other agents."""
    made = offered(section) or offered(f"hydra/schema/{section}")
    # `in` of a node leaves out keys whose value is missing, and a set of its keys does not.
    nodes = {name: OmegaConf.structured(make()) for name, make in made.items()}
    having = sorted(f"{section}={name}" for name, node in nodes.items() if key in set(node))
    several = " and ".join(filter(None, [", ".join(having[:-1]), *having[-1:]]))
    return f"; {several} {'has' if len(having) == 1 else 'have'} it" if having else ""


def _no_list(error: HydraException) -> str:
    # OmegaConf names only the value's type; Hydra's text ends with the override.
    key, _, value = _first_line(str(error)).rpartition(" ")[2].partition("=")
    entries = value.replace("x", ",") if re.fullmatch(r"\d+(x\d+)+", value) else value
    return f"{key}: '{value}' is not a list; write {key}=[{entries}]"


def _in_worlds(text: str) -> str | None:
    # Hydra's first line does not name the section of the key, or the agents that the preset is for.
    found = re.match(r"In 'worlds/([^']+)': ConfigKeyError .*\n(?:.*\n)*? *full_key: agent\.(\w+)", text)
    return of_other_agent(found[1], found[2]) if found else None


def _configuration_cause(error: BaseException) -> OmegaConfBaseException | None:
    cause = error.__cause__
    while cause is not None and not isinstance(cause, OmegaConfBaseException):
        cause = cause.__cause__
    return cause


def _raised_by_resolver(error: BaseException) -> ConfigError | OSError | None:
    # A resolver computes the name of a run's folder. To do so, it reads files and builds the jobs.
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, (ConfigError, OSError)):
        inner = inner.__cause__ or inner.__context__
    return inner


def _first_line(text: str) -> str:
    return _one_line(text.strip().partition("\n")[0])


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
