"""Regression on marginal costs: the delay that each candidate of a decision causes to all packets.

The agent samples decisions of the policy. The core tries every candidate of a sampled decision in a fork of the network
and measures the change in the delays of all packets (`flitgym.simcore.MarginalCost`). A network learns to score
candidates by these costs, and the routers take the best one. A packet's own delay as the reward makes routers selfish,
and the network settles where no packet gains by a change (Wardrop's first principle). With marginal costs, routing
approaches the least sum of delays (Wardrop's second principle; Beckmann, McGuire, Winsten 1956).

All forks of a decision have the same later packets. So the differences between candidates have less noise than the
differences between returns of separate decisions. No label depends on an estimate of a next state. This is supervised
learning on the states that the policy itself visits (Ross, Gordon, Bagnell, AISTATS 2011).

The other packets keep their routes in a fork (`other_packets=kept`). With `other_packets=routed` they react, which adds
mostly noise (see `MarginalCost`). Only the differences between the costs of a decision matter. So the loss compares
scores and targets after subtracting their means over the candidates.

See docs/agents/labels.md for results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..configs.errors import unknown
from ..env.experience.seeds import training_seed
from ..env.experience.world import Mixture, World
from ..simcore import ConfigError, MarginalCost
from .learning.bounds import check
from .learning.learner import Learner
from .learning.replay import Replay
from .learning.rollouts import Means
from .networks import Layers, SlotScores

_OTHERS = ("kept", "routed")


@dataclass
class Config:
    """Hyperparameters; times in ns."""

    name: str = "marginal_cost"
    # observation
    network: str = "slots"  # or flat
    hidden: list[int] = field(default_factory=lambda: [32, 32])
    observation: str = "progress+router+queues+path+q_values"
    slots: int = 8
    # labels
    networks: int = 4  # episodes per round, each from an empty network
    warmup_ns: float = 20000  # of an episode, before decisions are sampled
    decisions: int = 64  # labelled decisions per episode
    sample_fraction: float = 0.02  # fraction of all decisions that are sampled
    horizon_ns: float = 1500  # simulated time of a fork
    other_packets: str = "kept"  # other packets keep their routes in a fork; or routed: they decide again
    threads: int = 0  # threads that run the forks; 0 = one per core. The result does not depend on it
    capacity: int = 32768  # labelled decisions kept
    # learning
    learning_rate: float = 1e-3
    batch: int = 512
    updates: int = 40  # per round
    huber_us: float = 0.5  # the loss is quadratic up to this error and linear above
    gradient_norm: float = 10.0

    def __post_init__(self) -> None:
        check(
            self,
            networks=(1, 1024),
            warmup_ns=(0, 1e9),
            decisions=(1, 1 << 20),
            sample_fraction=(1e-6, 1),
            horizon_ns=(1, 1e9),
            threads=(0, 1024),
            capacity=(1, 1 << 24),
            learning_rate=(0, 1),
            batch=(1, 1 << 24),
            updates=(1, 1 << 20),
            huber_us=(1e-6, 1e6),
            gradient_norm=(1e-12, 1e12),
        )
        if self.other_packets not in _OTHERS:
            raise ConfigError(unknown("agent.other_packets", self.other_packets, _OTHERS))


class Agent(Learner):
    """Trains a `SlotScores` on labelled decisions of a world."""

    NUMBERS = ("round", "next_seed")
    ROUTING = ("network", "hidden", "observation", "slots")

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        if isinstance(world, Mixture):
            raise ConfigError(
                "worlds: agent=marginal_cost trains on one world (topology=..., vary=...); dqn and ppo take several"
            )
        self.config, self.world, self.rounds, self.device = config, world, rounds, device
        self.next_seed = training_seed(seed)
        self.seam = world.simulation({**self.routing(config), "name": "policy"}, self.next_seed).seam()
        torch.manual_seed(seed)
        self.online = SlotScores(self.seam, config.hidden, config.network).to(device)
        self.replay = Replay(config.capacity)
        self.hold(seed, "online", online=self.online)

    def train_round(self) -> dict[str, float]:
        """Label decisions of new episodes, then learn from all labelled decisions in the replay buffer."""
        config = self.config
        metrics = self._label()
        self.lower_rate()
        losses = [self.update(self.replay.sample(config.batch, self.generator)) for _ in range(config.updates)]
        self.round += 1
        return {**metrics, "loss": sum(losses) / len(losses)}

    def _label(self) -> dict[str, float]:
        config, means = self.config, Means()
        regret: list[float] = []
        for _ in range(config.networks):
            simulation = self.world.simulation({**self.routing(config), "name": "policy"}, self.next_seed)
            simulation.set_policy(self.policy())
            costs = MarginalCost(
                simulation,
                horizon_ns=config.horizon_ns,
                threads=config.threads,
                seed=self.next_seed % 2**32,
                reroute=config.other_packets == "routed",
            )
            self.next_seed += 1
            simulation.run_ns(config.warmup_ns)
            simulation.begin_window()
            labels = costs.label(config.decisions, config.sample_fraction)
            simulation.end_window()
            means.add(simulation)
            regret += (-np.nanmin(labels["cost_ns"], axis=1)).tolist()
            self.replay.add(_rows(labels))
        return {**means.numbers(), "decisions": float(self.replay.added), "regret_ns": float(np.mean(regret))}

    def update(self, batch: dict[str, Tensor]) -> float:
        """One step of gradient descent; the loss."""
        config = self.config
        mask, cost = batch["mask"].to(self.device), batch["cost"].to(self.device)
        observation = batch["observation"].to(self.device)
        scores: Tensor = self.online(observation)
        goal = -cost
        errors = nn.functional.huber_loss(
            _around_mean(scores, mask), _around_mean(goal, mask), reduction="none", delta=config.huber_us
        )
        loss = errors.masked_select(mask).mean()
        return self.descend(loss, observation=observation, cost=cost, score=scores)

    def policy(self) -> Layers:
        """The network that the core follows."""
        return self.online.export()


def _rows(labels: dict[str, Any]) -> dict[str, Tensor]:
    """Labelled decisions as rows of the replay buffer; costs in us, 0 where a slot has no candidate."""
    cost = np.nan_to_num(labels["cost_ns"] * 1e-3).astype(np.float32)
    return {
        "observation": torch.from_numpy(labels["observation"]),
        "mask": torch.from_numpy(labels["mask"]),
        "cost": torch.from_numpy(cost),
    }


def _around_mean(values: Tensor, mask: Tensor) -> Tensor:
    kept = values.masked_fill(~mask, 0.0)
    return kept - kept.sum(1, keepdim=True) / mask.sum(1, keepdim=True)
