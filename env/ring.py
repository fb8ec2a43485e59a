"""Reading the core's ring of transitions as it is filled."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..simcore import ConfigError, Simulation


class Ring:
    """The transitions of one simulation, in the order in which their news came.

    Args:
        simulation: its routing keeps transitions (`routing.record` > 0).

    Attributes:
        columns: views [capacity, ...] of the core's memory, as `Simulation.transitions()` names them; transition k lies
            in row k mod capacity.
        capacity: rows.
        read: transitions read so far.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.columns: dict[str, NDArray[Any]] = simulation.transitions()
        self.capacity = len(self.columns["reward"])
        self.read = simulation.transition_count
        self._simulation = simulation

    def skip(self) -> None:
        """Take what was filed so far for read."""
        self.read = self._simulation.transition_count

    def new(self) -> list[slice]:
        """Rows of what was filed since the last call, oldest first; two slices where the ring begins anew in between.

        Raises:
            ConfigError: more was filed than the ring holds, so that some of it is lost.
        """
        filed, first = self._simulation.transition_count, self.read
        self.read = filed
        if filed == first:
            return []
        if filed - first > self.capacity:
            raise ConfigError(
                f"record: {filed - first} transitions came in one step and the ring holds {self.capacity}; set record "
                f"to {filed - first} or more"
            )
        begin, end = first % self.capacity, filed % self.capacity
        if begin < end:
            return [slice(begin, end)]
        return [part for part in (slice(begin, self.capacity), slice(0, end)) if part.start < part.stop]
