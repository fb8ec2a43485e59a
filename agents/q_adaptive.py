"""Q-adaptive (Kang, Wang, Lan, HPDC 2021): the whole algorithm in NumPy, to be read from top to bottom.

Every router of a Dragonfly keeps a two-level table of estimated times, which it learns from the feedback of its
neighbours. Tables make at most two decisions per packet: at its source router (level 1), and at the first router of an
intermediate group (level 2). The core's `q_adaptive` is a faster version of the same algorithm;
both give the same bits (`tests/agents/test_tabular.py`).

The reference is the authors' code (SPEAR-IIT/sst-elements, merlin/topology/dragonfly.cc). It differs from plain
Q-learning, and this file follows it:

| | plain Q-learning | here, as in the authors' code |
|---|---|---|
| learning rates | one | alpha 0.2 if the path was faster than estimated, beta 0.04 if slower |
| table | real numbers | whole ns: targets and values are truncated, unless `integer_ns=False` |
| first values | any | latencies of links only: global, or global + local; queues and switches are left out |
| estimate sent back | the least | the least of the row, even if the packet takes another port |
| in the destination's group | learns, too | the estimate is 0, and only a global hop causes feedback |
| choice | the least | the minimal port, unless another beats it by a threshold; level 2 tries one random port |
| exploration | at every decision | a random port, where level 1 or level 2 decides |

See docs/agents/q_adaptive.md for results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError, Simulation
from .draws import below, route_draw, unit
from .tabular import GLOBAL, LOCAL, TERMINAL, Columns, Ints, Wires, hysteretic_update, index_of


class QAdaptive:
    """One agent for all routers.

    Args:
        simulation: a Dragonfly with `QAdaptive.ROUTING`.
        seed: of the exploration and of the random local port. With the simulation's seed, results equal the core's bit
            for bit.
        alpha: learning rate of good news (the path was faster than estimated).
        beta: learning rate of bad news.
        epsilon: probability of a random port, where level 1 or level 2 decides.
        q_thld1: the source router keeps the minimal port if the relative gain of the best port is below this number.
        q_thld2: the first router of an intermediate group keeps the minimal port if the relative gain of a random local
            port is below this number.
        integer_ns: truncate estimates to whole ns.
    """

    ROUTING = {"name": "external", "relation": "q_adaptive", "feedback": True}  # noqa: RUF012

    def __init__(
        self,
        simulation: Simulation,
        seed: int,
        *,
        alpha: float = 0.2,
        beta: float = 0.04,
        epsilon: float = 0.001,
        q_thld1: float = 0.2,
        q_thld2: float = 0.35,
        integer_ns: bool = True,
    ) -> None:
        facts = simulation.facts()
        if facts["topology"] != "dragonfly":
            raise ConfigError(
                f"QAdaptive: its table has a row per group and source slot; "
                f"use a dragonfly instead of {facts['topology']}"
            )
        self.simulation, self.seed, self.wires = simulation, seed, Wires.of(simulation)
        # In a Dragonfly, the links of a router follow its terminal ports. A terminal port may have no terminal.
        self.slots = int(self.wires.first_link[0])
        self.alpha, self.beta, self.integer_ns = alpha, beta, integer_ns
        # The core compares in double precision. NumPy would round a Python number to the float32 of an array.
        self.epsilon, self.q_thld1, self.q_thld2 = np.float64(epsilon), np.float64(q_thld1), np.float64(q_thld2)
        self.table = self.first_table(facts)

    def first_table(self, facts: dict[str, Any]) -> NDArray[np.float32]:
        """[routers, rows, ports] ns: a global link, plus a local link unless the port leads directly to the group."""
        w, p = self.wires, self.slots
        local, far = (np.float32(facts["link_latency_ns"][kind]) for kind in ("local", "global"))
        routers = np.arange(facts["routers"])
        table = np.empty((facts["routers"], (facts["groups"] - 1) * p, facts["link_span"]), np.float32)
        for row in range(table.shape[1]):
            to_group = row // p + (row // p >= w.group[routers])
            direct = (w.column_kind == GLOBAL) & (w.group[w.column_peer] == to_group[:, None])
            table[:, row] = np.where(direct, far, far + local)
        table[np.broadcast_to(w.column_peer[:, None] < 0, table.shape)] = np.inf  # no link there
        return table

    def row(self, group: Ints, to_group: Ints, source: Ints) -> Ints:
        """The packet's row in the table of a router of `group`, by destination group and source slot."""
        d = to_group - (to_group > group)
        return np.where(group != to_group, d * self.slots + self.wires.terminal_port[source], 0)

    def learn(self, feedback: Columns) -> None:
        """Learn from a packet's next router: the time of the hop plus that router's least estimate."""
        columns = (feedback[name].tolist() for name in ("router", "row", "port", "target"))
        for router, row, port, target in zip(*columns, strict=True):
            at = (router, row, port - self.slots)
            hysteretic_update(self.table, at, target, self.alpha, self.beta, self.integer_ns)

    def decide(self, requests: Columns) -> tuple[Ints, NDArray[np.float32], Ints]:
        """Ports for the packets of a cycle, and the feedback to the routers that they came from."""
        w, p = self.wires, self.slots
        router, in_port, source = (requests[name].astype(np.int64) for name in ("router", "in_port", "source"))
        hops, n = requests["hops"], np.arange(len(router))
        group, to_group = w.group[router], w.group[w.terminal_router[requests["destination"]]]
        came_by, away = w.kind[router, in_port], group != to_group

        def random(k: int) -> NDArray[np.uint64]:
            return route_draw(self.seed, source, requests["sequence"], hops, k)

        # The minimal port, and the packet's row of the table. The row has no meaning in the destination's group.
        minimal = requests["candidate_port"][requests["offsets"][:-1]].astype(np.int64)
        q = self.table[router, self.row(group, to_group, source)]
        least, q_minimal = q.min(axis=1), q[n, np.maximum(minimal - p, 0)]
        port = minimal.copy()

        with np.errstate(divide="ignore", invalid="ignore"):
            # Level 1, the source router: the best port, if it beats the minimal one by the threshold.
            at_source = away & (came_by == TERMINAL)
            gain = (q_minimal - least) / q_minimal
            leave = at_source & (q_minimal > least) & ~(gain < self.q_thld1)
            port[leave] = p + q.argmin(axis=1)[leave]

            # Level 2, the first router of an intermediate group, for a packet that has made one hop and whose minimal
            # port is local. A random local port is taken if it beats the minimal one by the threshold.
            local_ports = int((w.kind[0] == LOCAL).sum())
            entered = away & (came_by == GLOBAL) & (hops == 1) & (w.kind[router, minimal] == LOCAL)
            if entered.any():
                detour = p + below(random(2), local_ports)
                gain = (q_minimal - q[n, detour - p]) / q_minimal
                turn = entered & ~(gain < self.q_thld2)
                port[turn] = detour[turn]

        # Exploration, where level 1 or level 2 decides.
        if self.epsilon > 0 and not self.simulation.q_frozen:
            explore = (at_source | entered) & (unit(random(0)) < self.epsilon)
            port[explore] = p + w.used[router, below(random(1), w.degree[router])][explore]

        # Feedback to the previous router, for its row of the packet: the least estimate, whichever port is taken. No
        # feedback goes to terminals, or over local links of the destination's group.
        arrived = np.where(came_by == GLOBAL, np.float32(0), np.float32(-1))
        values = np.where(away, np.where(came_by == TERMINAL, np.float32(-1), least), arrived)
        rows = self.row(w.group[w.peer[router, in_port]], to_group, source)
        return index_of(port, requests), values, rows
