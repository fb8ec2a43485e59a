"""Q-routing (Boyan & Littman, NIPS 1993) with a bound on hops, to be read: the whole algorithm in NumPy.

Every router keeps an estimated time to each destination router by each port, sends a packet by the least, and learns
from what the next router says of its own. `simcore/src/routing/graph/q_routing.cpp` is the same algorithm, faster; both do
the same bit for bit (`tests/agents/test_tabular.py`).

| | paper | here |
|---|---|---|
| paths | any, of any length | the table decides for the first `max_hops` hops, then the path is minimal: no deadlock |
| rates | one (0.5) | `alpha` for good news, `beta` for bad news; equal by default |
| choice | the least | the least, unless it gains less than `q_thld1` over the minimal port (0: always the least) |
| ties | any | the minimal port, then the lowest |
| exploration | none | a random port with probability `epsilon`; none by default |
| table | real numbers | whole ns, truncated, as in the Q-adaptive authors' comparison (`integer_ns=False`: not) |
| first values | any | links alone, as in that comparison; queues and switches are left out |
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError, Simulation
from .draws import below, route_draw, unit
from .tabular import GLOBAL, TERMINAL, Columns, Ints, Wires, hysteretic_update, index_of


class QRouting:
    """The agent of all routers, on any topology.

    Args:
        simulation: one with `QRouting.routing(max_hops)`.
        seed: of the exploration; the simulation's, to do as the core does.
        alpha: learning rate of good news.
        beta: learning rate of bad news.
        epsilon: probability of a random port where the table is consulted.
        q_thld1: relative gain below which the minimal port is kept.
        max_hops: the table is consulted at routers reached by fewer hops.
        integer_ns: truncate estimates to whole ns.
    """

    def __init__(
        self,
        simulation: Simulation,
        seed: int,
        *,
        alpha: float = 0.5,
        beta: float = 0.5,
        epsilon: float = 0.0,
        q_thld1: float = 0.0,
        max_hops: int = 2,
        integer_ns: bool = True,
    ) -> None:
        if simulation.facts()["link_changes"]:
            raise ConfigError(
                "QRouting: links go down in the run (failures.events), which only the core's q_routing sees"
            )
        self.simulation, self.seed, self.wires = simulation, seed, Wires.of(simulation)
        self.alpha, self.beta, self.max_hops, self.integer_ns = alpha, beta, max_hops, integer_ns
        # In double precision, as the core compares: beside an array of float32 a Python number would be rounded to it.
        self.epsilon, self.q_thld1 = np.float64(epsilon), np.float64(q_thld1)
        self.table = self.first_table(simulation.facts())

    @staticmethod
    def routing(max_hops: int = 2) -> dict[str, Any]:
        """The `routing` section of a simulation in which it plays."""
        return {"name": "external", "relation": "q_routing", "max_hops": max_hops, "feedback": True}

    def first_table(self, facts: dict[str, Any]) -> NDArray[np.float32]:
        """[routers, destination routers, ports] ns."""
        w = self.wires
        kind, peer = w.column_kind, w.column_peer
        latency = np.array([facts["link_latency_ns"][name] for name in ("terminal", "local", "global")] + [np.inf])
        if facts["damaged"] or facts["topology"] not in ("dragonfly", "hyperx"):
            table = self.hop_times()
        elif facts["topology"] == "dragonfly":
            # The authors' first values: a minimal path to another group, two hops of the same kind within the own one.
            _, local, far, _ = latency.astype(np.float32)
            within = np.where(kind == GLOBAL, 2 * far, 2 * local)
            own = w.group[:, None] == w.group
            table = np.where(own[:, :, None], within[:, None], far + 2 * local)
        else:
            # The first link, and the shortest way from its far end (Floyd and Warshall's).
            way = np.where(np.eye(facts["routers"], dtype=bool), 0.0, np.inf)
            for router, column in np.argwhere(peer >= 0):
                way[router, peer[router, column]] = latency[kind[router, column]]
            for middle in range(facts["routers"]):
                way = np.minimum(way, way[:, middle, None] + way[middle])
            table = np.swapaxes(latency[kind][:, :, None] + way[peer], 1, 2)
        return np.where(peer[:, None] < 0, np.inf, table).astype(np.float32)

    def hop_times(self) -> NDArray[np.float32]:
        """[routers, destination routers, ports] ns: a hop, and from there the fastest of the ways of fewest hops."""
        w = self.wires
        own = np.eye(len(w.column_peer), dtype=bool)
        # [router, destination]; a router that has failed is never reached.
        hops, times = np.where(own, 0, -1), np.where(own, np.float32(0), np.finfo(np.float32).max)
        links = [
            (router, w.column_peer[router, c], w.column_hop_ns[router, c])
            for router, c in np.argwhere(w.column_peer >= 0)
        ]
        done = 0
        while (hops == done).any():
            # One hop more: what is nearer is known.
            reached, known = times.copy(), hops.copy()
            for router, peer, ns in links:
                on_way = (known[peer] == done) & (known[router] < 0)
                times[router, on_way] = np.minimum(times[router], ns + reached[peer])[on_way]
                hops[router, on_way] = done + 1
            done += 1
        return np.swapaxes(w.column_hop_ns[:, :, None] + times[w.column_peer], 1, 2)

    def learn(self, feedback: Columns) -> None:
        """What a packet's next router reported: the time of the hop, and its own least estimate from there."""
        columns = (feedback[name].tolist() for name in ("router", "row", "port", "target"))
        for router, row, port, target in zip(*columns, strict=True):
            at = (router, row, port - self.wires.first_link[router])
            hysteretic_update(self.table, at, target, self.alpha, self.beta, self.integer_ns)

    def decide(self, requests: Columns) -> tuple[Ints, NDArray[np.float32], Ints]:
        """Ports for the packets of a cycle, and what goes back to the routers they came from."""
        w = self.wires
        router, hops = requests["router"].astype(np.int64), requests["hops"]
        p = w.first_link[router]
        to = w.terminal_router[requests["destination"]]
        at_source = w.kind[router, requests["in_port"]] == TERMINAL

        def random(k: int) -> NDArray[np.uint64]:
            return route_draw(self.seed, requests["source"], requests["sequence"], hops, k)

        # The least of the row, if it beats the minimal port by the threshold; ties go to the lowest port.
        minimal = requests["candidate_port"][requests["offsets"][:-1]].astype(np.int64)
        q = self.table[router, to]
        least, q_minimal = q.min(axis=1), q[np.arange(len(router)), np.maximum(minimal - p, 0)]
        consulted = (router != to) & (hops < self.max_hops)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = (q_minimal - least) / q_minimal
        leave = consulted & (q_minimal > least) & ~(gain < self.q_thld1)
        port = np.where(leave, p + q.argmin(axis=1), minimal)

        # Exploration.
        if self.epsilon > 0 and not self.simulation.q_frozen:
            explore = consulted & (unit(random(0)) < self.epsilon)
            port[explore] = (p + w.used[router, below(random(1), w.degree[router])])[explore]

        # Back to where the packet came from: the least estimate from here; nothing to a terminal.
        values = np.where(at_source, np.float32(-1), np.where(router == to, np.float32(0), least))
        return index_of(port, requests), values, to
