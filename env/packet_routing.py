"""`flitgym/PacketRouting-v1`: one routing decision per step, for any library of single-agent reinforcement learning."""

from __future__ import annotations

from typing import Any, Unpack

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..configs import unknown
from ..simcore import ConfigError, Simulation
from .experience.bounds import bounds_of
from .packet_network import PacketNetwork
from .packet_options import PacketKeywords, PacketOptions, check_options, whole


class PacketRoutingEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """A network whose packets request output ports, one packet after another.

    Observation: Box float32 [width], the features of `Simulation.seam()` with their bounds: the `general` ones, then
    those of slot 0, slot 1, ... The width depends only on the keywords `observation` and `slots`, not on the size of
    the network, so one policy fits all networks. If an episode ends without a further decision, all features are zero.

    Action: Discrete(slots). Slot 0 is a minimal path. `info["action_mask"]` (bool [slots]) and `action_masks()` are
    true for slots with a candidate.

    The agent makes every decision of the network, one after another (except with control=packet). `control` determines
    which decisions form an episode, and the reward in us:

    `decision` (the default): an episode is one decision, and `terminated` is always set. `reset()` continues with the
    next decision of the same network, and draws a new network after `episode_ns` or with a seed. The reward is minus
    the estimated delay to the destination through the chosen slot, on a minimal path from the next router on. The
    estimate consists of the times of flight and of the present queues and buffers on the path. A real router does not
    know this delay. The estimate is available at once, while the true delay is known only thousands of decisions later.
    On dragonfly_72 under ADV+1 at 0.4, with a policy that takes the best slot, the estimates have a mean of 0.72 us
    and the true delays 0.73 us; their correlation is 0.76. Standard algorithms learn from it with any
    discount.

    With reward=relative_delay (`flitgym/TolledRouting-v0`), the estimate is the tolled delay in mean hops: the time of
    flight, and 1 + `toll` times the time lost to queueing. The time lost is that of the present queue of the link, plus
    the later one that the next router has learned from feedback. The reward is the mean over the candidates minus the
    tolled delay of the chosen one, in tens of mean hops.

    `all`: an episode is a network, drawn from (seed, number of the episode). It is truncated after `episode_ns` or
    `episode_decisions`, and terminated when a workload is done and the network is empty. The reward of a step is minus
    the delay that accrued since the last step (packet-us). It counts all packets that are due and not delivered, in the
    network and at their sources. By Little's law the return of an episode, cut off anywhere, is minus the sum of all
    delays in it. The reward is of the whole network, not of the step's packet.

    `packet`: an episode is a packet, from its first decision to its delivery, which terminates the episode.
    `background` decides for all other packets. The reward is minus the packet's own true delay until its next decision
    or its delivery. The same network then serves the next packet. After `episode_ns`, the packet's next decision
    truncates the episode. The next episode, or a `reset` with a seed, draws a new network. The agent learns the best
    path for one packet among the background packets. This rule may be bad if all packets follow it.

    info: `action_mask`, `router` (-1: no decision), `time_ns`, `invalid_actions` (number of actions in this network
    that had no candidate and were replaced by slot 0)

    Args:
        render_mode: `ansi`: `render()` returns the present decision as text.
        **keywords: see `PacketOptions`.

    Raises:
        ConfigError: a keyword is unknown, or the world cannot be built.

    Version history:
        v0: the first version; the reward of a decision came with its feedback, so packets that got stuck had no reward.
        v1: `control="decision"` is the new default. With `control="all"` the reward counts all packets that are due.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(self, render_mode: str | None = None, **keywords: Unpack[PacketKeywords]) -> None:
        self.options = PacketOptions.read(keywords, type(self).__name__)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(unknown("render_mode", str(render_mode), self.metadata["render_modes"], "mode"))
        self.render_mode = render_mode
        self._network = PacketNetwork(self.options)
        low, high = bounds_of(self._network.seam)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(self._network.slots)

    @property
    def simulation(self) -> Simulation:
        """The present network, between `collect()` and `apply()`."""
        return self._network.simulation

    @property
    def seam(self) -> dict[str, Any]:
        """The features, with names, bounds and meanings."""
        return dict(self._network.seam)

    def action_masks(self) -> NDArray[np.bool_]:
        """True for slots with a candidate, [slots]."""
        return self._network.mask.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: restarts the sequence of networks; None continues it.
            options: must be empty.

        Raises:
            ConfigError: `options` is not empty.
        """
        check_options(options)
        super().reset(seed=seed)
        network = self._network
        network.reset(seed, fallback=0 if network.seeded else int(self.np_random.integers(2**31)))
        return network.observation.copy(), self._info()

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Decide.

        Args:
            action: a slot. If it has no candidate, slot 0 replaces it, or with invalid=error an error is raised.

        Raises:
            ConfigError: the action is not a slot, or (invalid=error) the slot has no candidate.
            CoreError: `reset()` was not called, or the ranks of a workload wait for ever.
        """
        slot, network = whole(action), self._network
        network.check(slot)
        reward, terminated, truncated = network.step(slot)
        return network.observation.copy(), reward, terminated, truncated, self._info()

    def render(self) -> str | None:  # type: ignore[override]
        """The present decision as text."""
        return self._network.describe() if self.render_mode == "ansi" else None

    def _info(self) -> dict[str, Any]:
        network = self._network
        return {
            "action_mask": network.mask.copy(),
            "router": network.router,
            "time_ns": network.time_ns,
            "invalid_actions": network.invalid_actions,
        }
