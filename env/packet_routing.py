"""`flitgym/PacketRouting-v1`: one routing decision per step, for any library of single-agent reinforcement learning."""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..simcore import Simulation
from .controls import CONTROLS
from .experience.bounds import bounds_of
from .packet_options import PacketOptions, check_options


class PacketRoutingEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """A network whose packets request output ports, one packet after another.

    Observation: Box float32 [width], the features of `Simulation.seam()` with their bounds: the `general` ones, then
    those of slot 0, slot 1, ... The width depends only on the keywords `observation` and `slots`, not on the size of
    the network, so one policy fits all networks. If an episode ends without a further decision, all features are zero.

    Action: Discrete(slots). Slot 0 is a minimal path. `info["action_mask"]` (bool [slots]) and `action_masks()` are
    true for slots with a candidate.

    `control` determines which decisions form an episode, and the reward: see `OneDecision` (the default),
    `AllDecisions` and `OnePacket`. With the first two the agent makes every decision of the network, one after another.

    info: `action_mask`, `router` (-1: no decision), `time_ns`, `invalid_actions` (number of actions in this network
    that had no candidate and were replaced by slot 0)

    Args:
        render_mode: `ansi`: `render()` returns the present decision as text. `rgb_array`: the network, with its links
            coloured by their utilisation since the previous picture, uint8 [height, width, 3].
        **keywords: see `PacketOptions`.

    Raises:
        ConfigError: a keyword is unknown, or the world cannot be built.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(self, render_mode: str | None = None, **keywords: Any) -> None:
        self.options = PacketOptions.read(keywords, type(self).__name__)
        self.render_mode = render_mode
        self._process = CONTROLS[self.options.control](self.options, 1)
        self._action, self._never = np.zeros(1, np.int64), np.zeros(1, np.bool_)
        low, high = bounds_of(self._process.seam)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(self._process.slots)

    @property
    def simulation(self) -> Simulation:
        """The present network, between `collect()` and `apply()`."""
        return self._process.networks[0].simulation

    @property
    def seam(self) -> dict[str, Any]:
        """The features, with names, bounds and meanings."""
        return dict(self._process.seam)

    def action_masks(self) -> NDArray[np.bool_]:
        """True for slots with a candidate, [slots]."""
        mask: NDArray[np.bool_] = self._process.mask[0]
        return mask.copy()

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
        process = self._process
        seeded = process.networks[0].episodes.seed is not None
        process.reset(0, seed, fallback=0 if seeded else int(self.np_random.integers(2**31)))
        return process.observation[0].copy(), self._info()

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Decide.

        Args:
            action: a slot. If it has no candidate, slot 0 replaces it, or with invalid=error an error is raised.

        Raises:
            ConfigError: the action is not a slot, or (invalid=error) the slot has no candidate.
            CoreError: `reset()` was not called, or the ranks of a workload wait for ever.
        """
        process = self._process
        self._action[0] = operator.index(action)
        process.step(self._action, self._never)
        reward, terminated, truncated = process.reward.item(0), process.terminated.item(0), process.truncated.item(0)
        return process.observation[0].copy(), reward, terminated, truncated, self._info()

    def render(self) -> Any:
        """The present decision as text, or the picture of the network."""
        return self._process.rendered(self.render_mode)

    def _info(self) -> dict[str, Any]:
        process = self._process
        return {
            "action_mask": process.mask[0].copy(),
            "router": process.router.item(0),
            "time_ns": process.time_ns.item(0),
            "invalid_actions": process.invalid_actions.item(0),
        }
