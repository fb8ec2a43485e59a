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
    """A network whose packets ask, one after the other, by which port they shall leave their router.

    Observation: Box float32 [width], the features of `Simulation.seam()` with their bounds: `general` ones, then those
    of slot 0, slot 1, ... Its width depends on the keywords `observation` and `slots` alone, never on the size of the
    network, so one policy fits all of them. At the end of an episode it is all zeros if nothing more is asked.

    Action: Discrete(slots). Slot 0 is the minimal way. `info["action_mask"]` (bool [slots]) says which slots hold a
    candidate, as does `action_masks()`.

    Every decision of the network is the agent's, one after the other (but with control=packet). `control` says what an
    episode is, and what is paid, in us:

    `decision` (the default): one decision, at the end of which `terminated` is always set; `reset()` goes on with the
    next one of the same network, and draws a new network when `episode_ns` are over or a seed is given. Paid is minus
    the delay along the way by the chosen slot if every queue on it stood still (time of flight, queues and buffers up
    to the destination, minimal from the next router on). No router knows that, but it is known at once, where the true
    delay is not before thousands of other decisions have been made, and on average it is near: a mean of 0.72 us where
    the true delays come to 0.73 us, correlated by 0.76 (dragonfly_72, ADV+1 at 0.4, a policy that takes the best slot).
    Stock algorithms learn from it, whatever their discount.

    `all`: a network, drawn from (seed, number of the episode). Truncated after `episode_ns` or `episode_decisions`;
    terminated when a workload is done and the network is empty. A step is charged the delay that accrued since the last
    one, of all packets that are due and not delivered, in the network or at their source (packet-us): by Little's law
    the return of an episode, cut off anywhere, is minus the sum of all delays in it. A step's reward is that of the
    whole network, not its own.

    `packet`: a packet, from its first decision; terminated on its delivery. `background` decides for all others. Paid
    is minus the packet's delay until its next decision or its delivery: its own and true. The network goes on from one
    packet to the next; a new one is drawn when its `episode_ns` are over (the packet under way is charged up to there,
    truncated, and shows what it saw last), and by a `reset` with a seed. What is learned is the best answer to the
    background, which need not be a good routing for all.

    info: `action_mask`, `router` (-1: none asks), `time_ns`, `invalid_actions` (of this network, replaced by slot 0)

    Args:
        render_mode: `ansi`: `render()` returns the present decision as text.
        **keywords: see `PacketOptions`.

    Raises:
        ConfigError: unknown keyword, or a world that cannot be built.

    Version history:
        v0: the first; paid decisions as their news came back, and never for packets that were stuck.
        v1: `control="decision"`, the new default; `all` is charged for everything that is due and not delivered.
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
        """The present network; it stands between `collect()` and `apply()`."""
        return self._network.simulation

    @property
    def seam(self) -> dict[str, Any]:
        """The features, with names, bounds and meanings."""
        return dict(self._network.seam)

    def action_masks(self) -> NDArray[np.bool_]:
        """Which slots hold a candidate, [slots]."""
        return self._network.mask.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: starts the sequence of networks of this seed; none goes on in the present one.
            options: there are none.

        Raises:
            ConfigError: an option.
        """
        check_options(options)
        super().reset(seed=seed)
        self._network.reset(seed, fallback=int(self.np_random.integers(2**31)))
        return self._network.observation.copy(), self._info()

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Decide.

        Args:
            action: a slot; one without a candidate is slot 0 and counted, or (invalid=error) refused.

        Raises:
            ConfigError: the action is no slot, or (invalid=error) one without a candidate.
            CoreError: no `reset()` yet, or the ranks of a workload wait for ever.
        """
        reward, terminated, truncated = self._network.step(whole(action))
        return self._network.observation.copy(), reward, terminated, truncated, self._info()

    def render(self) -> str | None:  # type: ignore[override]
        """The present decision as text."""
        return self._network.describe() if self.render_mode == "ansi" else None

    def _info(self) -> dict[str, Any]:
        network = self._network
        return {
            "action_mask": self.action_masks(),
            "router": network.router,
            "time_ns": network.simulation.time_ns,
            "invalid_actions": network.invalid_actions,
        }
