"""Messages about wrong configurations.

A message names the key, the value, the valid choices and the nearest spelling.
"""

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError as ConfigAttrError
from omegaconf.errors import ConfigKeyError, InterpolationResolutionError, OmegaConfBaseException
from yaml import MarkedYAMLError

from ..simcore import ConfigError, registered
from ..simcore._words import shortened, unknown
from .quantities import units_of
from .source import offered, options_of

# Keys of `flitgym evaluate` and `flitgym saturate` as users type them.
TYPED = {
    **{"networks": "topology", "routings": "routing", "patterns": "traffic", "workloads": "workload"},
    **{"loads": "traffic.load", "seeds": "seed"},
}
_LONGEST = 400  # characters of a message of Hydra or a parser


def explain(error: BaseException) -> str:
    """Explain an error of the configuration (of Hydra, OmegaConf or the core) to the user, mostly in one line.

    Bytes of the command line that are not text appear as numbers.
    """
    return _explained(error).encode("utf-8", "backslashreplace").decode()


def _explained(error: BaseException) -> str:
    if isinstance(error, MissingConfigException):
        group, _, name = (error.missing_cfg_file or "").rpartition("/")
        return unknown(group, name, error.options) if error.options and group else _first_line(str(error))
    if isinstance(error, OverrideParseException):
        word = shortened(error.override)
        if "=" not in word:
            return f"'{word}' is not of the form key=value; --help lists the keys"
        return f"{word}: {_first_line(str(error))}; special characters need quotes: {word.partition('=')[0]}='\"...\"'"
    if isinstance(error, HydraException):
        cause = _caused_by(error, OmegaConfBaseException)
        if cause is None:
            return _one_line(str(error))
        return _no_list(error) if "is not a ListConfig" in str(cause) else explain(cause)
    if isinstance(error, InterpolationResolutionError) and (own := _caused_by(error, ConfigError, OSError)):
        # A resolver computes the name of a run's folder. To do so, it reads files and builds the jobs.
        return f"{own.strerror}: {own.filename}" if isinstance(own, OSError) else str(own)
    if isinstance(error, (ConfigKeyError, ConfigAttrError)):
        return _unknown_key(error)
    if isinstance(error, OmegaConfBaseException):
        key = f"{error.full_key}: " if error.full_key else ""
        text = _first_line(error.msg or str(error))
        units = ", ".join(units_of(str(error.full_key or ""))) if "could not be converted to" in text else ""
        return f"{key}{text}; valid units: {units}" if units else key + text
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{mark.name}, line {mark.line + 1}: {_first_line(error.problem or str(error))}"
    return as_typed(str(error)) if isinstance(error, ConfigError) else _one_line(str(error))


def as_typed(text: str) -> str:
    """A message of the core with the user's keys: `traffic.load` instead of `traffic.uniform.load`.

    The core's messages name the component of a parameter, but a configuration has one component of a kind.
    """
    text = re.sub(r"\bengine\.engine\b", "engine", text)
    return re.sub(
        r"\b(topology|router|routing|traffic|congestion_control|engine)\.(\w+)\.(\w+)", _without_component, text
    )


def _without_component(found: re.Match[str]) -> str:
    kind, name, key = found.groups()
    component = registered(kind).get(name)
    return f"{kind}.{key}" if component is not None and key in component["params"] else found[0]


def refuse_valueless_groups(words: Iterable[str]) -> None:
    """Refuse `topology=null` and `topology=3`, for which Hydra does not name the group, and `topology.name=`."""
    for word in words:
        key, _, value = word.partition("=")
        if re.fullmatch(r"null|true|false|[-\d.]+", value) and (options := options_of(key)):
            raise ConfigError(unknown(key, value, options, "option"))
        # The name determines the keys of a section, and is part of folders' names.
        group = key.removesuffix(".name")
        if group != key and options_of(group):
            raise ConfigError(f"{word}: the option of a group sets its name; write {group}={value}")


def refuse_added(config: DictConfig, where: str = "") -> None:
    """Refuse keys that the types of a configuration do not have. Hydra lets `+key=value` add any key.

    For a section of a configuration, `where` is its key.
    """
    kind = OmegaConf.get_type(config)
    valid = {field.name for field in fields(kind)} if is_dataclass(kind) else set(config)
    for key in map(str, config):
        if key not in valid:
            raise ConfigError(unknown(where or "configuration", key, valid - {"name"}, "key"))
        if key in config and not OmegaConf.is_interpolation(config, key) and isinstance(config[key], DictConfig):
            refuse_added(config[key], f"{where}.{key}" if where else key)


def _unknown_key(error: OmegaConfBaseException) -> str:
    # The message does not list `name`, which the option of a group sets, or `hydra`.
    parent, key = error.parent_node, str(error.key)
    if isinstance(parent, ListConfig):
        return f"{parent} is a list, but it must be a mapping of keys"
    valid = {str(key) for key in parent} - {"name", "hydra"} if parent is not None else set()
    section = str(error.full_key).rpartition(".")[0]
    if key == "name" and section and "name" not in (parent or {}):
        return f"{section}: it has no 'name'; begin a preset with `defaults: [<registered name>]`"
    given = [name for name in valid if not section and not OmegaConf.is_missing(parent, name)]
    homes = [f"{name}.{key}" for name in given if isinstance(parent[name], DictConfig) and key in parent[name]]
    if homes:
        return f"{key}: a key of a section; write {' or '.join(sorted(homes))}"
    if not section and "routings" in valid:
        valid = {TYPED.get(key, key) for key in valid}
    text = unknown(section or "configuration", key, valid, "key")
    if section == "workload" and not valid:
        text = text.replace("there are no keys", "no workload is chosen; write workload=...")
    # Other options of the section may have the key, e.g. other agents.
    made = offered(section) or offered(f"hydra/schema/{section}")
    # `in` of a node leaves out keys whose value is missing, and a set of its keys does not.
    having = sorted(f"{section}={name}" for name, make in made.items() if key in set(OmegaConf.structured(make())))
    several = " and ".join(filter(None, [", ".join(having[:-1]), *having[-1:]]))
    return f"{text}; {several} {'has' if len(having) == 1 else 'have'} it" if having else text


def _no_list(error: HydraException) -> str:
    # OmegaConf names only the value's type; Hydra's text ends with the override.
    key, _, value = _first_line(str(error)).rpartition(" ")[2].partition("=")
    entries = value.replace("x", ",") if re.fullmatch(r"\d+(x\d+)+", value) else value
    return f"{key}: '{value}' is not a list; write {key}=[{entries}]"


def _caused_by(error: BaseException, *kinds: type[BaseException]) -> Any:
    """The nearest cause of one of these kinds."""
    cause = error.__cause__ or error.__context__
    while cause is not None and not isinstance(cause, kinds):
        cause = cause.__cause__ or cause.__context__
    return cause


def _first_line(text: str) -> str:
    return _one_line(text.strip().partition("\n")[0])


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
