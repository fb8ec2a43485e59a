"""Values of blocks in NumPy that are not within their bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from env_blocks import columns_of
from env_scenes import TRIANGLE
from flitgym.env import Asked, Feature, PacketBatch, blocks
from flitgym.simcore import ConfigError


def written(name: str, write: Callable[..., Any], **features: Any) -> PacketBatch:
    """A batch with a block of this function."""
    blocks.OBSERVATIONS.pop(name, None)
    blocks.observation(name, **features)(write)
    batch = PacketBatch(2, world=TRIANGLE, observation=f"progress+{name}")
    batch.reset(seed=1)
    return batch


def test_values_are_checked() -> None:
    g, p = (
        {"general": [Feature("one", -1, 1, ""), Feature("two", 0.5, 2, "")]},
        {"per_slot": [Feature("three", 1, 3, "")]},
    )

    def collect_with(value: tuple[float, ...], slot: float = 2) -> int:
        def write(asked: Asked, general: np.ndarray, per_slot: np.ndarray) -> None:
            general[:] = value
            per_slot[:] = slot
            if len(value) == 3:
                general[-1, 0] = 7

        batch = written("checked", write, **g, **p)
        n = batch.collect()
        # Slots without a candidate hold 0, although it is outside the bounds.
        slots = columns_of(batch, batch.observation[:n], "checked.three")
        np.testing.assert_array_equal(slots, np.where(batch.mask[:n], slot, 0))
        return n

    assert collect_with((-1, 2)) > 0
    for values, words in (
        (((-1.5, 1),), r"'checked': feature 'one' is -1.5 in row 0 \(network 0, router \d\); .*bounds are -1 .. 1"),
        (((0, np.nan),), r"feature 'two' is nan .*not written, or 0/0"),
        (((0, 1), 4), r"feature 'three' is 4 in slot 0 of row 0 \(network 0, router \d\)"),
    ):
        with pytest.raises(ConfigError, match=words):
            collect_with(*values)  # type: ignore[arg-type]
