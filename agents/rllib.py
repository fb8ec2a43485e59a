"""RLlib's PPO and DQN as agents of `flitgym-train`: on this machine or on a Ray cluster.

The algorithms stand in rllib_ppo.py and rllib_dqn.py, which import Ray; this file does so when one of them is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..env.world import World
from ..simcore import ConfigError
from .networks import Layers


@dataclass
class PpoConfig:
    """Hyperparameters of RLlib's PPO, and where it runs."""

    name: str = "rllib_ppo"
    # where it runs: numbers of Ray's processes, 0 = in the training process itself
    env_runners: int = 0
    learners: int = 0
    gpus_per_learner: float = 0
    address: str | None = (
        None  # of a running Ray cluster; auto: this machine's or that of RAY_ADDRESS; null: Ray starts here
    )
    # what the routers see and are paid
    hidden: list[int] = field(default_factory=lambda: [64, 64])
    observation: str = "progress+router+queues+path+q_values"
    reward: str = "hop_delay"
    slots: int = 8
    episode_ns: float = 60000
    # learning
    learning_rate: float = 1e-3
    batch: int = 8192  # decisions per round
    minibatch: int = 1024
    epochs: int = 4
    gamma: float = 1.0
    lambda_: float = 0.95
    clip: float = 0.2
    entropy: float = 0.003


@dataclass
class DqnConfig:
    """Hyperparameters of RLlib's DQN, and where it runs."""

    name: str = "rllib_dqn"
    env_runners: int = 0
    learners: int = 0
    gpus_per_learner: float = 0
    address: str | None = None
    hidden: list[int] = field(default_factory=lambda: [64, 64])
    observation: str = "progress+router+queues+path+q_values"
    reward: str = "hop_delay"
    slots: int = 8
    episode_ns: float = 60000
    learning_rate: float = 1e-3


_MACHINES = ("env_runners", "learners", "gpus_per_learner", "address")
_SEAM = ("observation", "reward", "slots")


class Agent:
    """One round is an iteration of RLlib. A checkpoint keeps the weights; RLlib's own files could run code.

    A training that goes on from a checkpoint begins with its weights and a fresh optimiser, so unlike the other agents'
    it does not repeat an uninterrupted one bit for bit.
    """

    def __init__(self, config: Any, world: World, *, rounds: int, seed: int, device: str = "cpu") -> None:
        if device != "cpu":
            raise ConfigError(f"device={device}: with RLlib set agent.gpus_per_learner and agent.learners instead")
        import importlib

        import ray

        self.config = config
        module = importlib.import_module(f".{config.name}", __package__)
        self._training = importlib.import_module(".rllib_training", __package__)
        given = {key: value for key, value in vars(config).items() if key not in (*_MACHINES, *_SEAM, "name")}
        parameters = module.Hyperparameters(**given, seam={key: getattr(config, key) for key in _SEAM})
        machines = self._training.Machines(**{key: getattr(config, key) for key in _MACHINES})
        if not ray.is_initialized():
            ray.init(address=machines.address, include_dashboard=False, log_to_driver=False)
        self.seam = world.simulation({**self.routing(config), "name": "policy"}, seed).seam()
        self._algorithm = module.algorithm_config(world, parameters, machines, seed).build_algo()
        self._before = 0

    @staticmethod
    def routing(config: Any) -> dict[str, Any]:
        """Parameters of `routing=policy`."""
        return {"network": "flat", "hidden": list(config.hidden), **{key: getattr(config, key) for key in _SEAM}}

    def train_round(self) -> dict[str, float]:
        """One iteration of RLlib."""
        return self._numbers(self._algorithm.train())

    def _numbers(self, result: dict[str, Any]) -> dict[str, float]:
        numbers: dict[str, float] = self._training.numbers(result)
        losses = [value for key, value in numbers.items() if key.endswith("total_loss")]
        return {
            "decisions": self._before + numbers["steps"],
            "reward": numbers["return"],
            "latency_ns": numbers["latency_ns"],
            "loss": losses[0] if losses else float("nan"),
        }

    def policy(self) -> Layers:
        """The network that the core follows."""
        layers: Layers = self._training.core_layers(self._algorithm)
        return layers

    def state(self) -> dict[str, Any]:
        """The weights of all networks."""
        weights = self._algorithm.learner_group.get_weights()
        return {
            "weights": {
                module: {name: torch.from_numpy(np.array(value)) for name, value in parts.items()}
                for module, parts in weights.items()
            }
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Begin with the weights of a `state()`."""
        weights = {
            module: {name: value.numpy() for name, value in parts.items()} for module, parts in state["weights"].items()
        }
        self._algorithm.learner_group.set_weights(weights)
        self._algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=self._algorithm.learner_group)

    def close(self) -> None:
        """Stop Ray's processes."""
        self._algorithm.stop()


AGENTS = {"rllib_ppo": (PpoConfig, Agent), "rllib_dqn": (DqnConfig, Agent)}
