"""Errors of configuration in one sentence: the key, the value, the valid choices and the nearest spelling."""

import difflib
from collections.abc import Iterable

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import ConfigAttributeError as ConfigAttrError
from omegaconf.errors import ConfigKeyError, InterpolationResolutionError, OmegaConfBaseException

from ..simcore import ConfigError


def unknown(where: str, word: str, valid: Iterable[str], noun: str = "name") -> str:
    """The message for a word that is not among the valid ones, with the nearest spelling if one is near."""
    choices = sorted(valid)
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"{where}: unknown {noun} '{word}'{hint}; valid {noun}s: {', '.join(choices)}"


def explain(error: BaseException) -> str:
    """Say what is wrong with the configuration, for the user rather than for the programmer.

    Args:
        error: What Hydra, OmegaConf or the core raised.

    Returns:
        One line, or the exception's own text where it says enough.
    """
    if isinstance(error, MissingConfigException):
        return _unknown_option(error)
    if isinstance(error, OverrideParseException):
        return f"cannot read the override '{error.override}': {_first_line(error.message)}"
    if isinstance(error, HydraException):
        cause = _configuration_cause(error)
        if cause is None:
            return _first_line(str(error))
        return _no_list(error) if "is not a ListConfig" in str(cause) else explain(cause)
    if isinstance(error, (ConfigKeyError, ConfigAttrError)):
        return _unknown_key(error)
    if isinstance(error, InterpolationResolutionError) and (own := _raised_by_resolver(error)) is not None:
        return f"{own.strerror}: {own.filename}" if isinstance(own, OSError) else str(own)
    if isinstance(error, OmegaConfBaseException):
        key = f"{error.full_key}: " if error.full_key else ""
        return key + _first_line(error.msg or str(error))
    return str(error)


def _unknown_option(error: MissingConfigException) -> str:
    group, _, name = (error.missing_cfg_file or "").rpartition("/")
    if not error.options or not group:
        return _first_line(str(error))
    return unknown(group, name, error.options)


def _unknown_key(error: OmegaConfBaseException) -> str:
    # `name` is set by choosing another option of the group, `hydra` belongs to Hydra: neither is a key to set here.
    parent = error.parent_node
    valid = {str(key) for key in parent} - {"name", "hydra"} if parent is not None else set()
    section = str(error.full_key).rpartition(".")[0]
    return unknown(section or "configuration", str(error.key), valid, "key")


def _no_list(error: HydraException) -> str:
    # OmegaConf names only the value's type; Hydra's own text ends with the override.
    key, _, value = _first_line(str(error)).rpartition(" ")[2].partition("=")
    return f"{key}: '{value}' is not a list; write {key}=[{value}]"


def _configuration_cause(error: BaseException) -> OmegaConfBaseException | None:
    cause = error.__cause__
    while cause is not None and not isinstance(cause, OmegaConfBaseException):
        cause = cause.__cause__
    return cause


def _raised_by_resolver(error: BaseException) -> ConfigError | OSError | None:
    # The name of a run's folder is made by a resolver, which reads files and looks at the jobs.
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, (ConfigError, OSError)):
        inner = inner.__cause__ or inner.__context__
    return inner


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]
