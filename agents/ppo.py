"""Proximal policy optimisation over routing decisions: one masked policy, shared by all routers, and a critic.

    Schulman et al., 2017 (arXiv 1707.06347)    the clipped objective
    Schulman et al., ICLR 2016                  generalised advantage estimation, here along the decisions of a packet
    Huang and Ontanon, FLAIRS 2022              invalid actions masked out of the distribution

The core draws the slots and records the log-probability of each draw. The column `next_decision` links the decisions of
a packet. If the next decision is not recorded yet, the critic's value of the next observation replaces the rest of the
advantage sum.

Deviations from Schulman et al. (2017): the discount is 1 instead of 0.99, since every packet arrives; the critic has a
Huber loss instead of a squared error. See docs/agents/dqn.md for results.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ..env.experience.world import Mixture, World
from .learning.advantages import generalised_advantages, successors
from .learning.bounds import check
from .learning.learner import Learner
from .learning.rollouts import SEEN, Rollouts
from .networks import Layers, SlotScores, StateValue


@dataclass
class Hyperparameters:
    """Hyperparameters that flitgym's PPO and RLlib's (rllib/ppo.py) share; times in ns."""

    # observation and reward
    network: str = "slots"  # or flat
    hidden: list[int] = field(default_factory=lambda: [32, 32])
    observation: str = "progress+router+queues+path+q_values"
    reward: str = "hop_delay"
    toll: float = 1.0  # of reward=relative_delay: extra weight of the time lost to queues
    slots: int = 8
    slots_by: str = "random"  # or estimate, rotated: selects the candidates if there are more than slots
    # experience
    episode_ns: float = 60000
    # learning
    learning_rate: float = 1e-3
    epochs: int = 4
    minibatch: int = 2048
    discount: float = 1.0
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.003
    critic_weight: float = 0.5
    gradient_norm: float = 0.5

    def __post_init__(self) -> None:
        check(
            self,
            epochs=(1, 1000),
            minibatch=(1, 1 << 24),
            gae_lambda=(0, 1),
            clip=(0, 1e6),
            entropy=(0, 1e6),
            critic_weight=(0, 1e6),
        )


@dataclass
class Config(Hyperparameters):
    """Hyperparameters of `agent=ppo`. RLlib's version shares only the inherited fields. Times in ns."""

    name: str = "ppo"
    # experience
    networks: int = 4
    run_ns: float = 4000
    capacity: int = 16384
    record_part: float = 0.3
    tail_ns: float = 0.0  # simulated time after an episode's end, in which rewards of earlier decisions still arrive


CRITIC = (64, 64)  # units of the critic's hidden layers


class Agent(Learner):
    """Trains actor and critic on a world."""

    ROUTING = SEEN

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        self.config, self.rounds, self.device = config, rounds, device
        self.rollouts = rollouts = Rollouts(config, self.routing(config), world, seed)
        self.seam = rollouts.seam
        torch.manual_seed(seed)
        self.actor = SlotScores(rollouts.seam, config.hidden, config.network).to(device)
        self.critic = StateValue(rollouts.seam, CRITIC).to(device)
        self.hold(seed, "actor", "critic", actor=self.actor, critic=self.critic)

    def train_round(self) -> dict[str, float]:
        """Let the networks run under the present policy, then learn from their transitions."""
        config = self.config
        metrics = self.rollouts.run(config.run_ns, self.policy(), temperature=1.0)
        self.lower_rate()
        self.round += 1
        batch = {name: column.to(self.device) for name, column in self.rollouts.take().items()}
        if not batch or len(batch["action"]) < 2:
            nothing = float("nan")
            return {**metrics, "loss": nothing, "reward": nothing, "entropy": nothing}
        advantage, goal = self.advantages(batch)
        # Scaled over the whole batch, since the standard deviation of a small minibatch would be noise.
        scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        losses, entropies = [], []
        for _ in range(config.epochs):
            order = torch.randperm(len(advantage), generator=self.generator).to(self.device)
            for rows in torch.tensor_split(order, -(-len(order) // config.minibatch)):
                loss, entropy = self.update(
                    {name: column[rows] for name, column in batch.items()}, scaled[rows], goal[rows]
                )
                losses.append(loss)
                entropies.append(entropy)
        return {
            **metrics,
            "loss": sum(losses) / len(losses),
            "reward": float(batch["reward"].mean()),
            "entropy": sum(entropies) / len(entropies),
        }

    @torch.no_grad()
    def advantages(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Advantage and the critic's goal of every transition, [n] each."""
        config = self.config
        value = self.critic(batch["observation"], batch["mask"])
        continues = batch["next_mask"].any(1) & ~batch["done"]
        following = torch.where(continues, self.critic(batch["next_observation"], batch["next_mask"]), 0.0)
        advantage = generalised_advantages(
            batch["reward"],
            value,
            following,
            torch.where(continues, successors(batch), -1),
            config.discount,
            config.gae_lambda,
        )
        return advantage, advantage + value

    def update(self, batch: dict[str, Tensor], advantage: Tensor, goal: Tensor) -> tuple[float, float]:
        """One step of gradient descent; loss and entropy.

        Args:
            batch: columns [n, ...] as `Rollouts.take` has them.
            advantage: [n], scaled to mean 0 and standard deviation 1 over the round.
            goal: the critic's target, [n], us.

        Raises:
            DivergedError: a number is not finite; the weights are unchanged.
        """
        config = self.config
        logits = self.actor(batch["observation"]).masked_fill(~batch["mask"], -torch.inf)
        log_all = logits.log_softmax(1)
        log_probability = log_all.gather(1, batch["action"][:, None]).squeeze(1)
        entropy = -(log_all.exp() * log_all.masked_fill(~batch["mask"], 0.0)).sum(1).mean()
        ratio = (log_probability - batch["log_probability"]).exp()
        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        actor_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
        value = self.critic(batch["observation"], batch["mask"])
        critic_loss = nn.functional.huber_loss(value, goal)
        loss = actor_loss + config.critic_weight * critic_loss - config.entropy * entropy
        lost = self.descend(
            loss,
            observation=batch["observation"],
            reward=batch["reward"],
            advantage=advantage,
            goal=goal,
            log_probability=log_probability,
            ratio=ratio,
            value=value,
        )
        return lost, float(entropy.detach())

    def policy(self) -> Layers:
        """The network that the core follows."""
        return self.actor.export()
