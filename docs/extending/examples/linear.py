"""Ridge regression on delays: the remaining time of a packet is a linear function of the router's features.

The reward of a decision is minus the time to the packet's delivery, so no target depends on an estimate. The weights
solve least squares over all decisions, in which older decisions count less. Routers take the candidate with the least
predicted delay, or a random candidate with probability epsilon. The state is two arrays; there is no learning rate. A
linear function cannot express interactions of features; `dqn` can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..env.experience.world import Mixture, World
from .learning.bounds import check
from .learning.rollouts import SEEN, Rollouts
from .networks import Layers


@dataclass
class Config:
    """Hyperparameters; times in ns. Each is a key `agent.<name>` of `flitgym train`."""

    name: str = "linear"
    # observation and reward
    network: str = "slots"
    hidden: list[int] = field(default_factory=list)  # no hidden layers: the scores are linear
    observation: str = "progress+router+queues+path"
    reward: str = "end_to_end_delay"
    toll: float = 1.0
    slots: int = 8
    slots_by: str = "random"
    # experience
    networks: int = 4
    run_ns: float = 2000  # between two regressions
    episode_ns: float = 60000
    capacity: int = 16384
    record_part: float = 0.3
    tail_ns: float = 10000  # longest extra time of an episode, to close the decisions that are open at its end
    epsilon: float = 0.05
    # learning
    memory: float = 0.95  # weight of the earlier rounds
    ridge: float = 1.0  # keeps weights small that the data do not determine

    def __post_init__(self) -> None:
        check(self, epsilon=(0, 1), memory=(0, 1), ridge=(1e-9, 1e9))


class Agent:
    """The interface that `flitgym train` needs."""

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        self.config, self.rounds = config, rounds
        self.rollouts = Rollouts(config, self.routing(config), world, seed)
        seam = self.rollouts.seam
        self.general, self.per_slot = len(seam["general"]), len(seam["per_slot"])
        inputs = self.general + self.per_slot + 1  # and a constant
        self.squares, self.products = np.zeros((inputs, inputs)), np.zeros(inputs)
        self.round = 0

    @staticmethod
    def routing(config: Config) -> dict[str, Any]:
        """Parameters of `routing=policy` in the core."""
        return {key: getattr(config, key) for key in SEEN}

    def train_round(self) -> dict[str, float]:
        """Run the networks and fit the weights. Returns the metrics for a line of `progress.jsonl`."""
        config = self.config
        metrics = self.rollouts.run(config.run_ns, self.policy(), epsilon=config.epsilon)
        rows = self.rollouts.take()
        self.round += 1
        if not rows:  # no packet has arrived yet
            return {**metrics, "loss": float("nan")}
        n, chosen = len(rows["action"]), rows["action"].numpy()
        seen = rows["observation"].numpy().astype(np.float64)
        slots = seen[:, self.general :].reshape(n, -1, self.per_slot)
        x = np.hstack([seen[:, : self.general], slots[np.arange(n), chosen], np.ones((n, 1))])
        y = rows["reward"].numpy().astype(np.float64)
        loss = float(np.mean((y - x @ self.weights()) ** 2))  # of the weights before this round
        self.squares = config.memory * self.squares + x.T @ x
        self.products = config.memory * self.products + x.T @ y
        return {**metrics, "loss": loss}

    def weights(self) -> NDArray[np.floating[Any]]:
        """Weights of the predicted reward in us, [general + per_slot + 1]."""
        return np.linalg.solve(self.squares + self.config.ridge * np.eye(len(self.products)), self.products)

    def policy(self) -> Layers:
        """One layer: weights [1, inputs] and bias [1]. The core takes the slot with the highest score."""
        weights = self.weights().astype(np.float32)
        return [(weights[None, :-1], weights[-1:])]

    def state(self) -> dict[str, Any]:
        """The data of a checkpoint: tensors, numbers and lists."""
        return {
            "squares": torch.from_numpy(self.squares),
            "products": torch.from_numpy(self.products),
            "rollouts": self.rollouts.state(),
            "round": self.round,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from a `state()`."""
        self.round = state["round"]
        self.rollouts.load_state(state["rollouts"])
        self.squares, self.products = state["squares"].numpy().copy(), state["products"].numpy().copy()
