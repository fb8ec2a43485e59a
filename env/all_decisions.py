"""control=all: an episode is a network, and the reward counts all its packets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError, Simulation
from .decision_process import DecisionProcess
from .packet_options import PacketOptions

# Limits of the weight of a job's packets with reward=job_slowdown (simcore/src/learning/reward/job_slowdown.cpp).
_JOB_WEIGHTS = (0.1, 10.0)


class AllDecisions(DecisionProcess):
    """Each network is an episode, drawn from (seed, number of the episode).

    It is truncated after `episode_ns` or `episode_decisions`, and terminated when a workload is done and the network is
    empty. The reward of a step is minus the delay that accrued since the last step (packet-us). It counts all packets
    that are due and not delivered, in the network and at their sources. By Little's law the return of an episode, cut
    off anywhere, is minus the sum of all delays in it. The reward is of the whole network, not of the step's packet.
    With reward=job_slowdown the packets of slower jobs count more.
    """

    def __init__(self, options: PacketOptions, networks: int = 1) -> None:
        super().__init__(options, networks)
        self._by_job: dict[int, NDArray[np.float64]] = {}  # delay so far, with weights of jobs

    def check_reward(self, probe: Simulation) -> None:
        """See `DecisionProcess`; all rewards except relative_delay are the same here."""
        if self.options.reward == "relative_delay":
            raise ConfigError("reward: relative_delay needs control=decision; control=all charges the delay itself")

    @property
    def core_reward(self) -> str:
        """See `DecisionProcess`."""
        return "accrued"

    def goes_on(self, k: int) -> bool:
        """False: each episode has its own network."""
        return False

    def find_start(self, k: int) -> bool:
        """See `DecisionProcess`."""
        if self.options.reward == "job_slowdown":
            self._by_job[k] = self.networks[k].simulation.accrued_delay_by_job_us()
        return super().find_start(k)

    def step(self, actions: NDArray[np.int64], begins: NDArray[np.bool_]) -> tuple[int, int]:
        """See `DecisionProcess`."""
        counts = super().step(actions, begins)
        if self.options.reward == "job_slowdown":
            for k in np.flatnonzero(~begins).tolist():
                simulation = self.networks[k].simulation
                before, self._by_job[k] = self._by_job[k], simulation.accrued_delay_by_job_us()
                slowdown = simulation.memory("job_slowdown")
                weights = np.clip(slowdown / slowdown.mean(), *_JOB_WEIGHTS)
                self.reward[k] = ((before - self._by_job[k]) * weights).sum()
        return counts
