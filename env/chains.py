"""From the core's ring of transitions to whole packets: what a packet's decisions led to, up to its delivery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError, Simulation

Rows = dict[str, NDArray[Any]]
_NO_DECISION = np.uint64(2**64 - 1)


class RingReader:
    """Hands out each transition of a simulation's ring once.

    Args:
        simulation: one with `routing.record` > 0.
        without: columns that are not wanted.
    """

    def __init__(self, simulation: Simulation, without: Sequence[str] = ()) -> None:
        self.simulation = simulation
        self.ring = {name: column for name, column in simulation.transitions().items() if name not in without}
        self.capacity = len(self.ring["action"])
        self.seen = simulation.transition_count

    def take(self) -> Rows:
        """The transitions that have been filed since the last call (copies).

        Raises:
            ConfigError: more were filed than the ring holds.
        """
        count = self.simulation.transition_count
        if count - self.seen > self.capacity:
            raise ConfigError(
                f"{count - self.seen} transitions were filed between two looks at a ring of {self.capacity}; raise "
                "routing.record, lower routing.record_part, or look more often"
            )
        index = np.arange(self.seen, count) % self.capacity
        self.seen = count
        return {name: column[index] for name, column in self.ring.items()}


class Chains:
    """Collects transitions until all of a packet's are there.

    News of a decision come back to its router at the speed of light, so those of a packet are filed in any order. The
    chain of a packet is whole once its last transition (`done`) is in, every link between is, and its first one is: no
    earlier one is on its way when the farthest news have had time to come.

    Args:
        horizon: cycles that the farthest news take at most.
    """

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.pieces: list[Rows] = []

    def add(self, rows: Rows) -> None:
        """Take in transitions as `RingReader` hands them out."""
        self.pieces.append(rows)

    @property
    def waiting(self) -> int:
        """Transitions that have not been handed out."""
        return sum(len(piece["decision"]) for piece in self.pieces)

    def take(self, now: int) -> Rows:
        """The whole chains as of cycle `now`, one behind the other, each in the order of its decisions."""
        if not self.waiting:
            return {}
        rows = {name: np.concatenate([piece[name] for piece in self.pieces]) for name in self.pieces[0]}
        order = np.argsort(rows["decision"])
        decision, following = rows["decision"][order], rows["next_decision"][order]
        at = np.minimum(np.searchsorted(decision, following), len(decision) - 1)
        linked = (following != _NO_DECISION) & (decision[at] == following)

        # From the back: whole to the end, if it was delivered or what follows is whole.
        whole = rows["done"][order]
        while (more := linked & whole[at] & ~whole).any():
            whole |= more
        # From the front: of the chains whose first decision is long ago, every row gets the number of the first.
        first = np.ones(len(decision), bool)
        first[at[linked]] = False
        old = rows["decided"][order].astype(np.int64) + self.horizon <= now
        head = np.where(first & whole & old, decision, _NO_DECISION)
        while (more := linked & (head != _NO_DECISION) & (head[at] == _NO_DECISION)).any():
            head[at[more]] = head[more]

        ready = head != _NO_DECISION
        grouped = order[ready][np.lexsort((decision[ready], head[ready]))]
        self.pieces = [{name: column[order[~ready]] for name, column in rows.items()}]
        return {name: column[grouped] for name, column in rows.items()}


def horizon_cycles(simulation: Simulation) -> int:
    """Cycles that news between two routers take at most: a longest path of the slowest hops, without queueing."""
    facts = simulation.facts()
    slowest = max(cycles for name, cycles in facts["hop_cycles"].items() if name in ("local", "global"))
    return int(facts["max_hops"] * (slowest + facts["pipeline_cycles"] + facts["wake_cycles"]) + 2)
