"""Checks that hyperparameters are within their bounds; an error names the key."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from ...simcore import ConfigError, registered
from ...simcore._words import refuse_unknown

# The bounds of the core's parameters, which only the core declares.
_CORE: dict[str, dict[str, Any]] = registered("routing")["policy"]["params"]
# The bounds of keys of several agents; times in ns.
_COMMON: dict[str, tuple[float, float]] = {
    "networks": (1, 1024),
    "episode_ns": (1, 1e12),
    "run_ns": (1, 1e9),
    "tail_ns": (0, 1e9),
    "capacity": (1, _CORE["record"]["max"]),
    "record_part": (1e-6, _CORE["record_part"]["max"]),
    "learning_rate": (0, 1),
    "batch": (1, 1 << 24),
    "updates": (1, 1 << 20),
    "discount": (0, 1),
    "target_rate": (0, 1),
    "huber_us": (1e-6, 1e6),
    "gradient_norm": (1e-12, 1e12),
    "threads": (0, 1024),
}


def check(config: Any, **bounds: tuple[float, float]) -> None:
    """Refuse values that are out of bounds.

    A hyperparameter with the name of a parameter of `routing=policy` (`slots`, `hidden`, `network` ...) has the bounds
    that the core declares, and keys of several agents (`learning_rate`, `networks` ...) have common bounds, unless
    `bounds` names them.

    Args:
        config: a dataclass of hyperparameters.
        bounds: smallest and largest valid value of each other key.
    """
    names = {field.name for field in fields(config)}
    bounds = {key: both for key, both in _COMMON.items() if key in names} | bounds
    for key, (low, high) in bounds.items():
        _check(f"agent.{key}", getattr(config, key), low, high)
    for key in sorted(names & _CORE.keys() - bounds.keys()):
        _check_as_core(key, getattr(config, key), _CORE[key])


def _check_as_core(key: str, value: Any, param: dict[str, Any]) -> None:
    if param["type"] == "str":
        if param["choices"]:
            refuse_unknown(f"agent.{key}", [value], param["choices"], "choice")
    elif param["type"].startswith("list"):
        for item in value:
            _check(f"agent.{key}: {list(value)}", item, param["min"], param["max"])
    elif param["type"] != "bool":
        _check(f"agent.{key}", value, param["min"], param["max"])


def _check(what: str, value: float, low: float, high: float) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise ConfigError(f"{what}: {value} is outside {low:g} .. {high:g}")
