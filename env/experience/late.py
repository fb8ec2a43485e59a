"""Features of queues that arrive late or with noise, as in a router whose counters are read by a slow controller."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import ConfigError
from .asked import Asked

_Floats = NDArray[np.float32]
_OF_QUEUES = (
    *("queues.", "router.load_", "relative.backlog", "relative.queued", "relative.uncredited"),
    *("relative.class_", "relative.asking"),
)


class Late:
    """Replaces the features of queues in the rows of a network.

    Each decision samples the features of its router and of its candidates' links. The features of a VC class are those
    of the class of the sampled packet. A decision sees the latest sample
    that is at least `delay_ns` old, or zeros before the first one. The noise multiplies each value by 1 + noise x a
    normal number, within the bounds of the feature.

    Args:
        seam: the features.
        delay_ns: age of the samples; 0 = present values.
        noise: relative standard deviation of a value.
        seed: of the noise.
    """

    def __init__(self, seam: Mapping[str, Any], delay_ns: float, noise: float, seed: int) -> None:
        self.delay_ns, self.noise = delay_ns, noise
        kinds = [seam["general"], seam["per_slot"]]
        self._columns = [[k for k, one in enumerate(kind) if one["name"].startswith(_OF_QUEUES)] for kind in kinds]
        if not any(self._columns) or any(one["name"].startswith("remote_queues.") for kind in kinds for one in kind):
            raise ConfigError(f"delay_ns, noise: '{seam['observation']}' has no feature of queues, or remote_queues")
        self._highest = [
            np.array([kind[k]["high"] for k in columns], np.float32)
            for kind, columns in zip(kinds, self._columns, strict=True)
        ]
        self._random = np.random.default_rng([seed, 3])
        self._seen: list[_Floats] = []  # by router and by link, the values that decisions see
        self._coming: deque[tuple[int, list[tuple[NDArray[Any], _Floats]]]] = deque()  # samples, by their cycle

    def write(self, asked: Asked, general: _Floats, per_slot: _Floats) -> None:
        """Replace the features in the rows of the present decisions, `general` [n, g] and `per_slot` [n, slots, p]."""
        rows = [general, per_slot]
        values = [row[..., columns] for row, columns in zip(rows, self._columns, strict=True)]
        if self.delay_ns:
            if not self._seen:
                sizes = len(asked.tables.first_port), len(asked.tables.next_router)
                self._seen = [np.zeros((n, len(c)), np.float32) for n, c in zip(sizes, self._columns, strict=True)]
            places: list[NDArray[Any]] = [asked.router, asked.link]
            samples = [(places[0].copy(), values[0]), (places[1][asked.mask], values[1][asked.mask])]
            self._coming.append((asked.now, samples))
            while self._coming and self._coming[0][0] + asked.simulation.cycles(self.delay_ns) <= asked.now:
                for seen, (place, value) in zip(self._seen, self._coming.popleft()[1], strict=True):
                    seen[place] = value
            values = [seen[place] for seen, place in zip(self._seen, places, strict=True)]
        for row, columns, value, highest in zip(rows, self._columns, values, self._highest, strict=True):
            noise = 1 + self.noise * self._random.standard_normal(value.shape, np.float32)
            row[..., columns] = np.clip(value * noise, 0, highest)
        per_slot[~asked.mask] = 0
