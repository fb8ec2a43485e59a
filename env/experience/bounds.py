"""The lower and upper bounds of an observation, from `Simulation.seam()`. Only this file computes them.

A row has the `general` features, then those of slot 0, slot 1, ... (`seam["general"]`, `seam["per_slot"]`). The slots
after the last candidate hold 0, and an environment without a decision shows zeros. So the bounds of every number
include 0, even if its feature declares other bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blocks import Feature

Floats = NDArray[np.float32]


def bounds_of(seam: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """The lower and the upper bound of each number of an observation, [width] each."""
    features = [*seam["general"], *seam["per_slot"] * seam["slots"]]
    low = np.array([min(feature["low"], 0.0) for feature in features], np.float32)
    return low, np.array([max(feature["high"], 0.0) for feature in features], np.float32)


def seen_bounds_of(seam: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """The bounds of a row that ends with its mask (`seen`), [width + slots] each."""
    low, high = bounds_of(seam)
    slots = int(seam["slots"])
    return np.concatenate([low, np.zeros(slots, np.float32)]), np.concatenate([high, np.ones(slots, np.float32)])


def finite_bounds(features: Sequence[Feature]) -> tuple[Floats, Floats]:
    """The bounds for checks of Python's features, [features] each. They are finite, so an infinite value fails."""
    limits = np.finfo(np.float32)
    low = np.array([max(feature.low, limits.min) for feature in features], np.float32)
    return low, np.array([min(feature.high, limits.max) for feature in features], np.float32)


def seen(observation: Floats, mask: NDArray[np.bool_]) -> Floats:
    """An observation [..., width], followed by 1 for each slot with a candidate, else 0 [..., slots].

    For libraries without masks, whose neural networks get only the row.
    """
    return np.concatenate([observation, mask.astype(np.float32)], axis=-1)
