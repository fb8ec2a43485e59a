"""Several simulated networks that follow the policy in training, and the transitions that they produce."""

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

# Hyperparameters of an agent that are parameters of `routing=policy`: observation and reward.
SEEN = ("network", "hidden", "observation", "reward", "toll", "slots", "slots_by")


class Means:
    """Means over the windows of several simulations."""

    def __init__(self) -> None:
        self._delivered = self._latency_ns = self._accepted = self._offered = 0.0

    def add(self, simulation: Simulation) -> None:
        """Add the window of a simulation, after `end_window()`."""
        statistics = simulation.statistics()
        if delivered := statistics["packets_delivered"]:
            self._delivered += delivered
            self._latency_ns += statistics["packet_latency_mean_ns"] * delivered
        self._accepted += statistics["accepted_load"]
        self._offered += statistics["offered_load"]

    def numbers(self) -> dict[str, float]:
        """The means.

        Returns:
            `latency_ns`: mean over the delivered packets, NaN if there are none; `throughput`: accepted over offered
            flits, which can exceed 1 in a short window.
        """
        return {
            "latency_ns": self._latency_ns / self._delivered if self._delivered else float("nan"),
            "throughput": self._accepted / self._offered if self._offered else float("nan"),
        }


class Rollouts:
    """K simulations of a world, each in its own episode. The routers decide inside the core (`routing=policy`).

    An episode begins with an empty network and ends after `episode_ns`. The first episodes have different lengths, so
    that the networks do not all restart at the same time.

    The first episodes of networks 0, 1, ... take worlds 0, 1, ... of the mixture. Each further episode of a network
    takes the K-th next world. After the last world comes the first one again.

    Args:
        config: hyperparameters of the agent: `networks` is K, `episode_ns` the length of an episode, `capacity` the
            number of transitions kept of each network, and `record_part` the fraction of the packets whose decisions
            are recorded. In `tail_ns` after the end of an episode, the rewards of earlier decisions still arrive. With
            0, decisions without a reward at the end are lost, and these are the slow ones.
        routing: parameters of `routing=policy` (network, hidden, observation, reward, slots ...).
        world: the source of episodes.
        seed: of the training. The first episode takes a seed that follows from it, each further one the next seed.
    """

    def __init__(self, config: Any, routing: Mapping[str, Any], world: World | Mixture, seed: int) -> None:
        self.mixture = world if isinstance(world, Mixture) else Mixture.alone(world)
        self.episode_ns, self.tail_ns = config.episode_ns, config.tail_ns
        self.routing = {**routing, "name": "policy", "record": config.capacity, "record_part": config.record_part}
        networks: int = config.networks
        self.next_seed, self.decisions = training_seed(seed), 0
        self.seeds = [0] * networks
        self.ends_ns = [0.0] * networks
        self.members = [(k - networks) % len(self.mixture.worlds) for k in range(networks)]  # worlds of the mixture
        self.simulations: list[Simulation] = []
        self.rings: list[Ring] = []
        self.late: list[dict[str, Tensor]] = []  # transitions of finished episodes, not taken yet
        for k in range(networks):
            simulation = self._begin(k, (k + 1) / networks)
            self.simulations.append(simulation)
            self.rings.append(Ring(simulation))
        self.seam = self.simulations[0].seam()

    def _begin(self, k: int, part: float = 1.0) -> Simulation:
        self.members[k] = (self.members[k] + len(self.members)) % len(self.mixture.worlds)
        self.seeds[k], self.ends_ns[k] = self.next_seed, self.episode_ns * self._scale(k) * part
        self.next_seed += 1
        return self.mixture.worlds[self.members[k]].simulation(self.routing, self.seeds[k])

    def _scale(self, k: int) -> float:
        """The episode length of network k's world, divided by the agent's."""
        own = self.mixture.episode_ns[self.members[k]]
        return 1.0 if own is None else own / self.episode_ns

    def run(self, ns: float, layers: Layers, *, epsilon: float = 0.0, temperature: float = 0.0) -> dict[str, float]:
        """Let every network run with these weights for `ns`, scaled by the episode length of its world (see `Mixture`).

        Returns:
            The numbers of `Means`, and `decisions`, the number of decisions so far.
        """
        means = Means()
        for k, simulation in enumerate(self.simulations):
            if simulation.time_ns >= self.ends_ns[k] or simulation.workload_finished:
                self._run_tail(k, ns)
                simulation = self.simulations[k] = self._begin(k)
                self.rings[k] = Ring(simulation)
            simulation.set_policy(layers)
            simulation.epsilon, simulation.temperature = epsilon, temperature
            made = simulation.decision_count
            simulation.begin_window()
            simulation.run_ns(ns * self._scale(k))
            simulation.end_window()
            means.add(simulation)
            self.decisions += simulation.decision_count - made
        return {**means.numbers(), "decisions": float(self.decisions)}

    def _run_tail(self, k: int, step_ns: float) -> None:
        """Continue a finished episode, and keep the transitions of the decisions made before its end."""
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

    def sample(self, count: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Random transitions from the rings, an equal number from each network.

        If `count` is not a multiple of the number of networks, randomly drawn networks give one more.

        Returns:
            `observation`, `next_observation` [n, width], `mask`, `next_mask` [n, slots], `action`, `reward`, `done`,
            `log_probability` [n]. n is `count`, or less while a network has no transition yet. Without any transition
            the result is empty.
        """
        parts = []
        least, rest = divmod(count, len(self.rings))
        filled = [k for k, ring in enumerate(self.rings) if ring.kept]
        more = {filled[i] for i in torch.randperm(len(filled), generator=generator)[:rest].tolist()} if rest else set()
        for k in filled:
            ring, kept, share = self.rings[k], self.rings[k].kept, least + (k in more)
            if share:
                numbers = kept.start + torch.randint(len(kept), (share,), generator=generator)
                parts.append(_tensors(ring.pick(numbers.numpy(), _SAMPLED)))
        return _joined(parts)

    def take(self) -> dict[str, Tensor]:
        """The transitions recorded since the last call, in order, network by network.

        `network` [n] is the number of the network. K + k marks finished episodes of network k.
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
        return {
            "snapshots": snapshots,
            "seeds": list(self.seeds),
            "ends_ns": list(self.ends_ns),
            "members": list(self.members),
            "read": [ring.read for ring in self.rings],
            "next_seed": self.next_seed,
            "decisions": self.decisions,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state()`."""
        for name in ("seeds", "ends_ns", "members", "next_seed", "decisions"):
            setattr(self, name, state[name])
        for k, member in enumerate(self.members):
            self.simulations[k] = self.mixture.worlds[member].simulation(self.routing, self.seeds[k])
            self.simulations[k].restore(state["snapshots"][k].numpy().tobytes())
            self.rings[k] = Ring(self.simulations[k])
            self.rings[k].read = state["read"][k]


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
    # torch cannot compare unsigned integers, so numbers of decisions become signed, and "none" becomes -1.
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
