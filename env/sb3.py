"""The vector environment of Stable-Baselines3 and sb3-contrib: `Sb3PacketRouting`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from ..simcore import ConfigError
from .packet_routing_vec import PacketRoutingVecEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ConfigError("Sb3PacketRouting needs Stable-Baselines3: pip install stable-baselines3") from error


class Sb3PacketRouting(VecEnv):
    """K networks as one `VecEnv`, like K environments of `make_vec_env` but without an object for each.

    As usual in SB3, the step that ends an episode begins the next one. `info["terminal_observation"]` is the last
    observation of the old episode, and `info["TimeLimit.truncated"]` is true if it was truncated. MaskablePPO uses
    `action_masks()`.

    Args:
        num_envs: K.
        **keywords: see `PacketOptions`.

    Raises:
        ConfigError: a keyword is unknown, the world cannot be built, or Stable-Baselines3 is not installed.
    """

    def __init__(self, num_envs: int = 1, **keywords: Any) -> None:
        self.networks = PacketRoutingVecEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **keywords)
        self.render_mode = None
        super().__init__(num_envs, self.networks.single_observation_space, self.networks.single_action_space)
        self._actions, self._never = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.bool_)
        self._return, self._length = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        self._nothing = [None] * num_envs

    def reset(self) -> NDArray[np.float32]:
        """Begin an episode in every network, with the seeds of `seed()`."""
        seeds = list(self._seeds)
        self._reset_seeds()
        self._reset_options()
        observation, info = self.networks.reset(seed=seeds if any(seed is not None for seed in seeds) else None)
        self.reset_infos = [{"action_mask": mask} for mask in info["action_mask"]]
        self._return[:], self._length[:] = 0, 0
        return observation

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Take the slots [K] of the next step."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Decide in every network."""
        process = self.networks._process
        ended, renewed = self.networks.decide(self._actions, self._never)
        self._return += process.reward
        self._length += 1
        reward, done = process.reward.astype(np.float32), process.terminated | process.truncated
        last: Any = self._nothing
        ends = zip(done.tolist(), process.truncated.tolist(), self._return.tolist(), self._length.tolist(), strict=True)
        if ended:
            last = process.observation.copy()
            self._return[done] = self._length[done] = 0
            if renewed:
                process.begin(done)
        infos: list[dict[str, Any]] = [
            {
                "action_mask": mask,
                "terminal_observation": row,
                "TimeLimit.truncated": cut,
                "episode": {"r": paid, "l": length, "t": 0.0},
            }
            if over
            else {"action_mask": mask}
            for mask, row, (over, cut, paid, length) in zip(process.mask.copy(), last, ends, strict=True)
        ]
        return process.observation.copy(), reward, done, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """True for slots with a candidate, [K, slots]."""
        return self.networks.action_masks()

    def close(self) -> None:
        """Do nothing; there is nothing to close."""

    def has_attr(self, attr_name: str) -> bool:
        """Whether the networks have an attribute of that name."""
        return hasattr(self, attr_name) or hasattr(self.networks, attr_name)

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """An attribute, once per network."""
        # The spaces of `networks` are those of all networks together.
        owner = self if attr_name in ("render_mode", "observation_space", "action_space") else self.networks
        value = getattr(owner, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Refuse, since the networks share their attributes."""
        raise ConfigError(f"set_attr(): '{attr_name}' cannot be set for a network; give keywords to the constructor")

    def env_method(
        self, method_name: str, *args: Any, indices: int | Iterable[int] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Call `action_masks`, the only method per network; returns a mask [slots] per network."""
        if method_name != "action_masks":
            raise ConfigError(f"env_method(): '{method_name}' is not a method of a network; valid: action_masks")
        masks = self.action_masks()
        return [masks[k] for k in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: int | Iterable[int] | None = None) -> list[bool]:
        """False for every network."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[None]:
        """None for every network; there are no images."""
        return [None] * self.num_envs
