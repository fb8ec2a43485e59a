"""Q-routing (Boyan & Littman, NIPS 1993) with a bound on hops: the whole algorithm in NumPy, to be read.

Every router keeps an estimated time to each destination router through each port. It sends a packet through the port
with the least estimate, and learns from the next router's least estimate. The core's `q_routing` is a faster version of
the same algorithm; both give the same bits (`tests/agents/test_tabular.py`).

| | paper | here |
|---|---|---|
| paths | of any length | the table decides the first `max_hops` hops; minimal hops follow, which avoids deadlock |
| learning rates | one (0.5) | `alpha` if the path was faster than estimated, `beta` if slower; equal by default |
| choice | the least | the least, if its relative gain over the minimal port is at least `q_thld1` (0 by default) |
| ties | any | the minimal port, then the lowest |
| exploration | none | a random port with probability `epsilon`; none by default |
| table | real numbers | whole ns, truncated, as in the Q-adaptive authors' comparison, unless `integer_ns=False` |
| first values | any | latencies of links only, as in that comparison; queues and switches are left out |

See docs/agents/q_adaptive.md for results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError, Simulation
from .draws import below, route_draw, unit
from .tabular import GLOBAL, TERMINAL, Columns, Ints, Wires, hysteretic_update, index_of


class QRouting:
    """One agent for all routers, on any topology.

    Args:
        simulation: its routing is `QRouting.routing(max_hops)`.
        seed: of the exploration. If it is the simulation's seed, results equal the core's bit for bit.
        alpha: learning rate if the path was faster than estimated.
        beta: learning rate if the path was slower than estimated.
        epsilon: probability of a random port where the table is consulted.
        q_thld1: another port than the minimal one is taken if its relative gain is at least this.
        max_hops: routers that a packet reaches in fewer hops consult the table.
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
                "QRouting: it does not notice links that fail in the run (failures.events); use routing=q_routing"
            )
        self.simulation, self.seed, self.wires = simulation, seed, Wires.of(simulation)
        self.alpha, self.beta, self.max_hops, self.integer_ns = alpha, beta, max_hops, integer_ns
        # The core compares in double precision. NumPy would round a Python number to the float32 of an array.
        self.epsilon, self.q_thld1 = np.float64(epsilon), np.float64(q_thld1)
        self.table = self.first_table(simulation.facts())

    @staticmethod
    def routing(max_hops: int = 2) -> dict[str, Any]:
        """The `routing` section of the simulation."""
        return {"name": "external", "relation": "q_routing", "max_hops": max_hops, "feedback": True}

    def first_table(self, facts: dict[str, Any]) -> NDArray[np.float32]:
        """[routers, destination routers, ports] ns."""
        w = self.wires
        kind, peer = w.column_kind, w.column_peer
        latency = np.array([facts["link_latency_ns"][name] for name in ("terminal", "local", "global")] + [np.inf])
        if facts["damaged"] or facts["topology"] not in ("dragonfly", "hyperx"):
            table = self.hop_times()
        elif facts["topology"] == "dragonfly":
            # The authors' first values: the time of a minimal path to another group, or of two local hops within the
            # own group.
            _, local, far, _ = latency.astype(np.float32)
            within = np.where(kind == GLOBAL, 2 * far, 2 * local)
            own = w.group[:, None] == w.group
            table = np.where(own[:, :, None], within[:, None], far + 2 * local)
        else:
            # The first link, and the fastest path from its far end (by Floyd and Warshall).
            path = np.where(np.eye(facts["routers"], dtype=bool), 0.0, np.inf)
            for router, column in np.argwhere(peer >= 0):
                path[router, peer[router, column]] = latency[kind[router, column]]
            for middle in range(facts["routers"]):
                path = np.minimum(path, path[:, middle, None] + path[middle])
            table = np.swapaxes(latency[kind][:, :, None] + path[peer], 1, 2)
        return np.where(peer[:, None] < 0, np.inf, table).astype(np.float32)

    def hop_times(self) -> NDArray[np.float32]:
        """[routers, destination routers, ports] ns: a hop, then the fastest of the paths with the fewest hops."""
        w = self.wires
        own = np.eye(len(w.column_peer), dtype=bool)
        # [router, destination]; no path reaches a failed router.
        hops, times = np.where(own, 0, -1), np.where(own, np.float32(0), np.finfo(np.float32).max)
        links = [
            (router, w.column_peer[router, c], w.column_hop_ns[router, c])
            for router, c in np.argwhere(w.column_peer >= 0)
        ]
        done = 0
        while (hops == done).any():
            # Times to all routers within `done` hops are known; this step adds one hop.
            reached, known = times.copy(), hops.copy()
            for router, peer, ns in links:
                on_path = (known[peer] == done) & (known[router] < 0)
                times[router, on_path] = np.minimum(times[router], ns + reached[peer])[on_path]
                hops[router, on_path] = done + 1
            done += 1
        return np.swapaxes(w.column_hop_ns[:, :, None] + times[w.column_peer], 1, 2)

    def learn(self, feedback: Columns) -> None:
        """Learn from a packet's next router: the time of the hop plus that router's least estimate."""
        columns = (feedback[name].tolist() for name in ("router", "row", "port", "target"))
        for router, row, port, target in zip(*columns, strict=True):
            at = (router, row, port - self.wires.first_link[router])
            hysteretic_update(self.table, at, target, self.alpha, self.beta, self.integer_ns)

    def decide(self, requests: Columns) -> tuple[Ints, NDArray[np.float32], Ints]:
        """Ports for the packets of a cycle, and the feedback to the routers that they came from."""
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

        # Feedback to the previous router: the least estimate from here. A packet from a terminal causes none.
        values = np.where(at_source, np.float32(-1), np.where(router == to, np.float32(0), least))
        return index_of(port, requests), values, to
