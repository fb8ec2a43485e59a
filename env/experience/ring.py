"""The reader of the core's ring of transitions. All Python code reads the ring through this class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import ConfigError, Simulation

Rows = dict[str, NDArray[Any]]
"""Columns by name, all of the same length."""


class Ring:
    """Returns each transition of a simulation once, in the order in which the core recorded them.

    Transitions are numbered from 0 in that order. Number i lies in row i mod `capacity` until it is overwritten.

    Args:
        simulation: its routing records transitions (`routing.record` > 0).
        without: columns to leave out.

    Attributes:
        columns: views [capacity, ...] of the core's memory, see `Simulation.transitions()`.
        capacity: rows of the ring.
        read: the number of transitions read so far; a new reader counts the existing ones as read.
    """

    columns: Rows
    capacity: int

    def __init__(self, simulation: Simulation, without: Sequence[str] = ()) -> None:
        self.simulation = simulation
        self.read = simulation.transition_count
        self._without = tuple(without)
        self._look()

    @property
    def filed(self) -> int:
        """The number of transitions recorded so far."""
        return self.simulation.transition_count

    @property
    def kept(self) -> range:
        """Numbers of all transitions in the ring, oldest first; also those that are already read."""
        filed = self.filed
        return range(filed - min(filed, self.capacity), filed)

    @property
    def unread(self) -> int:
        """The number of transitions recorded since the last read."""
        return self.filed - self.read

    @property
    def outrun(self) -> bool:
        """Whether unread transitions are lost, since there are more than `capacity`."""
        return self.unread > self.capacity

    def new(self) -> list[slice]:
        """Rows of the transitions since the last call, oldest first; two slices if the ring wraps around."""
        first, unread = self.read, self.unread
        self.read += unread
        if unread == 0:
            return []
        if unread > self.capacity:
            raise ConfigError(
                f"record: {unread} transitions came since the last read and the ring holds {self.capacity}; set "
                f"record to {unread} or more (routing.record), lower routing.record_part, or read more often"
            )
        begin, end = first % self.capacity, self.read % self.capacity
        if begin < end:
            return [slice(begin, end)]
        return [part for part in (slice(begin, self.capacity), slice(0, end)) if part.start < part.stop]

    def take(self, names: Sequence[str] | None = None) -> Rows:
        """The transitions since the last call, as copies.

        Args:
            names: the columns to return; None = all.
        """
        parts = self.new() or [slice(0, 0)]
        return {name: np.concatenate([self.columns[name][part] for part in parts]) for name in names or self.columns}

    def pick(self, numbers: NDArray[np.integer[Any]], names: Sequence[str] | None = None) -> Rows:
        """Transitions by their numbers, as copies.

        Args:
            numbers: among `kept`, [n].
            names: the columns to return; None = all.
        """
        rows = numbers % self.capacity
        return {name: self.columns[name][rows] for name in names or self.columns}

    def _look(self) -> None:
        columns: Rows = self.simulation.transitions()
        self.capacity = len(columns["reward"])
        self.columns = {name: column for name, column in columns.items() if name not in self._without}

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "columns"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._look()
