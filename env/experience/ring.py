"""Reading the core's ring of transitions as it is filled: everything in Python that reads it does so here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import ConfigError, Simulation

Rows = dict[str, NDArray[Any]]
"""Columns by name, all of the same length."""


class Ring:
    """Hands out each transition of a simulation once, in the order in which their news came.

    Transitions are numbered from 0 in that order; number i lies in row i mod `capacity`, until it is overwritten.

    Args:
        simulation: its routing keeps transitions (`routing.record` > 0).
        without: columns that are not wanted.

    Attributes:
        columns: views [capacity, ...] of the core's memory, see `Simulation.transitions()`.
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

    @property
    def filed(self) -> int:
        """Transitions that were ever filed."""
        return self.simulation.transition_count

    @property
    def kept(self) -> range:
        """Numbers of those that are still there, oldest first; whether they were read does not matter."""
        filed = self.filed
        return range(filed - min(filed, self.capacity), filed)

    @property
    def unread(self) -> int:
        """How many were filed since the last look; if that is more than `capacity`, some are lost."""
        return self.filed - self.read

    def skip(self) -> None:
        """Take what was filed so far for read."""
        self.read = self.filed

    def new(self) -> list[slice]:
        """Rows of what was filed since the last call, oldest first; two slices where the ring begins anew in between.

        Raises:
            ConfigError: more was filed than the ring holds, so that some of it is lost.
        """
        first, unread = self.read, self.unread
        self.skip()
        if unread == 0:
            return []
        if unread > self.capacity:
            raise ConfigError(
                f"record: {unread} transitions came since the last look and the ring holds {self.capacity}; set "
                f"record to {unread} or more (routing.record), lower routing.record_part, or look more often"
            )
        begin, end = first % self.capacity, self.read % self.capacity
        if begin < end:
            return [slice(begin, end)]
        return [part for part in (slice(begin, self.capacity), slice(0, end)) if part.start < part.stop]

    def take(self, names: Sequence[str] | None = None) -> Rows:
        """The transitions that were filed since the last call, as copies.

        Args:
            names: of the columns that are wanted; none = all.

        Raises:
            ConfigError: see `new`.
        """
        parts = self.new() or [slice(0, 0)]
        return {name: np.concatenate([self.columns[name][part] for part in parts]) for name in names or self.columns}

    def pick(self, numbers: NDArray[np.integer[Any]], names: Sequence[str] | None = None) -> Rows:
        """Transitions by their numbers, as copies.

        Args:
            numbers: among `kept`, [n].
            names: of the columns that are wanted; none = all.
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
