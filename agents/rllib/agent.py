"""RLlib's PPO and DQN as agents of `flitgym train`: on this machine or on a Ray cluster.

The algorithms are in ppo.py and dqn.py, which import Ray. This file imports them when one of them is chosen.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ...env.experience.seeds import episode_seed
from ...env.experience.world import Mixture, World
from ...simcore import ConfigError, CoreError
from ..learning.rollouts import SEEN
from ..networks import Layers
from .config import DqnConfig, PpoConfig
from .ray_cluster import join, require_cpus


class Agent:
    """One round is an iteration of RLlib.

    A checkpoint keeps only the weights, because loading RLlib's own files could run code.

    A training that continues from a checkpoint takes over the weights, the counts and the epsilon. It has a new
    optimiser, an empty replay buffer and other episodes. So, unlike with the other agents, its result differs from that
    of an uninterrupted training.
    """

    def __init__(self, config: Any, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        if isinstance(world, Mixture):
            raise ConfigError(f"worlds: agent={config.name} trains on one world; dqn and ppo take several")
        if device != "cpu":
            raise ConfigError(f"device={device}: with RLlib set agent.gpus_per_learner and agent.learners instead")
        self.config, self.world, self.seed = config, world, seed
        self._module = importlib.import_module(f".{config.name.removeprefix('rllib_')}", __package__)
        self._training = importlib.import_module(".training", __package__)
        self.seam = world.simulation({**self.routing(config), "name": "policy"}, seed).seam()
        where = f"joining the Ray cluster at {config.address}" if config.address else "starting Ray"
        print(f"{config.name}: {where}", file=sys.stderr, flush=True)
        join(config.address, "agent.address", include_dashboard=False, log_to_driver=False)
        # RLlib would wait silently for CPUs that the cluster does not have.
        require_cpus(config.cpus, "agent.env_runners + agent.learners")
        self._before, self._steps, self.round = 0.0, 0.0, 0

    @cached_property
    def _algorithm(self) -> Any:
        # Built at the first use, because its processes start slowly and a checkpoint changes its settings.
        config = self.config
        if self._before and isinstance(config, DqnConfig):  # continue with the epsilon of the checkpoint
            part = min(1.0, self._before / config.epsilon_decisions)
            first = config.epsilon_first + (config.epsilon_last - config.epsilon_first) * part
            left = max(1, int(config.epsilon_decisions - self._before))
            config = replace(config, epsilon_first=first, epsilon_decisions=left)
        # A continued training must not repeat its episodes. RLlib takes seeds below 2^32 and adds to them.
        seed = episode_seed(self.seed, self.round) // 2 if self.round else self.seed
        return self._module.algorithm_config(self.world, config, seed).build_algo()

    @staticmethod
    def routing(config: Any) -> dict[str, Any]:
        """Parameters of `routing=policy`."""
        return {key: getattr(config, key) for key in SEEN}

    def train_round(self) -> dict[str, float]:
        """One iteration of RLlib."""
        from ray.exceptions import RayActorError

        try:
            numbers: dict[str, float] = self._training.numbers(self._algorithm.train())
        except RayActorError as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise CoreError(
                f"{self.config.name}: a process of the cluster died in round {self.round + 1} ({first}); start again "
                "to continue from the last checkpoint"
            ) from error
        self.round += 1
        self._steps = numbers["decisions"] = numbers["decisions"] + self._before
        return numbers

    def policy(self) -> Layers:
        """The network that the core follows."""
        layers: Layers = self._training.core_layers(self._algorithm)
        return layers

    def state(self) -> dict[str, Any]:
        """The weights of all networks, and the progress of the training."""
        return {"steps": self._steps, "round": self.round, "weights": self._weights()}

    def _weights(self) -> dict[str, dict[str, torch.Tensor]]:
        weights = self._algorithm.learner_group.get_weights()
        return {
            module: {name: torch.from_numpy(np.array(value)) for name, value in parts.items()}
            for module, parts in weights.items()
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue with the weights of a `state()`."""
        self.close()
        self._before = self._steps = state["steps"]
        self.round = state["round"]
        weights = {
            module: {name: value.numpy() for name, value in parts.items()} for module, parts in state["weights"].items()
        }
        self._algorithm.learner_group.set_weights(weights)
        self._algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=self._algorithm.learner_group)

    def close(self) -> None:
        """Stop Ray's processes."""
        if "_algorithm" in self.__dict__:
            self.__dict__.pop("_algorithm").stop()


AGENTS = {"rllib_ppo": (PpoConfig, Agent), "rllib_dqn": (DqnConfig, Agent)}
