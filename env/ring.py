"""Reading the core's ring of transitions as it is filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError, Simulation

Rows = dict[str, NDArray[Any]]
"""Columns by name, all of the same length."""


class Ring:
    """Hands out each transition of a simulation once, in the order in which their news came.

    Args:
        simulation: its routing keeps transitions (`routing.record` > 0).
        without: columns that are not wanted.

    Attributes:
        columns: views [capacity, ...] of the core's memory, see `Simulation.transitions()`; transition k lies in row k
            mod capacity.
        capacity: rows.
        read: transitions read so far; at first those that are there already.
    """

    columns: Rows
    capacity: int

    def __init__(self, simulation: Simulation, without: Sequence[str] = ()) -> None:
        self.simulation = simulation
        self.read = simulation.transition_count
        self._without = tuple(without)
        self._look()

    def skip(self) -> None:
        """Take what was filed so far for read."""
        self.read = self.simulation.transition_count

    def new(self) -> list[slice]:
        """Rows of what was filed since the last call, oldest first; two slices where the ring begins anew in between.

        Raises:
            ConfigError: more was filed than the ring holds, so that some of it is lost.
        """
        filed, first = self.simulation.transition_count, self.read
        self.read = filed
        if filed == first:
            return []
        if filed - first > self.capacity:
            raise ConfigError(
                f"record: {filed - first} transitions came since the last look and the ring holds {self.capacity}; set "
                f"record to {filed - first} or more (routing.record), lower routing.record_part, or look more often"
            )
        begin, end = first % self.capacity, filed % self.capacity
        if begin < end:
            return [slice(begin, end)]
        return [part for part in (slice(begin, self.capacity), slice(0, end)) if part.start < part.stop]

    def take(self) -> Rows:
        """The transitions that were filed since the last call, as copies.

        Raises:
            ConfigError: see `new`.
        """
        parts = self.new() or [slice(0, 0)]
        return {name: np.concatenate([column[part] for part in parts]) for name, column in self.columns.items()}

    def _look(self) -> None:
        columns: Rows = self.simulation.transitions()
        self.capacity = len(columns["reward"])
        self.columns = {name: column for name, column in columns.items() if name not in self._without}

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "columns"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._look()
