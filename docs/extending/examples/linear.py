"""Ridge regression on delays: how long a packet still needs is a linear function of what the router sees.

A decision is paid with minus the time to the packet's delivery, so that nothing is estimated from estimates, and the
weights are those of least squares over all decisions so far, the older ones counting less and less. Routers take the
candidate with the least predicted delay, and with probability epsilon any. No torch, no learning rate; the state is
two arrays. What it cannot see is that a feature may matter only beside another one: for that take `dqn`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..env.experience.world import Mixture, World
from .learning import stored
from .learning.bounds import CAPACITY, check
from .learning.rollouts import SEEN, Rollouts
from .networks import Layers


@dataclass
class Config:
    """Hyperparameters; times in ns. Each is a key `agent.<name>` of `flitgym-train`."""

    name: str = "linear"
    # what the routers see and are paid
    network: str = "slots"
    hidden: list[int] = field(default_factory=list)  # none: the scores are linear
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
    tail_ns: float = 10000  # an episode is carried on for decisions that are open at its end: the slow ones
    epsilon: float = 0.05
    # learning
    memory: float = 0.95  # weight of the past in each round
    ridge: float = 1.0  # keeps weights small that the data say nothing about

    def __post_init__(self) -> None:
        check(
            self,
            networks=(1, 1024),
            run_ns=(1, 1e9),
            episode_ns=(1, 1e12),
            capacity=CAPACITY,
            record_part=(1e-6, 1),
            tail_ns=(0, 1e9),
            epsilon=(0, 1),
            memory=(0, 1),
            ridge=(1e-9, 1e9),
        )


class Agent:
    """What `flitgym-train` asks of an agent: `routing`, `train_round`, `policy`, `state`, `load_state` and `round`."""

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        self.config, self.rounds = config, rounds
        self.rollouts = Rollouts.of(config, self.routing(config), world, seed)
        seam = self.rollouts.seam
        self.general, self.per_slot = len(seam["general"]), len(seam["per_slot"])
        inputs = self.general + self.per_slot + 1  # a constant
        self.squares, self.products = np.zeros((inputs, inputs)), np.zeros(inputs)
        self.round = 0

    @staticmethod
    def routing(config: Config) -> dict[str, Any]:
        """Parameters of `routing=policy`: what the core plays."""
        return {key: getattr(config, key) for key in SEEN}

    def train_round(self) -> dict[str, float]:
        """Let the networks run, then fit the weights anew; what it returns is a line of `progress.jsonl`."""
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
        loss = float(np.mean((y - x @ self.weights()) ** 2))  # before it has learned from them
        self.squares = config.memory * self.squares + x.T @ x
        self.products = config.memory * self.products + x.T @ y
        return {**metrics, "loss": loss}

    def weights(self) -> NDArray[np.floating[Any]]:
        """Of the predicted reward in us, [general + per_slot + 1]."""
        return np.linalg.solve(self.squares + self.config.ridge * np.eye(len(self.products)), self.products)

    def policy(self) -> Layers:
        """One layer: weights [1, inputs] and its bias [1]. The core takes the slot with the highest score."""
        weights = self.weights().astype(np.float32)
        return [(weights[None, :-1], weights[-1:])]

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps: tensors, numbers and lists."""
        return {
            "squares": torch.from_numpy(self.squares),
            "products": torch.from_numpy(self.products),
            "rollouts": self.rollouts.state(),
            "round": self.round,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a `state()`.

        Raises:
            ConfigError: it is of another agent, or damaged; the message names the piece.
        """
        own = {
            "squares": torch.from_numpy(self.squares),
            "products": torch.from_numpy(self.products),
            "rollouts": ...,
            "round": 0,
        }
        given = stored.checked(state, "agent", own)
        self.round = stored.whole(given["round"], "agent.round", 0, self.rounds)
        self.rollouts.load_state(given["rollouts"])
        self.squares, self.products = given["squares"].numpy().copy(), given["products"].numpy().copy()
