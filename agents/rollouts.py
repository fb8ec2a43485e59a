"""Several networks whose routers follow the policy that is being learned, and the transitions that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..env.ring import Ring
from ..env.world import World
from ..simcore import ConfigError, Simulation
from .networks import Layers


class Rollouts:
    """K simulations of a world, each in an episode of its own. The routers decide inside the core (`routing=policy`).

    An episode begins with an empty network and ends after `episode_ns`; the first ones are cut differently long, so
    that the networks do not all begin anew at once.

    Args:
        world: where the episodes are drawn from.
        routing: parameters of `routing=policy` (network, hidden, observation, reward, slots ...).
        networks: K.
        episode_ns: length of an episode.
        capacity: transitions kept of each network.
        record_part: part of the packets whose decisions are kept.
        seed: of the first episode; each episode has the next.
    """

    def __init__(
        self,
        world: World,
        routing: Mapping[str, Any],
        *,
        networks: int,
        episode_ns: float,
        capacity: int,
        record_part: float,
        seed: int,
    ) -> None:
        self.world, self.episode_ns, self.capacity = world, episode_ns, capacity
        self.routing = {**routing, "name": "policy", "record": capacity, "record_part": record_part}
        self.next_seed, self.decisions = seed, 0
        self.seeds = [0] * networks
        self.ends_ns = [0.0] * networks
        self.simulations: list[Simulation] = []
        self.rings: list[Ring] = []
        for k in range(networks):
            simulation = self._begin(k, episode_ns * (k + 1) / networks)
            self.simulations.append(simulation)
            self.rings.append(Ring(simulation))
        self.seam = self.simulations[0].seam()

    @classmethod
    def of(cls, config: Any, routing: Mapping[str, Any], world: World, seed: int) -> Rollouts:
        """As the hyperparameters of an agent say; `seed` is that of the training.

        The episodes of one training never have the seeds of another's.
        """
        return cls(
            world,
            routing,
            networks=config.networks,
            episode_ns=config.episode_ns,
            capacity=config.capacity,
            record_part=config.record_part,
            seed=1_000_000 * (seed + 1),
        )

    def _begin(self, k: int, length_ns: float) -> Simulation:
        self.seeds[k], self.ends_ns[k] = self.next_seed, length_ns
        self.next_seed += 1
        return self.world.simulation(self.routing, self.seeds[k])

    def run(self, ns: float, layers: Layers, *, epsilon: float = 0.0, temperature: float = 0.0) -> dict[str, float]:
        """Let every network run for `ns` under these weights.

        Returns:
            `latency_ns`: mean over the packets delivered; `throughput`: flits that arrived of those offered (in a short
            window it may pass 1);
            `decisions`: made in all. NaN where nothing was delivered.
        """
        delivered = latency = accepted = offered = 0.0
        for k, simulation in enumerate(self.simulations):
            if simulation.time_ns >= self.ends_ns[k] or simulation.workload_finished:
                simulation = self.simulations[k] = self._begin(k, self.episode_ns)
                self.rings[k] = Ring(simulation)
            simulation.set_policy(layers)
            simulation.epsilon, simulation.temperature = epsilon, temperature
            made = simulation.decision_count
            simulation.begin_window()
            simulation.run_ns(ns)
            simulation.end_window()
            statistics = simulation.statistics()
            self.decisions += simulation.decision_count - made
            if statistics["packets_delivered"]:
                delivered += statistics["packets_delivered"]
                latency += statistics["packet_latency_mean_ns"] * statistics["packets_delivered"]
            accepted += statistics["accepted_load"]
            offered += statistics["offered_load"]
        return {
            "latency_ns": latency / delivered if delivered else float("nan"),
            "throughput": accepted / offered if offered else float("nan"),
            "decisions": float(self.decisions),
        }

    def sample(self, count: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Transitions at random, as many from each network; from those it still keeps.

        Returns:
            `observation`, `next_observation` [n, width], `mask`, `next_mask` [n, slots], `action`, `reward`, `done`,
            `log_probability` [n]; n is `count`, or less while some network has no transition yet; empty if none has.
        """
        parts = []
        for simulation in self.simulations:
            filed = simulation.transition_count
            kept = min(filed, self.capacity)
            if kept == 0:
                continue
            share = -(-count // len(self.simulations))
            rows = (filed - kept + torch.randint(kept, (share,), generator=generator)) % self.capacity
            parts.append(_columns(simulation, rows.numpy()))
        return {name: column[:count] for name, column in _joined(parts).items()}

    def take(self) -> dict[str, Tensor]:
        """The transitions filed since the last call, in order, network by network; `network` [n] says of which.

        Raises:
            ConfigError: more were filed than the ring holds.
        """
        parts = []
        for k, (simulation, ring) in enumerate(zip(self.simulations, self.rings, strict=True)):
            try:
                slices = ring.new()
            except ConfigError as error:
                raise ConfigError(f"{error} (agent.capacity), or run less: agent.run_ns, agent.record_part") from None
            for rows in slices:
                part = _columns(simulation, rows, ("decision", "next_decision"))
                part["network"] = torch.full((rows.stop - rows.start,), k)
                parts.append(part)
        return _joined(parts)

    def state(self) -> dict[str, Any]:
        """Everything needed to go on in the same way: tensors, numbers and lists."""
        return {
            "snapshots": [
                torch.from_numpy(np.frombuffer(s.snapshot(), dtype=np.uint8).copy()) for s in self.simulations
            ],
            "seeds": list(self.seeds),
            "ends_ns": list(self.ends_ns),
            "read": [ring.read for ring in self.rings],
            "next_seed": self.next_seed,
            "decisions": self.decisions,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()`.

        Raises:
            ConfigError: it is of another world or another number of networks.
        """
        if len(state["seeds"]) != len(self.simulations):
            raise ConfigError(f"checkpoint of {len(state['seeds'])} networks, there are {len(self.simulations)} now")
        for k, seed in enumerate(state["seeds"]):
            self.simulations[k] = self.world.simulation(self.routing, seed)
            self.simulations[k].restore(state["snapshots"][k].numpy().tobytes())
        self.rings = [Ring(simulation) for simulation in self.simulations]
        for ring, read in zip(self.rings, state["read"], strict=True):
            ring.read = read
        self.seeds, self.ends_ns = list(state["seeds"]), list(state["ends_ns"])
        self.next_seed, self.decisions = state["next_seed"], state["decisions"]


_SAMPLED = (
    "observation",
    "next_observation",
    "mask",
    "next_mask",
    "action",
    "reward",
    "done",
    "log_probability",
)


def _columns(simulation: Simulation, rows: NDArray[Any] | slice, more: tuple[str, ...] = ()) -> dict[str, Tensor]:
    ring = simulation.transitions()
    columns = {name: torch.from_numpy(ring[name][rows]) for name in _SAMPLED}
    # Numbers of decisions are unsigned; torch has no such integers that it can compare. "None" becomes -1.
    columns.update({name: torch.from_numpy(ring[name][rows].view(np.int64)) for name in more})
    return columns


def _joined(parts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    if not parts:
        return {}
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
