"""The least and greatest numbers of an observation, from `Simulation.seam()`: the one place that computes them.

A row is `general` features, then those of slot 0, slot 1, ... (`seam["general"]`, `seam["per_slot"]`). Behind a
decision's candidates it holds 0, and an environment shows zeros where nothing is asked: so 0 lies within the bounds of
every number, whatever its feature declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blocks import Feature

Floats = NDArray[np.float32]


def bounds_of(seam: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """The lowest and highest value of each number of an observation, [width] both."""
    features = [*seam["general"], *seam["per_slot"] * seam["slots"]]
    low = np.array([min(feature["low"], 0.0) for feature in features], np.float32)
    return low, np.array([max(feature["high"], 0.0) for feature in features], np.float32)


def seen_bounds_of(seam: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """The same of a row with its mask behind it (`seen`), [width + slots] both."""
    low, high = bounds_of(seam)
    slots = int(seam["slots"])
    return np.concatenate([low, np.zeros(slots, np.float32)]), np.concatenate([high, np.ones(slots, np.float32)])


def finite_bounds(features: Sequence[Feature]) -> tuple[Floats, Floats]:
    """What values of features in Python are checked against, [features] both: no value is infinite, bound or not."""
    limits = np.finfo(np.float32)
    low = np.array([max(feature.low, limits.min) for feature in features], np.float32)
    return low, np.array([min(feature.high, limits.max) for feature in features], np.float32)


def seen(observation: Floats, mask: NDArray[np.bool_]) -> Floats:
    """An observation [..., width] and behind it 1 for each slot that has a candidate [..., slots].

    For libraries that know no masks: the row is all that their networks get.
    """
    return np.concatenate([observation, mask.astype(np.float32)], axis=-1)
