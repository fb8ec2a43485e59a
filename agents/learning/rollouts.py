"""Several networks whose routers follow the policy that is being learned, and the transitions that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...env.experience.ring import Ring, Rows
from ...env.experience.seeds import training_seed
from ...env.experience.world import Mixture, World
from ...simcore import ConfigError, Simulation
from ..networks import Layers
from . import stored

# Hyperparameters of an agent that are parameters of `routing=policy`: what the routers see and are paid.
SEEN = ("network", "hidden", "observation", "reward", "toll", "slots", "slots_by")


class Rollouts:
    """K simulations of a world, each in an episode of its own. The routers decide inside the core (`routing=policy`).

    An episode begins with an empty network and ends after `episode_ns`; the first ones are cut differently long, so
    that the networks do not all begin anew at once.

    Of a mixture the networks take the worlds in turn, and so do the episodes of each network if it has more worlds than
    there are networks.

    Args:
        world: where the episodes are drawn from.
        routing: parameters of `routing=policy` (network, hidden, observation, reward, slots ...).
        networks: K.
        episode_ns: length of an episode.
        capacity: transitions kept of each network.
        record_part: part of the packets whose decisions are kept.
        seed: of the first episode; each episode has the next.
        tail_ns: how long an episode is carried on behind its end for the sake of what was decided before. Without it
            the decisions that are open at the end are lost, and those are the slow ones.
    """

    def __init__(
        self,
        world: World | Mixture,
        routing: Mapping[str, Any],
        *,
        networks: int,
        episode_ns: float,
        capacity: int,
        record_part: float,
        seed: int,
        tail_ns: float = 0.0,
    ) -> None:
        self.mixture = world if isinstance(world, Mixture) else Mixture.alone(world)
        self.episode_ns, self.capacity, self.tail_ns = episode_ns, capacity, tail_ns
        self.routing = {**routing, "name": "policy", "record": capacity, "record_part": record_part}
        self.next_seed, self.decisions = seed, 0
        self.seeds = [0] * networks
        self.ends_ns = [0.0] * networks
        self.members = [(k - networks) % len(self.mixture.worlds) for k in range(networks)]  # of the mixture
        self.simulations: list[Simulation] = []
        self.rings: list[Ring] = []
        self.late: list[dict[str, Tensor]] = []  # of episodes that are over, not taken yet
        for k in range(networks):
            simulation = self._begin(k, (k + 1) / networks)
            self.simulations.append(simulation)
            self.rings.append(Ring(simulation))
        self.seam = self.simulations[0].seam()

    @classmethod
    def of(cls, config: Any, routing: Mapping[str, Any], world: World | Mixture, seed: int) -> Rollouts:
        """As the hyperparameters of an agent say; `seed` is that of the training."""
        return cls(
            world,
            routing,
            networks=config.networks,
            episode_ns=config.episode_ns,
            capacity=config.capacity,
            record_part=config.record_part,
            seed=training_seed(seed),
            tail_ns=config.tail_ns,
        )

    def _begin(self, k: int, part: float = 1.0) -> Simulation:
        self.members[k] = (self.members[k] + len(self.members)) % len(self.mixture.worlds)
        self.seeds[k], self.ends_ns[k] = self.next_seed, self.episode_ns * self._scale(k) * part
        self.next_seed += 1
        return self.mixture.worlds[self.members[k]].simulation(self.routing, self.seeds[k])

    def _scale(self, k: int) -> float:
        """Times of network k over the agent's."""
        own = self.mixture.episode_ns[self.members[k]]
        return 1.0 if own is None else own / self.episode_ns

    def run(self, ns: float, layers: Layers, *, epsilon: float = 0.0, temperature: float = 0.0) -> dict[str, float]:
        """Let every network run for `ns` under these weights (times its world's scale, see `Mixture`).

        Returns:
            `latency_ns`: mean over the packets delivered; `throughput`: flits that arrived of those offered (in a short
            window it may pass 1);
            `decisions`: made in all. NaN where nothing was delivered.
        """
        delivered = latency = accepted = offered = 0.0
        for k, simulation in enumerate(self.simulations):
            if simulation.time_ns >= self.ends_ns[k] or simulation.workload_finished:
                self._carry_on(k, ns)
                simulation = self.simulations[k] = self._begin(k)
                self.rings[k] = Ring(simulation)
            simulation.set_policy(layers)
            simulation.epsilon, simulation.temperature = epsilon, temperature
            made = simulation.decision_count
            simulation.begin_window()
            simulation.run_ns(ns * self._scale(k))
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

    def _carry_on(self, k: int, step_ns: float) -> None:
        """Let an episode that is over run on, and keep what comes back of the decisions made before its end."""
        simulation = self.simulations[k]
        if self.tail_ns <= 0 or simulation.workload_finished:
            return
        end = simulation.now
        stop_ns = simulation.time_ns + self.tail_ns
        while simulation.time_ns < stop_ns:
            simulation.run_ns(min(step_ns, self.tail_ns))
            rows = self._read(k, (*_TAKEN, "decided"))
            early = rows.pop("decided") < end
            if early.any():
                part = {name: column[early] for name, column in rows.items()}
                self.late.append(_labelled(part, len(self.rings) + k))

    def no_rows(self) -> dict[str, Tensor]:
        """What `take` returns, without any row: names, types and shapes."""
        nothing = np.empty(0, np.int64)
        return _labelled(self.rings[0].pick(nothing, _TAKEN), 0)

    def sample(self, count: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Transitions at random, as many from each network however few it has; from those it still keeps.

        Returns:
            `observation`, `next_observation` [n, width], `mask`, `next_mask` [n, slots], `action`, `reward`, `done`,
            `log_probability` [n]; n is `count`, or less while some network has no transition yet; empty if none has.
        """
        parts = []
        share = -(-count // len(self.rings))
        for ring in self.rings:
            kept = ring.kept
            if kept:
                numbers = kept.start + torch.randint(len(kept), (share,), generator=generator)
                parts.append(_tensors(ring.pick(numbers.numpy(), _SAMPLED)))
        return {name: column[:count] for name, column in _joined(parts).items()}

    def take(self) -> dict[str, Tensor]:
        """The transitions filed since the last call, in order, network by network; `network` [n] says of which.

        Those of episodes that are over have numbers of their own, behind the networks'.

        Raises:
            ConfigError: more were filed than the ring holds.
        """
        parts, self.late = self.late, []
        for k in range(len(self.rings)):
            rows = self._read(k, _TAKEN)
            if len(rows["action"]):
                parts.append(_labelled(rows, k))
        return _joined(parts)

    def _read(self, k: int, names: tuple[str, ...]) -> Rows:
        try:
            return self.rings[k].take(names)
        except ConfigError as error:
            raise ConfigError(f"{error} (agent.capacity), or run less: agent.run_ns, agent.record_part") from None

    def state(self) -> dict[str, Any]:
        """Everything needed to continue in the same way: tensors, numbers and lists."""
        snapshots = [torch.from_numpy(np.frombuffer(s.snapshot(), dtype=np.uint8).copy()) for s in self.simulations]
        return {"snapshots": snapshots, **self._counts()}

    def _counts(self) -> dict[str, Any]:
        return {
            "seeds": list(self.seeds),
            "ends_ns": list(self.ends_ns),
            "members": list(self.members),
            "read": [ring.read for ring in self.rings],
            "next_seed": self.next_seed,
            "decisions": self.decisions,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state()`.

        Raises:
            ConfigError: it is of another world or another number of networks, or damaged.
        """
        where, snapshot = "agent.rollouts", torch.empty(0, dtype=torch.uint8)
        own = {"snapshots": [snapshot] * len(self.simulations), **self._counts()}
        given = stored.checked(state, where, own)
        worlds, seeds, members = self.mixture.worlds, given["seeds"], given["members"]
        simulations, rings = [], []
        for k, member in enumerate(members):
            stored.whole(member, f"{where}.members.{k}", 0, len(worlds) - 1)
            simulation = worlds[member].simulation(self.routing, seeds[k])
            simulation.restore(given["snapshots"][k].numpy().tobytes())
            ring = Ring(simulation)
            ring.read = stored.whole(given["read"][k], f"{where}.read.{k}", 0, simulation.transition_count)
            simulations.append(simulation)
            rings.append(ring)
        self.next_seed, self.decisions = given["next_seed"], given["decisions"]
        self.simulations, self.rings, self.members = simulations, rings, members
        self.seeds, self.ends_ns = seeds, given["ends_ns"]


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


_TAKEN = (*_SAMPLED, "decision", "next_decision")


def _tensors(rows: Rows) -> dict[str, Tensor]:
    # Numbers of decisions are unsigned; torch has no such integers that it can compare. "None" becomes -1.
    signed = {name: column.view(np.int64) if column.dtype == np.uint64 else column for name, column in rows.items()}
    return {name: torch.from_numpy(column) for name, column in signed.items()}


def _labelled(rows: Rows, label: int) -> dict[str, Tensor]:
    part = _tensors(rows)
    part["network"] = torch.full((len(part["action"]),), label)
    return part


def _joined(parts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    if not parts:
        return {}
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
