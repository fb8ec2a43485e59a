"""Hyperparameters of RLlib's PPO and DQN, and where they run; this file does not import Ray.

What the algorithm is, is said once for flitgym's own version and RLlib's (`ppo.Hyperparameters`,
`dqn.Hyperparameters`). Here is what only RLlib's understands; what only flitgym's does is in `ppo.Config` and
`dqn.Config`. RLlib keeps every decision, has no tail of an episode, and its rates do not fall.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import dqn, ppo
from ..learning.bounds import check

_COUNT = (1, 1 << 30)


@dataclass
class Machines:
    """Where RLlib's work is done."""

    env_runners: int = 0  # processes that simulate; 0 = in the training process itself
    learners: int = 0  # processes that learn; 0 likewise
    gpus_per_learner: float = 0  # of the training process where learners is 0
    # Of a running Ray cluster; auto: that of RAY_ADDRESS or of this machine; null: Ray starts here.
    address: str | None = None

    @property
    def cpus(self) -> int:
        """CPUs of the cluster that are taken: one by each that simulates, and by each learner without a GPU."""
        return self.env_runners + (0 if self.gpus_per_learner else self.learners)


@dataclass
class PpoConfig(Machines, ppo.Hyperparameters):
    """RLlib's: `env_runners` and what follows are its alone, the others flitgym's own PPO's, too; times in ns."""

    name: str = "rllib_ppo"
    # experience
    batch: int = 8192  # decisions per round, of all processes together
    # learning
    value_clip: float = 100.0  # squared errors of the critic (us^2) above this have no gradient

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, batch=_COUNT, value_clip=(0, 1e12))


@dataclass
class DqnConfig(Machines, dqn.Hyperparameters):
    """RLlib's: `env_runners` and what follows are its alone, the others flitgym's own DQN's, too; times in ns."""

    name: str = "rllib_dqn"
    # experience
    fragment: int = 2048  # decisions per call to a process that simulates
    buffer: int = 200_000  # transitions kept
    learning_starts: int = 4096  # decisions before learning begins
    epsilon_decisions: int = 100_000  # in which epsilon falls
    # learning
    updates_per_decision: float = 1.0  # transitions replayed for each that is sampled
    target_update: int = 8192  # decisions from one copy of the network to the next

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
