"""Least mean squares (Widrow and Hoff, 1960): each round moves a linear prediction towards the rewards."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from flitgym.agents.learning import stored
from flitgym.agents.learning.rollouts import SEEN, Rollouts
from flitgym.agents.networks import Layers
from flitgym.env import Mixture, World


@dataclass
class Config:
    """Hyperparameters; times in ns."""

    name: str = "lms"
    network: str = "slots"
    hidden: list[int] = field(default_factory=list)
    observation: str = "progress+router+queues+path"
    reward: str = "end_to_end_delay"
    toll: float = 1.0
    slots: int = 8
    slots_by: str = "random"
    networks: int = 2
    run_ns: float = 2000
    episode_ns: float = 60000
    capacity: int = 16384
    record_part: float = 1.0
    tail_ns: float = 0
    epsilon: float = 0.1
    step: float = 0.05  # step size, as a part of the error


class Agent:
    """The interface that `flitgym train` needs."""

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        self.config, self.rounds, self.round = config, rounds, 0
        self.rollouts = Rollouts.of(config, self.routing(config), world, seed)
        self.general, self.per_slot = (len(self.rollouts.seam[key]) for key in ("general", "per_slot"))
        self.weights = np.zeros(self.general + self.per_slot)

    @staticmethod
    def routing(config: Config) -> dict[str, Any]:
        """Parameters of `routing=policy`."""
        return {key: getattr(config, key) for key in SEEN}

    def train_round(self) -> dict[str, float]:
        """Run the networks and take a step. Returns the metrics for a line of `progress.jsonl`."""
        metrics = self.rollouts.run(self.config.run_ns, self.policy(), epsilon=self.config.epsilon)
        rows = self.rollouts.take()
        self.round += 1
        if not rows:
            return {**metrics, "loss": float("nan")}
        seen, chosen = rows["observation"].numpy().astype(float), rows["action"].numpy()
        slots = seen[:, self.general :].reshape(len(seen), -1, self.per_slot)
        x = np.hstack([seen[:, : self.general], slots[np.arange(len(seen)), chosen]])
        error = rows["reward"].numpy() - x @ self.weights
        self.weights += self.config.step * x.T @ error / max((x * x).sum(), 1e-9)  # normalised, so it cannot diverge
        return {**metrics, "loss": float(np.mean(error**2))}

    def policy(self) -> Layers:
        """One layer: weights [1, inputs] and bias [1]."""
        return [(self.weights[None].astype(np.float32), np.zeros(1, np.float32))]

    def state(self) -> dict[str, Any]:
        """The data of a checkpoint."""
        weights = torch.from_numpy(self.weights)
        return {"weights": weights, "rollouts": self.rollouts.state(), "round": self.round}

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from a `state()`. A damaged state raises ConfigError."""
        own = {"weights": torch.from_numpy(self.weights), "rollouts": ..., "round": 0}
        given = stored.checked(state, "agent", own)
        self.weights = given["weights"].numpy().copy()
        self.round = stored.whole(given["round"], "agent.round", 0, self.rounds)
        self.rollouts.load_state(given["rollouts"])
