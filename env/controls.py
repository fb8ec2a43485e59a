"""The decisions of an episode and their rewards, by the keyword `control` of the environments of packets."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError, Simulation, SimulationBatch
from .decision_process import DecisionProcess
from .experience.ring import Ring
from .experience.world import EPISODE_NS
from .packet_options import TOLLED_EPISODE_NS, PacketOptions

# Limits of the weight of a job's packets with reward=job_slowdown (simcore/src/learning/reward/job_slowdown.cpp).
_JOB_WEIGHTS = (0.1, 10.0)
_STRIDE = 1024  # cycles that a network may run beyond its end to find the last observation of a packet
_LOOK_EVERY = 16  # cycles with decisions between two checks for a packet's delivery


class OneDecision(DecisionProcess):
    """control=decision: each decision is an episode, so `terminated` is always set.

    The next episode is the network's next decision. A new network is drawn after `episode_ns` or with a seed.

    The reward is minus the estimated delay in us to the destination through the chosen slot, then on a minimal path. It
    consists of the times of flight and of the present queues and buffers. A real router does not know this delay. With
    reward=relative_delay (`flitgym/TolledRouting-v0`), the chosen slot's tolled delay is compared with the mean of the
    candidates, in tens of mean hops. docs/environments.md compares both with true delays.
    """

    REWARDS: ClassVar[tuple[str, ...]] = ("hop_delay", "relative_delay")

    def check_reward(self, probe: Simulation) -> None:
        """See `DecisionProcess`; the tolled delay also needs a block that learns it, and decisions=router."""
        super().check_reward(probe)
        if self.options.reward == "relative_delay":
            SimulationBatch([probe]).tolled_delay()

    @property
    def usual_ns(self) -> float:
        """Neighbours need some time to learn the lost times of which the tolled delay consists."""
        return TOLLED_EPISODE_NS if self.options.reward == "relative_delay" else EPISODE_NS

    def goes_on(self, k: int) -> bool:
        """Whether the network has a next decision."""
        return bool(self.at[k] >= 0)


class AllDecisions(DecisionProcess):
    """control=all: each network is an episode, drawn from (seed, number of the episode).

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
        return "accrued"

    def goes_on(self, k: int) -> bool:
        """False: each episode has its own network."""
        return False

    def find_start(self, k: int) -> bool:
        if self.options.reward == "job_slowdown":
            self._by_job[k] = self.networks[k].simulation.accrued_delay_by_job_us()
        return super().find_start(k)

    def step(self, actions: NDArray[np.int64], begins: NDArray[np.bool_]) -> tuple[int, int]:
        counts = super().step(actions, begins)
        if self.options.reward == "job_slowdown":
            for k in np.flatnonzero(~begins).tolist():
                simulation = self.networks[k].simulation
                before, self._by_job[k] = self._by_job[k], simulation.accrued_delay_by_job_us()
                slowdown = simulation.memory("job_slowdown")
                weights = np.clip(slowdown / slowdown.mean(), *_JOB_WEIGHTS)
                self.reward[k] = ((before - self._by_job[k]) * weights).sum()
        return counts


class OnePacket(DecisionProcess):
    """control=packet: each episode is a packet, from its first decision to its delivery, which terminates the episode.

    `background` decides for all other packets. The reward is minus the packet's own true delay in us until its next
    decision or its delivery. The same network then serves the next packet. After `episode_ns`, the packet's next
    decision truncates the episode. The next episode, or a `reset` with a seed, draws a new network. The agent learns
    the best path for one packet among the background packets. This rule may be bad if all packets follow it.

    Attributes:
        followed: source and sequence number of the packet of each network.
    """

    def __init__(self, options: PacketOptions, networks: int = 1) -> None:
        super().__init__(options, networks)
        self.followed: dict[int, tuple[int, int]] = {}
        self._rings: dict[int, Ring] = {}

    def goes_on(self, k: int) -> bool:
        """Whether the network has another packet at its first decision."""
        return self.find_start(k)

    def find_start(self, k: int) -> bool:
        """See `DecisionProcess`; the agent gets a random packet of the cycle that is at its first decision."""
        network = self.networks[k]
        while network.count or network.collect(network.end):
            decisions = network.simulation.decisions()
            network.follow_background()
            starts = np.flatnonzero(decisions["hops"] == 0)
            if len(starts):
                at = int(starts[network.random.integers(len(starts))])
                self.followed[k] = (int(decisions["source"][at]), int(decisions["sequence"][at]))
                self._rings[k] = Ring(network.simulation)
                self.show(k, at)
                return True
            network.apply()
        self.show(k, -1)
        return False

    def step(self, actions: NDArray[np.int64], begins: NDArray[np.bool_]) -> tuple[int, int]:
        self._steps.check(actions, begins)
        for k, action in enumerate(actions.tolist()):
            self.reward[k], self.terminated[k], self.truncated[k] = 0, False, False
            if not begins[k]:
                self._decide(k, action)
        ended = int((self.terminated | self.truncated).sum())
        return ended, ended + int(begins.sum())

    def _decide(self, k: int, action: int) -> None:
        network, at = self.networks[k], int(self.at[k])
        simulation = network.simulation
        decided, number = simulation.now, simulation.decision_count + at
        if not network.mask[at, action]:
            self.invalid_actions[k] += 1
            action = 0
        network.actions[at] = action
        network.apply()
        self.decided[k] += 1
        at, delay_us = self._next(k, number)
        self.terminated[k] = at < 0
        self.reward[k] = -(simulation.now - decided) * simulation.cycle_ns * 1e-3 if at >= 0 else -delay_us
        limit = self.options.episode_decisions
        self.over[k] |= simulation.now >= network.end or network.batch.finished or 0 < limit <= self.decided[k]
        self.truncated[k] = at >= 0 and self.over[k]
        self.show(k, at)

    def _next(self, k: int, number: int) -> tuple[int, float]:
        """Run to the packet's next decision; returns its row, or -1 and the delay of decision `number`."""
        network, batches = self.networks[k], 0
        simulation = network.simulation
        # Also after the end, since a truncated episode needs the observation that follows the action.
        while True:
            found = network.collect(max(network.end, simulation.now + _STRIDE))
            if found:
                decisions = simulation.decisions()
                source, sequence = self.followed[k]
                here = (decisions["source"] == source) & (decisions["sequence"] == sequence)
                if here.any():
                    network.follow_background()
                    return int(here.argmax()), 0.0
            # An occasional check is enough, since the transition holds the time of delivery.
            batches += 1
            if not found or batches % _LOOK_EVERY == 0:
                for rows in self._rings[k].new():
                    columns = self._rings[k].columns
                    ours = np.flatnonzero((columns["decision"][rows] == number) & columns["done"][rows])
                    if len(ours):
                        return -1, -float(columns["reward"][rows][ours[0]])
            if found:
                network.follow_background()
                network.apply()


CONTROLS: dict[str, type[DecisionProcess]] = {"decision": OneDecision, "all": AllDecisions, "packet": OnePacket}
