"""The shortest command that runs a resolved configuration again."""

import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from ...configs import GROUPS, KINDS
from ...configs.composition import SIMULATION
from ...configs.policies import shipped_policy
from ...configs.quantities import hydra_text
from ...simcore import ConfigError, registered
from ..plotting.swept import RUN_OF_WORKLOAD
from ..presets import preset_files, values_of

Section = Mapping[str, Any]

_RUN_OF_JOBS = (*RUN_OF_WORKLOAD, "save_q_table")
_SHIPPED = re.compile(r"\$\{shipped_policy:(\w+)\}")


def simulate_again(config: Section) -> str | None:
    """The `flitgym simulate` command that gives `config` again; None if it has components of another version.

    It consists of the nearest presets, and of every key that differs from them.
    """
    has_jobs = config["workload"]["name"] != "none"
    groups = [group for group in GROUPS if group in config and (group != "traffic" or not has_jobs)]
    # The command refuses the keys of the windows if there is a workload.
    run = {key: value for key, value in config["run"].items() if not has_jobs or key in _RUN_OF_JOBS}
    wanted = {**{key: config[key] for key in (*groups, "failures", "seed") if key in config}, "run": run}
    default, defaults = _default()
    try:
        options = {group: nearest(group, wanted[group]) for group in groups}
        # The default warm-up depends on these keys.
        windows = {} if has_jobs else {key: run[key] for key in RUN_OF_WORKLOAD}
        given = {f"run.{key}": value for key, value in windows.items()}
        known = SIMULATION.resolved([f"{group}={option}" for group, option in options.items()], given)
        known = {**known, "run": {**known["run"], **{key: default["run"][key] for key in windows}}}
        words = [f"{group}={option}" for group, option in options.items() if option != defaults[group]]
        words += _differences("", known, wanted)
    except (HydraException, OmegaConfBaseException, ConfigError, KeyError):
        return None
    return " ".join(shlex.quote(word) for word in ["flitgym", "simulate", *words])


@cache
def _default() -> tuple[Section, Mapping[str, str]]:
    """The configuration without overrides, and its options."""
    default = SIMULATION.resolved(())
    groups = [group for group in SIMULATION.groups if "name" in default[group]]
    return default, {group: nearest(group, default[group]) for group in groups}


def nearest(group: str, section: Section) -> str:
    """The option of a group that differs from a section in the fewest keys."""
    name = str(section["name"])
    defaults = registered(group)[name]["params"] if group in KINDS and name in registered(group) else {}
    fitting = {name: len(defaults)} if defaults else {}
    for option in [*([name] if defaults else []), *preset_files(group)]:
        known = {**{key: spec["default"] for key, spec in defaults.items()}, **values_of(group, option)}
        if known["name"] == name:
            fitting[option] = sum(_resolved(known.get(key)) != value for key, value in section.items())
    return min(fitting, key=lambda option: fitting[option], default=name)


def _resolved(value: Any) -> Any:
    """The value of a preset. The resolver of a shipped policy becomes the path of its file."""
    found = _SHIPPED.fullmatch(str(value))
    return shipped_policy(found[1]) if found else value


def _differences(prefix: str, known: Section, wanted: Section) -> list[str]:
    """The overrides that turn `known` into `wanted`, with keys below `prefix`."""
    words = []
    for key, value in wanted.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if key in known and known[key] == value:
            continue
        if isinstance(value, Mapping) and isinstance(known.get(key), Mapping):
            words += _differences(path, known[key], value)
        else:
            words.append(f"{path}={hydra_text(value)}")
    return words
