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

A fork ends after `horizon_ns`, and jobs have no forks. So a policy that a search over whole runs found can be the
`base`: its score is added to that of the network, whose output begins at 0.

See docs/agents/labels.md for results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..env.experience.seeds import training_seed
from ..env.experience.world import Mixture, World
from ..simcore import MarginalCost
from ..simcore._words import refuse_unknown
from .learning.bounds import check
from .learning.learner import Learner
from .learning.replay import Replay
from .learning.rollouts import Means
from .networks import Layers, SlotScores
from .policy.score_layers import added, base_of, hidden_units

_OTHERS = ("kept", "routed")
_EPISODE_NS = 60000.0


@dataclass
class Config:
    """Hyperparameters; times in ns."""

    name: str = "marginal_cost"
    # observation
    network: str = "slots"  # or flat
    hidden: list[int] = field(default_factory=lambda: [32, 32])
    observation: str = "progress+router+queues+path+q_values"
    relation: str = "widest"
    slots: int = 8
    slots_by: str = "random"  # or estimate, rotated
    base: str | None = None  # name or file of a policy, to whose score the network's is added
    # labels; times are of an episode of 60 us, and in several `worlds` in proportion to their `episode_ns`
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
    # The loss is quadratic up to this error and linear above. With several worlds, the unit is that of their costs: the
    # root mean square of the differences in an episode.
    huber_us: float = 0.5
    gradient_norm: float = 10.0

    def __post_init__(self) -> None:
        check(
            self,
            warmup_ns=(0, 1e9),
            decisions=(1, 1 << 20),
            sample_fraction=(1e-6, 1),
            horizon_ns=(1, 1e9),
        )
        refuse_unknown("agent.other_packets", [self.other_packets], _OTHERS)


class Agent(Learner):
    """Trains a `SlotScores` on labelled decisions of a world."""

    NUMBERS = ("round", "next_seed")
    ROUTING = ("network", "hidden", "observation", "relation", "slots", "slots_by")

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        mixture = world if isinstance(world, Mixture) else Mixture.alone(world)
        self.config, self.worlds, self.rounds, self.device = config, mixture.worlds, rounds, device
        self.scales = [1.0 if ns is None else ns / _EPISODE_NS for ns in mixture.episode_ns]
        self.base, self._routing = base_of(config), {**self.routing(config), "name": "policy"}
        self.next_seed = training_seed(seed)
        self.seam = self.worlds[0].simulation(self._routing, self.next_seed).seam()
        torch.manual_seed(seed)
        self.online = SlotScores(self.seam, config.hidden, config.network).to(device)
        if self.base is not None:
            for parameter in self.online.perceptron.layers[-1].parameters():
                nn.init.zeros_(parameter)
        self.replay = Replay(config.capacity)
        self.hold(seed, "online", online=self.online)

    @classmethod
    def routing(cls, config: Config) -> dict[str, Any]:
        """Parameters of `routing=policy`."""
        routing, base = super().routing(config), base_of(config)
        if base is not None:
            sizes = pairwise([base[0][0].shape[1], *config.hidden, 1])
            own = [(np.zeros((n, m), np.float32), np.zeros(n, np.float32)) for m, n in sizes]
            routing["hidden"] = hidden_units(added(base, own))
        return routing

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
            k = self.next_seed % len(self.worlds)
            simulation = self.worlds[k].simulation(self._routing, self.next_seed)
            simulation.set_policy(self.policy())
            costs = MarginalCost(
                simulation,
                horizon_ns=config.horizon_ns * self.scales[k],
                threads=config.threads,
                seed=self.next_seed % 2**32,
                reroute=config.other_packets == "routed",
            )
            self.next_seed += 1
            simulation.run_ns(config.warmup_ns * self.scales[k])
            simulation.begin_window()
            labels = costs.label(config.decisions, config.sample_fraction)
            simulation.end_window()
            means.add(simulation)
            regret += (-np.nanmin(labels["cost_ns"], axis=1)).tolist()
            self.replay.add(_rows(labels, relative=len(self.worlds) > 1))
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
        """The layers that the core evaluates for its decisions."""
        own = self.online.export()
        return own if self.base is None else added(self.base, own)


def _rows(labels: dict[str, Any], relative: bool) -> dict[str, Tensor]:
    """Labelled decisions as rows of the replay buffer, with cost 0 where a slot has no candidate.

    Costs are in us. If `relative`, they are divided by the root mean square of their differences in the episode.
    Otherwise full networks would outweigh all others.
    """
    rows = {"observation": torch.from_numpy(labels["observation"]), "mask": torch.from_numpy(labels["mask"])}
    cost = torch.from_numpy(np.nan_to_num(labels["cost_ns"] * 1e-3).astype(np.float32))
    if relative:
        differences = _around_mean(cost, rows["mask"])[rows["mask"]]
        cost /= differences.square().mean().sqrt().clamp(min=1e-6)
    return {**rows, "cost": cost}


def _around_mean(values: Tensor, mask: Tensor) -> Tensor:
    kept = values.masked_fill(~mask, 0.0)
    return kept - kept.sum(1, keepdim=True) / mask.sum(1, keepdim=True)
