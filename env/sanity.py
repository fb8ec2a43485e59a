"""Small networks with a known best policy. A good agent solves them in seconds.

    world = SANITY["delayed_congestion"]
    world.evaluate(choose)                               # mean latency in ns of a rule outside the core
    world.evaluate_routing({"name": "policy", ...})      # mean latency of a routing inside the core
    assert world.evaluate(choose) < world.solved_below_ns

A rule that ignores its observation cannot solve all three worlds: slot 0 is wrong in the first two and right in the
third. The rule that takes the shortest queue cannot either: it is right in the first world and wrong in the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import Simulation, SimulationBatch
from .experience.world import World
from .packet_options import OBSERVATION, Choose

SLOTS = 8
# Sizes of the default observation, which these rules use.
_GENERAL, _PER_SLOT, _QUEUE = 8, 7, 0


def minimal(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Always slot 0."""
    return np.zeros(len(observation), np.int64)


def detour(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Always slot 1, which every decision has."""
    return np.ones(len(observation), np.int64)


def shortest_queue(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The slot with the fewest flits ahead (`queues.link`); ties go to the lowest slot."""
    queue = observation[:, _GENERAL:].reshape(len(observation), SLOTS, _PER_SLOT)[:, :, _QUEUE]
    return np.asarray(np.where(mask, queue, np.inf).argmin(axis=1), np.int64)


def at_random(seed: int = 1) -> Choose:
    """A random slot with a candidate, all equally likely."""
    random = np.random.default_rng(seed)

    def choose(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.asarray(random.random(len(mask)) * mask.sum(axis=1), np.int64)

    return choose


@dataclass(frozen=True)
class SanityWorld:
    """A network with a known best policy.

    Args:
        world: the network and its traffic; play it with `relation=widest`, 8 slots and any observation.
        why: the reason why the best policy is best.
        best: the best policy.
        best_ns: its measured mean packet latency (`evaluate`, seed 1).
        solved_below_ns: a policy with a lower mean latency has solved the world.
        warmup_ns: simulated time before measuring.
        measure_ns: simulated time in which packets are counted.
    """

    world: World
    why: str
    best: Choose
    best_ns: float
    solved_below_ns: float
    warmup_ns: float = 5_000.0
    measure_ns: float = 60000.0

    def evaluate(self, choose: Choose, seed: int = 1) -> float:
        """The mean packet latency in ns if `choose(observation [n, 64], mask [n, 8])` decides."""
        simulation = self.world.simulation({"name": "agent", "slots": SLOTS, "observation": OBSERVATION}, seed)
        return self.latency(simulation, choose)

    def evaluate_routing(self, routing: str | Mapping[str, Any], seed: int = 1) -> float:
        """The mean packet latency in ns of a routing inside the core: a section `routing`, or its name."""
        return self.latency(self.world.simulation(routing, seed))

    def latency(self, simulation: Simulation, choose: Choose | None = None) -> float:
        """The mean latency in ns, from acceptance by the NIC, of the packets that arrive in the window.

        Args:
            simulation: of this world; it runs for `warmup_ns`, then for `measure_ns`.
            choose: the rule that decides, if the routing is `agent`.
        """
        batch = SimulationBatch([simulation]) if choose else None
        for span, window in ((self.warmup_ns, False), (self.measure_ns, True)):
            if window:
                simulation.begin_window()
            end = simulation.now + simulation.cycles(span)
            if batch is None or choose is None:
                simulation.run(end - simulation.now)
                continue
            rows, masks = batch.observation, batch.mask
            while simulation.now < end:
                if n := batch.collect(end - simulation.now):
                    batch.apply(choose(rows[:n], masks[:n]))
        return float(simulation.statistics()["packet_latency_mean_ns"])


# A host has a quarter of a link's bandwidth, so a link carries the traffic of four hosts. The crossbar is four times
# faster than a link. So packets wait in deep output queues after the decision that caused the wait, and not before it.
_ROUTER = {
    "name": "vc_router",
    "cycle_ns": 1.0,
    "link_bandwidth_gb_per_s_host": 8.0,
    "link_bandwidth_gb_per_s_local": 32.0,
    "link_bandwidth_gb_per_s_global": 32.0,
    "crossbar_bandwidth_gb_per_s": 128.0,
    "output_buffer_flits": 64,
    "latency_from": "nic",
    "source_backlog": "lost",
}


def _flows(flows: list[tuple[int, int, int]], terminals: int, load: float) -> dict[str, Any]:
    """Traffic of (number of terminals, source router, destination router).

    A terminal sends and receives in at most one flow.
    """
    sources: list[int] = []
    destinations: list[int] = []
    for count, source, destination in flows:
        for router, taken in ((source, sources), (destination, destinations)):
            first = router * terminals + sum(terminal // terminals == router for terminal in taken)
            taken += range(first, first + count)
    return {"name": "flows", "sources": sources, "destinations": destinations, "load": load}


def _square(flows: list[tuple[int, int, int]], load: float = 0.9, **router: Any) -> World:
    """Four routers in a square, 0 and 1 above 2 and 3, with the links 0-1 and 2-3 (x), 0-2 and 1-3 (y).

    Two paths of two hops lead from 0 to 3: through 1 (slot 0) and through 2 (slot 1). Neighbours have only one path.
    """
    topology = {"name": "hyperx", "widths": [2, 2], "terminals_per_router": 8}
    return World({"topology": topology, "router": {**_ROUTER, **router}, "traffic": _flows(flows, 8, load)})


SANITY: dict[str, SanityWorld] = {
    "two_paths": SanityWorld(
        _square([(4, 0, 1), (1, 0, 3)]),
        why=(
            "Four terminals of router 0 send to router 1 and fill 0.9 of the link between them, their only path. One "
            "terminal sends from 0 to 3. Through 1 it would bring that link to 1.125 of its capacity. The path through "
            "2 is as long, and no other packet uses it. So through 2 (slot 1) no packet delays another, and no policy "
            "can be better."
        ),
        best=detour,
        best_ns=93.4,
        solved_below_ns=115.0,
    ),
    "delayed_congestion": SanityWorld(
        # Four VCs per class. With one VC per class, packets after their first hop would get half of the second link.
        _square([(1, 0, 2), (4, 1, 3), (3, 0, 3)], load=0.8, vcs=16),
        why=(
            "Four terminals of router 1 fill the link 1-3 to 0.8, and one of router 0 fills the link 0-2 to 0.2; they "
            "have no other path. Three terminals send from 0 to 3. At router 0 the link to 1 is empty, and the link to "
            "2 is in use. But through 1 they would overload 1-3, which router 0 does not see. Through 2 they bring "
            "0-2 to 0.8, and no other packet uses 2-3. So slot 1 is best, and only feedback shows it: the reward, or "
            "`q_values`."
        ),
        best=detour,
        best_ns=53.9,
        solved_below_ns=80.0,
    ),
    "long_wire": SanityWorld(
        World(
            {
                "topology": {"name": "hyperx", "widths": [3], "terminals_per_router": 4},
                "router": {**_ROUTER, "link_latency_ns_local": 300.0, "input_buffer_flits": 1024},
                "traffic": _flows([(4, 0, 1)], 4, 0.6),
            }
        ),
        why=(
            "Four terminals of router 0 send to router 1 over a wire of 300 ns, which they fill to 0.6. Flits on the "
            "wire and credits on their way back count as queued, as in any router with credits. So some 90 flits seem "
            "to be ahead although none waits, and the path through router 2 looks empty. That path is two such wires "
            "long. Waiting at load 0.6 costs some ns, so slot 0 is best."
        ),
        best=minimal,
        best_ns=319.2,
        solved_below_ns=340.0,
    ),
}
