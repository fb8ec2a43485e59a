"""control=decision: an episode is one decision, and its reward is known at once."""

from __future__ import annotations

from typing import ClassVar

from ..simcore import Simulation, SimulationBatch
from .decision_process import DecisionProcess
from .experience.world import EPISODE_NS
from .packet_options import TOLLED_EPISODE_NS


class OneDecision(DecisionProcess):
    """Each decision is an episode, so `terminated` is always set. The next episode is the network's next decision.

    A new network is drawn after `episode_ns` or with a seed.

    The reward is minus the estimated delay in us to the destination through the chosen slot, on a minimal path from the
    next router on. The estimate consists of the times of flight and of the present queues and buffers on the path. A
    real router does not know this delay. The estimate is available at once, while the true delay is known only
    thousands of decisions later. On dragonfly_72 under adversarial traffic at 0.4, with a policy that takes the best
    slot, the estimates have a mean of 0.72 us and the true delays 0.73 us; their correlation is 0.76. Standard
    algorithms learn from it with any discount.

    With reward=relative_delay (`flitgym/TolledRouting-v0`), the estimate is the tolled delay in mean hops: the time of
    flight, and 1 + `toll` times the time lost to queueing. The time lost is that of the present queue of the link, plus
    the later one that the next router has learned from feedback. The reward is the mean over the candidates minus the
    tolled delay of the chosen one, in tens of mean hops.
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
