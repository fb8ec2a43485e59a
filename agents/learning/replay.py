"""A replay buffer: a ring with the latest transitions of all networks, which are sampled uniformly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


class Replay:
    """Keeps the newest rows.

    Args:
        capacity: rows kept.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.columns: dict[str, Tensor] = {}
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, rows: Mapping[str, Tensor]) -> None:
        """Replace the oldest rows; columns [n, ...], with the same names in every call."""
        if not rows:
            return
        count = len(next(iter(rows.values())))
        kept = min(count, self.capacity)
        places = torch.arange(self.added + count - kept, self.added + count) % self.capacity
        for name, column in rows.items():
            if name not in self.columns:
                self.columns[name] = torch.zeros((self.capacity, *column.shape[1:]), dtype=column.dtype)
            self.columns[name][places] = column[count - kept :]
        self.added += count

    def sample(self, count: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Rows drawn uniformly, with replacement: columns [count, ...], or no columns while the buffer is empty."""
        if not len(self):
            return {}
        rows = torch.randint(len(self), (count,), generator=generator)
        return {name: column[rows] for name, column in self.columns.items()}

    def state(self) -> dict[str, Any]:
        """The buffer's part of a checkpoint."""
        # Clones, since torch saves the whole memory behind a view.
        columns = {name: column[: len(self)].clone() for name, column in self.columns.items()}
        return {"added": self.added, "columns": columns}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state()` of a buffer of the same capacity."""
        self.added, self.columns = state["added"], {}
        for name, column in state["columns"].items():
            self.columns[name] = column.new_zeros((self.capacity, *column.shape[1:]))
            self.columns[name][: len(self)] = column
