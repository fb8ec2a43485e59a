"""A group of trainings that differ only in their seed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Group:
    """Trainings that differ only in their seed.

    Args:
        label: The difference from other groups of the study, such as `agent.learning_rate=0.001`.
        rows: One row per training, as in `rows.parquet`.
    """

    label: str
    rows: Sequence[Mapping[str, Any]]

    def values(self, key: str) -> list[float]:
        """The numbers of a column; NaN for a missing number."""
        return [math.nan if (value := entry.get(key)) is None else float(value) for entry in self.rows]
