"""Hyperparameters within their bounds, or a message that names the key."""

from __future__ import annotations

import math
from typing import Any

from ..simcore import ConfigError, registered


def check(config: Any, **bounds: tuple[float, float]) -> None:
    """Refuse what no training can run with.

    Args:
        config: A dataclass of hyperparameters.
        bounds: least and greatest value of each key, both allowed.

    Raises:
        ConfigError: a value is outside, or no number.
    """
    for key, (low, high) in bounds.items():
        value = getattr(config, key)
        if not (math.isfinite(value) and low <= value <= high):
            raise ConfigError(f"agent.{key}: {value} is outside {low:g} .. {high:g}")
    hidden = list(config.hidden)
    if not all(1 <= units <= 4096 for units in hidden):
        raise ConfigError(f"agent.hidden: {hidden}; a layer has 1 to 4096 units")


# What the core takes: one statement of it, in simcore/src/learning/seam.cpp.
_SEAM: dict[str, dict[str, Any]] = registered("routing")["agent"]["params"]
SLOTS: tuple[float, float] = (_SEAM["slots"]["min"], _SEAM["slots"]["max"])
CAPACITY: tuple[float, float] = (1, _SEAM["record"]["max"])

# What the agents that learn from `Rollouts` have in common; times in ns.
ROLLOUTS: dict[str, tuple[float, float]] = {
    "slots": SLOTS,
    "networks": (1, 1024),
    "run_ns": (1, 1e9),
    "episode_ns": (1, 1e12),
    "capacity": CAPACITY,
    "record_part": (1e-6, _SEAM["record_part"]["max"]),
    "tail_ns": (0, 1e9),
    "learning_rate": (0, 1),
    "discount": (0, 1),
    "gradient_norm": (1e-12, 1e12),
}
