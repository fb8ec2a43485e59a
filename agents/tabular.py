"""Parts of a tabular agent: the links of the network, the update of a table, and the loop over cycles.

Agents make the decisions of the core's routers through `routing={"name": "external", "feedback": True, ...}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import Simulation

TERMINAL, LOCAL, GLOBAL, UNUSED = 0, 1, 2, 3  # kinds of ports

Ints = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Wires:
    """The links between routers, from the core. Port numbers are router-local.

    A router's table has a column per port, beginning with the router's first link. All tables have the number of
    columns that the largest router needs.

    Args:
        first_link: [routers] the first port that leads to another router, which is column 0.
        kind: [routers, ports] `TERMINAL`, `LOCAL`, `GLOBAL` or `UNUSED`.
        peer: [routers, ports] the router at the other end, -1 for a terminal.
        column_kind: [routers, columns] `kind` by column; a terminal's port between links is `UNUSED`.
        column_peer: [routers, columns] `peer` by column, -1 without a link.
        used: [routers, columns] the columns with a link, in order, then zeros.
        degree: [routers] the number of columns with a link.
        terminal_router: [terminals] the router of each terminal.
        terminal_port: [terminals] the port of each terminal at its router.
        group: [routers] the group of each router.
    """

    first_link: Ints
    kind: Ints
    peer: Ints
    column_kind: Ints
    column_peer: Ints
    used: Ints
    degree: Ints
    terminal_router: Ints
    terminal_port: Ints
    group: Ints

    @classmethod
    def of(cls, simulation: Simulation) -> Wires:
        """The wires of a simulation."""
        facts, channels = simulation.facts(), simulation.channels()
        routers, terminals = simulation.routers(), simulation.terminals()
        ports, columns = (facts["routers"], facts["radix"]), (facts["routers"], facts["link_span"])
        first_link = routers["first_link"].astype(np.int64)
        router, port = channels["router"].astype(np.int64), channels["port"].astype(np.int64)
        kind, peer = np.full(ports, UNUSED, np.int64), np.full(ports, -1, np.int64)
        kind[router, port], peer[router, port] = channels["kind"], channels["peer_router"]
        link = channels["peer_router"] >= 0
        at = router[link], (port - first_link[router])[link]
        column_kind, column_peer = np.full(columns, UNUSED, np.int64), np.full(columns, -1, np.int64)
        column_kind[at], column_peer[at] = channels["kind"][link], channels["peer_router"][link]
        links = column_peer >= 0
        return cls(
            first_link,
            kind,
            peer,
            column_kind,
            column_peer,
            np.argsort(~links, axis=1, kind="stable") * np.sort(links, axis=1)[:, ::-1],
            links.sum(axis=1),
            terminals["router"].astype(np.int64),
            terminals["port"].astype(np.int64),
            routers["group"].astype(np.int64),
        )


def hysteretic_update(
    table: NDArray[np.float32], at: tuple[int, int, int], target: float, alpha: float, beta: float, integer_ns: bool
) -> None:
    """Move a value towards its target, at rate `alpha` if the target is lower, else at rate `beta`.

    The arithmetic is in double precision. With `integer_ns`, target and result are truncated to whole ns.
    """
    value = float(table[at])
    delta = (np.trunc(target) if integer_ns else target) - value
    moved = value + (alpha if delta < 0 else beta) * delta
    table[at] = np.trunc(moved) if integer_ns else moved


def index_of(port: Ints, requests: Columns) -> Ints:
    """The index of each request's port among its candidates."""
    offsets = requests["offsets"].astype(np.int64)
    wanted = np.repeat(port, np.diff(offsets))
    return np.flatnonzero(requests["candidate_port"] == wanted) - offsets[:-1]


def play(simulation: Simulation, agent: Any, cycles: int) -> None:
    """Let `agent` make every decision for `cycles` cycles.

    Its `learn` takes the feedback of neighbours. Its `decide` answers requests by the index of a candidate, the
    estimate for the upstream router in ns (below 0: none), and the row of this estimate there.
    """
    for _ in range(cycles):
        count = simulation.collect()
        agent.learn(simulation.feedback())  # first, so that the decisions of the same cycle use it
        if count:
            simulation.apply(*agent.decide(simulation.requests()))
        else:
            simulation.apply()
