"""What the two tabular agents share: the wires of the network, a table's update, and the cycle in which they play.

They decide in the place of the core's routers through `routing={"name": "external", "feedback": True, ...}`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..simcore import Simulation

TERMINAL, LOCAL, GLOBAL, UNUSED = 0, 1, 2, 3  # kinds of ports

Ints = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Wires:
    """Who is joined to whom. Ports are router-local; a router's first ones lead to its terminals.

    Args:
        first_port: the first port that leads to another router.
        kind: [routers, ports] `TERMINAL`, `LOCAL`, `GLOBAL` or `UNUSED`.
        peer: [routers, ports] the router at the other end, -1 for a terminal.
        used: [routers, columns] the columns (port - first_port) with a link, in order; 0 behind them.
        degree: [routers] their number.
        terminal_router: [terminals] the router of each terminal.
        terminal_port: [terminals] and its port there.
        group: [routers] Dragonfly: the group of each router.
    """

    first_port: int
    kind: Ints
    peer: Ints
    used: Ints
    degree: Ints
    terminal_router: Ints
    terminal_port: Ints
    group: Ints

    @classmethod
    def of(cls, simulation: Simulation) -> Wires:
        """The wires of a simulation."""
        facts, channels = simulation.facts(), simulation.channels()
        routers, radix = facts["routers"], facts["radix"]
        router, port = channels["router"].astype(np.int64), channels["port"].astype(np.int64)
        kind, peer = np.full((routers, radix), UNUSED, np.int64), np.full((routers, radix), -1, np.int64)
        kind[router, port], peer[router, port] = channels["kind"], channels["peer_router"]
        to_terminal = channels["kind"] == TERMINAL
        first_port = int(port[to_terminal].max()) + 1
        links = kind[:, first_port:] != UNUSED
        return cls(
            first_port,
            kind,
            peer,
            np.argsort(~links, axis=1, kind="stable") * np.sort(links, axis=1)[:, ::-1],
            links.sum(axis=1),
            router[to_terminal],
            port[to_terminal],
            np.arange(routers) * facts["groups"] // routers,
        )


def hysteretic_update(
    table: NDArray[np.float32], at: tuple[int, int, int], target: float, alpha: float, beta: float, integer_ns: bool
) -> None:
    """Move one value towards its target: at rate `alpha` if that is good news (less time), else at rate `beta`.

    The arithmetic is in double precision. With `integer_ns`, target and result lose what is behind the point.
    """
    value = float(table[at])
    delta = (np.trunc(target) if integer_ns else target) - value
    moved = value + (alpha if delta < 0 else beta) * delta
    table[at] = np.trunc(moved) if integer_ns else moved


def index_of(port: Ints, requests: Columns) -> Ints:
    """Where each request's port stands among its candidates."""
    offsets = requests["offsets"].astype(np.int64)
    wanted = np.repeat(port, np.diff(offsets))
    return np.flatnonzero(requests["candidate_port"] == wanted) - offsets[:-1]


class Agent(Protocol):
    """What plays: it hears what came back, then answers the requests of the cycle."""

    def learn(self, feedback: Columns) -> None:
        """Take in what neighbours reported: router, port, row, target (ns)."""

    def decide(self, requests: Columns) -> tuple[Ints, NDArray[np.float32], Ints]:
        """A candidate's index, the estimate that goes back upstream (< 0: none), and the row there, per request."""


def play(
    simulation: Simulation, agent: Agent, cycles: int, tick: Callable[[int], object] = lambda cycles: None
) -> None:
    """Let `agent` make every decision for a number of cycles; `tick(n)` is called now and then, n cycles later."""
    for cycle in range(1, cycles + 1):
        count = simulation.collect()
        agent.learn(simulation.feedback())  # news first: the decisions of the same cycle already know it
        if count:
            simulation.apply(*agent.decide(simulation.requests()))
        else:
            simulation.apply()
        if cycle % 64 == 0 or cycle == cycles:
            tick((cycle - 1) % 64 + 1)
