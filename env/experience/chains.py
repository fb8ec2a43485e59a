"""From transitions to packets: the order of a packet's transitions, and whole packets up to their delivery.

A transition has the number of its decision and the number of the packet's next decision (`decision`, `next_decision`).
The numbers count all decisions of a network. Only these numbers link the transitions of a packet. The order of
recording does not, since the time of the feedback differs between decisions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import NO_DECISION, Simulation
from .ring import Rows

_NUMBER_BITS = 40  # bits of a key that hold the number of the decision

Places = NDArray[np.intp]


def keys_of(network: NDArray[Any], decision: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One key per pair of network and decision, [n], ordered by network and then by decision.

    The key of `NO_DECISION` is not the key of any decision.
    """
    return network.astype(np.uint64) << np.uint64(_NUMBER_BITS) | decision


def find(wanted: NDArray[np.uint64], keys: NDArray[np.uint64], order: Places) -> Places:
    """The row of each wanted decision.

    Args:
        wanted: keys, [n]; the key of `NO_DECISION` has no row.
        keys: the keys of all rows in rising order, [m].
        order: the row of each of these keys, [m].

    Returns:
        The row, or -1 without one, [n].
    """
    if not len(keys):
        return np.full(len(wanted), -1, np.intp)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, order[at], -1)


def following(decision: NDArray[np.uint64], next_decision: NDArray[np.uint64], network: NDArray[Any]) -> Places:
    """The row of each packet's next decision.

    Args:
        decision: numbers of the decisions, [n].
        next_decision: numbers of the next decisions, or `NO_DECISION`, [n].
        network: network of each decision, [n].

    Returns:
        [n]; -1 if there is no next decision, or if it is not among these transitions.
    """
    own = keys_of(network, decision)
    order = np.argsort(own)
    return find(keys_of(network, next_decision), own[order], order)


class Chains:
    """Collects transitions until all transitions of a packet are known.

    The feedback for a decision travels back to its router, so the transitions of a packet arrive in any order. The
    chain of a packet is complete if it has the first transition, the last one (`done`), and all in between. A
    transition without a predecessor is the first one if its decision is older than the longest time of feedback.

    Args:
        horizon: the longest time of feedback, in cycles.
    """

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.pieces: list[Rows] = []

    def add(self, rows: Rows) -> None:
        """Add transitions as `Ring.take` returns them."""
        self.pieces.append(rows)

    @property
    def waiting(self) -> int:
        """The number of transitions that `take` has not returned."""
        return sum(len(piece["decision"]) for piece in self.pieces)

    def take(self, now: int) -> Rows:
        """The chains that are complete at cycle `now`, one after another, each in the order of its decisions."""
        if not self.waiting:
            return {}
        rows = {name: np.concatenate([piece[name] for piece in self.pieces]) for name in self.pieces[0]}
        decision = rows["decision"]
        at = following(decision, rows["next_decision"], np.zeros(len(decision), np.uint64))
        linked = at >= 0

        # Backwards: the rest of a chain is complete if this row is the last one, or if the rest from the next row on is
        # complete.
        whole = rows["done"].copy()
        while (more := linked & whole[at] & ~whole).any():
            whole |= more
        # Forwards: if the first decision of a chain is old enough, every row of the chain gets its number.
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
    """The longest time in cycles from the moment that a reward is known to its transition."""
    return int(simulation.seam()["news_cycles"])
