"""Hyperparameters of RLlib's PPO and DQN, and the machines that they run on. This file does not import Ray.

flitgym's and RLlib's versions of an algorithm share `ppo.Hyperparameters` or `dqn.Hyperparameters`. This file adds the
keys of RLlib's versions; `ppo.Config` and `dqn.Config` add the keys of flitgym's versions. RLlib records every
decision, its episodes have no tail, and its learning rate is constant.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import dqn, ppo
from ..learning.bounds import check

_COUNT = (1, 1 << 30)


@dataclass
class Machines:
    """The machines and processes of a training."""

    env_runners: int = 0  # processes that simulate; 0 = in the training process itself
    learners: int = 0  # processes that learn; 0 = in the training process itself
    gpus_per_learner: float = 0  # with learners=0: GPUs of the training process
    # Address of a Ray cluster; auto: the address in RAY_ADDRESS, or a cluster on this machine; null: Ray starts here
    address: str | None = None

    @property
    def cpus(self) -> int:
        """CPUs that the training needs: one per simulating process, and one per learner without a GPU."""
        return self.env_runners + (0 if self.gpus_per_learner else self.learners)


@dataclass
class PpoConfig(Machines, ppo.Hyperparameters):
    """Hyperparameters of `agent=rllib_ppo`. flitgym's PPO shares those of `ppo.Hyperparameters`. Times in ns."""

    name: str = "rllib_ppo"
    # experience
    batch: int = 8192  # decisions per round, over all processes
    # learning
    value_clip: float = 100.0  # us^2; larger squared errors of the critic have no gradient

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, value_clip=(0, 1e12))


@dataclass
class DqnConfig(Machines, dqn.Hyperparameters):
    """Hyperparameters of `agent=rllib_dqn`. flitgym's DQN shares those of `dqn.Hyperparameters`. Times in ns."""

    name: str = "rllib_dqn"
    # experience
    fragment: int = 2048  # decisions per call to a simulating process
    buffer: int = 200_000  # transitions kept
    learning_starts: int = 4096  # decisions before learning begins
    epsilon_decisions: int = 100_000  # decisions over which epsilon falls
    # learning
    updates_per_decision: float = 1.0  # transitions replayed per sampled decision
    target_update: int = 8192  # decisions between two copies of the network

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            self,
            fragment=_COUNT,
            buffer=_COUNT,
            learning_starts=(0, 1 << 30),
            epsilon_decisions=_COUNT,
            updates_per_decision=(1e-6, 1e6),
            target_update=_COUNT,
        )
