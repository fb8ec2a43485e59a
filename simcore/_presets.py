"""Presets of the commands (`configs/<group>/<name>.yaml`) as sections of a `Simulation`, read without Hydra."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ._core import ConfigError, registered
from ._words import nearest
from .plugins import files

_KINDS = ("topology", "router", "routing", "traffic")  # sections with a default and presets
_PACKAGE = Path(__file__).resolve().parent.parent


def with_presets(config: Any) -> Any:
    """Return the configuration with the values of each preset instead of its name.

    Other values in a section replace those of its preset. A missing section or seed is the default of the commands.
    """
    if not isinstance(config, Mapping):
        return config
    missing = {} if all(key in config for key in (*_KINDS, "seed")) else _defaults()
    if config.get("workload") is not None:
        missing = {key: name for key, name in missing.items() if key != "traffic"}
    return {
        key: section(key, value) if key in _KINDS else value for key, value in {"seed": 1, **missing, **config}.items()
    }


@cache
def _defaults() -> dict[str, Any]:
    import yaml

    content = yaml.safe_load((_PACKAGE / "configs" / "config.yaml").read_text(encoding="utf-8"))
    groups = (entry for entry in content["defaults"] if isinstance(entry, dict))
    names = {key: name for entry in groups for key, name in entry.items() if key in _KINDS}
    return {"seed": content["seed"], **names}


def section(kind: str, given: Any) -> Any:
    """Resolve one section, a name or a mapping with `name`. The core refuses anything else."""
    name = given.get("name") if isinstance(given, Mapping) else given
    if not isinstance(name, str) or not name or name in _registered(kind):
        return given
    path = preset_files(kind).get(name)
    if path is None:
        raise ConfigError(_unknown(kind, name))
    own = {key: value for key, value in given.items() if key != "name"} if isinstance(given, Mapping) else {}
    return {**_read(kind, path), **own}


@cache
def _registered(kind: str) -> frozenset[str]:
    return frozenset(registered(kind))


def preset_files(kind: str) -> dict[str, Path]:
    """The file of every preset of a group by its name. A plugin cannot replace a preset of the core."""
    own = sorted((_PACKAGE / "configs" / kind).glob("*.yaml"))
    return {path.stem: path for path in [*(path for _, path in files(f"configs/{kind}", "*.yaml")), *own]}


def _read(kind: str, path: Path) -> dict[str, Any]:
    import yaml

    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    # A preset has the defaults [base] or [base, _self_], and its own values replace those of the base.
    match values.pop("defaults", None) if isinstance(values, dict) else None:
        case [str(base)] | [str(base), "_self_"]:
            start = section(kind, base)
            start = {"name": base} if isinstance(start, str) else start
            return {**start, **{key: _value(path, key, value) for key, value in values.items()}}
    raise _of_hydra(path, "its list of defaults")


def _value(path: Path, key: str, value: Any) -> Any:
    if not isinstance(value, str) or "${" not in value:
        return value
    policy = re.fullmatch(r"\$\{shipped_policy:(\w+)\}", value)
    if policy is None:
        raise _of_hydra(path, f"{key}: {value}")
    return str(_PACKAGE / "agents" / "policies" / f"{policy[1]}.safetensors")


def _of_hydra(path: Path, what: str) -> ConfigError:
    return ConfigError(
        f"{path}: only Hydra can read {what}; "
        f"flitgym.configuration('{path.parent.name}={path.stem}') returns the sections"
    )


def _unknown(kind: str, name: str) -> str:
    names, presets = sorted(_registered(kind)), sorted(preset_files(kind))
    hint = nearest(name, [*presets, *names])
    return f"{kind}: unknown name '{name}'{hint}; valid names: {', '.join(names)}; presets: {', '.join(presets)}"
