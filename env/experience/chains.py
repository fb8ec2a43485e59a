"""From transitions to packets: which transition follows which, and whole packets, up to their delivery.

A transition names its decision and the packet's next one by their numbers (`decision`, `next_decision`), which count
all decisions of a network. That is the one way to follow a packet; the order in which transitions are filed says
nothing, since news of a decision travel back to its own router.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import NO_DECISION, Simulation
from .ring import Rows

_NUMBER_BITS = 40  # of a key; decisions of a network

Places = NDArray[np.intp]


def keys_of(network: NDArray[Any], decision: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Networks and numbers of decisions as one number each, [n], in the order of networks and of numbers within each.

    That of `NO_DECISION` is the key of no decision, whatever the network.
    """
    return network.astype(np.uint64) << np.uint64(_NUMBER_BITS) | decision


def find(wanted: NDArray[np.uint64], keys: NDArray[np.uint64], order: Places) -> Places:
    """Where each wanted decision stands among others.

    Args:
        wanted: keys, [n]; that of `NO_DECISION` is nowhere.
        keys: those of the others in rising order, [m].
        order: which row each of them is, [m].

    Returns:
        The row, -1 where there is none, [n].
    """
    if not len(keys):
        return np.full(len(wanted), -1, np.intp)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, order[at], -1)


def following(decision: NDArray[np.uint64], next_decision: NDArray[np.uint64], network: NDArray[Any]) -> Places:
    """The row of each transition's packet's next decision.

    Args:
        decision: numbers of the decisions, [n].
        next_decision: likewise; `NO_DECISION`: there is none.
        network: in which it was, [n].

    Returns:
        [n]; -1 where there is no next decision, or it is not among these transitions.
    """
    own = keys_of(network, decision)
    order = np.argsort(own)
    return find(keys_of(network, next_decision), own[order], order)


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
        """Take in transitions as `Ring.take` hands them out."""
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
        decision = rows["decision"]
        at = following(decision, rows["next_decision"], np.zeros(len(decision), np.uint64))
        linked = at >= 0

        # From the back: whole to the end, if it was delivered or what follows is whole.
        whole = rows["done"].copy()
        while (more := linked & whole[at] & ~whole).any():
            whole |= more
        # From the front: of the chains whose first decision is long ago, every row gets the number of the first.
        first = np.ones(len(decision), bool)
        first[at[linked]] = False
        old = rows["decided"].astype(np.int64) + self.horizon <= now
        head = np.where(first & whole & old, decision, NO_DECISION)
        while (more := linked & (head != NO_DECISION) & (head[at] == NO_DECISION)).any():
            head[at[more]] = head[more]

        ready = head != NO_DECISION
        grouped = np.flatnonzero(ready)[np.lexsort((decision[ready], head[ready]))]
        self.pieces = [{name: column[~ready] for name, column in rows.items()}]
        return {name: column[grouped] for name, column in rows.items()}


def horizon_cycles(simulation: Simulation) -> int:
    """Cycles that news between two routers take at most, from the end of a decision to its transition."""
    return int(simulation.seam()["news_cycles"])
