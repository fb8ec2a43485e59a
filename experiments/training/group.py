"""Trainings that differ in their seed alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Group:
    """Trainings that differ in their seed alone.

    Args:
        label: What tells it from the others of the study, e.g. `agent.learning_rate=0.001`.
        rows: One per training, as in `rows.parquet`.
    """

    label: str
    rows: Sequence[Mapping[str, Any]]

    def values(self, key: str) -> list[float]:
        """The numbers of a column, NaN where there is none."""
        return [math.nan if (value := entry.get(key)) is None else float(value) for entry in self.rows]
