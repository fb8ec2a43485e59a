"""Checks that hyperparameters are within their bounds; an error names the key."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from ...simcore import ConfigError, registered
from ...simcore._words import unknown

# The bounds of the core's parameters, which only the core declares.
_CORE: dict[str, dict[str, Any]] = registered("routing")["policy"]["params"]
SLOTS: tuple[float, float] = (_CORE["slots"]["min"], _CORE["slots"]["max"])
CAPACITY: tuple[float, float] = (1, _CORE["record"]["max"])

# Common keys of agents that learn by gradients; times in ns.
LEARNING: dict[str, tuple[float, float]] = {
    "episode_ns": (1, 1e12),
    "learning_rate": (0, 1),
    "discount": (0, 1),
    "gradient_norm": (1e-12, 1e12),
}

# Common keys of agents that learn from `Rollouts`.
ROLLOUTS: dict[str, tuple[float, float]] = {
    "networks": (1, 1024),
    "run_ns": (1, 1e9),
    "capacity": CAPACITY,
    "record_part": (1e-6, _CORE["record_part"]["max"]),
    "tail_ns": (0, 1e9),
}


def check(config: Any, **bounds: tuple[float, float]) -> None:
    """Refuse values that are out of bounds.

    A hyperparameter with the name of a parameter of `routing=policy` (`slots`, `hidden`, `network` ...) has the bounds
    that the core declares, unless `bounds` names it.

    Args:
        config: a dataclass of hyperparameters.
        bounds: smallest and largest valid value of each key.
    """
    for key in (field.name for field in fields(config)):
        if key in _CORE and key not in bounds:
            _check_as_core(key, getattr(config, key), _CORE[key])
    for key, (low, high) in bounds.items():
        _check(f"agent.{key}", getattr(config, key), low, high)


def _check_as_core(key: str, value: Any, param: dict[str, Any]) -> None:
    if param["type"] == "str":
        if param["choices"] and value not in param["choices"]:
            raise ConfigError(unknown(f"agent.{key}", str(value), param["choices"], "choice"))
    elif param["type"].startswith("list"):
        for item in value:
            _check(f"agent.{key}: {list(value)}", item, param["min"], param["max"])
    elif param["type"] != "bool":
        _check(f"agent.{key}", value, param["min"], param["max"])


def _check(what: str, value: float, low: float, high: float) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise ConfigError(f"{what}: {value} is outside {low:g} .. {high:g}")
