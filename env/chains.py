"""From the core's ring of transitions to whole packets: what a packet's decisions led to, up to its delivery."""

from __future__ import annotations

import numpy as np

from ..simcore import NO_DECISION, Simulation
from .ring import Rows


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
        order = np.argsort(rows["decision"])
        decision, following = rows["decision"][order], rows["next_decision"][order]
        at = np.minimum(np.searchsorted(decision, following), len(decision) - 1)
        linked = (following != NO_DECISION) & (decision[at] == following)

        # From the back: whole to the end, if it was delivered or what follows is whole.
        whole = rows["done"][order]
        while (more := linked & whole[at] & ~whole).any():
            whole |= more
        # From the front: of the chains whose first decision is long ago, every row gets the number of the first.
        first = np.ones(len(decision), bool)
        first[at[linked]] = False
        old = rows["decided"][order].astype(np.int64) + self.horizon <= now
        head = np.where(first & whole & old, decision, NO_DECISION)
        while (more := linked & (head != NO_DECISION) & (head[at] == NO_DECISION)).any():
            head[at[more]] = head[more]

        ready = head != NO_DECISION
        grouped = order[ready][np.lexsort((decision[ready], head[ready]))]
        self.pieces = [{name: column[order[~ready]] for name, column in rows.items()}]
        return {name: column[grouped] for name, column in rows.items()}


def horizon_cycles(simulation: Simulation) -> int:
    """Cycles that news between two routers take at most, from the end of a decision to its transition."""
    return int(simulation.seam()["news_cycles"])
