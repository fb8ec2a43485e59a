"""Several networks in parallel: `flitgym/PacketRoutingVec-v1`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from ..configs import refuse_unknown
from ..simcore import ConfigError, CoreError, Simulation
from .controls import CONTROLS
from .experience.bounds import bounds_of
from .experience.world import check_number
from .packet_options import PacketOptions, check_options

_Arrays = NDArray[Any]
_INFO = ("action_mask", "router", "time_ns", "invalid_actions")


class PacketRoutingVecEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """K networks, each like that of `PacketRoutingEnv`: one decision per network and step.

    Network k behaves in every step like a `PacketRoutingEnv` with the same keywords and seed + k. Observations
    [K, width], rewards [K] and masks are written in place into arrays that are allocated once.

    `autoreset_mode` determines the step after an episode, as in Gymnasium. `NextStep`: the next step begins the new
    episode; its action is ignored and its reward is 0. With control=decision this is every second step. `SameStep`: the
    last step of an episode returns the first observation of the next one. The last observation and info of the old
    episode are in `info["final_obs"]` [K] (objects: [width] each, or None) and `info["final_info"]`. `Disabled`: the
    caller must call `reset(options={"reset_mask": ...})` before the next step.

    info: `action_mask` [K, slots], `router`, `time_ns` and `invalid_actions` [K]. For each `name`, Gymnasium's mask
    `_name` tells which networks have a value.

    Args:
        num_envs: K.
        render_mode: as in `PacketRoutingEnv`; `render()` returns a text or a picture per network.
        copy: return copies; otherwise the next step overwrites the returned arrays.
        autoreset_mode: an `AutoresetMode` or its name. With SameStep, Gymnasium's `RecordEpisodeStatistics` is right
            from Gymnasium 1.4 on.
        **keywords: see `PacketOptions`.

    Raises:
        ConfigError: a keyword is unknown, or the world cannot be built.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 1,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        render_mode: str | None = None,
        copy: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **keywords: Any,
    ) -> None:
        self.options = PacketOptions.read(keywords, type(self).__name__)
        check_number("num_envs", num_envs, 1, whole=True)
        modes = [mode.value for mode in AutoresetMode]
        if not isinstance(autoreset_mode, AutoresetMode):
            refuse_unknown("autoreset_mode", [autoreset_mode], modes, "mode")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.num_envs, self.render_mode, self._copy = num_envs, render_mode, copy
        self._process = CONTROLS[self.options.control](self.options, num_envs)
        low, high = bounds_of(self._process.seam)
        self.single_observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(self._process.slots)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._all, self._never = np.ones(num_envs, np.bool_), np.zeros(num_envs, np.bool_)

    @property
    def simulations(self) -> list[Simulation]:
        """The present networks."""
        return [network.simulation for network in self._process.networks]

    @property
    def seam(self) -> dict[str, Any]:
        """The features, with names, bounds and meanings."""
        return dict(self._process.seam)

    def action_masks(self) -> NDArray[np.bool_]:
        """True for slots with a candidate, [K, slots]."""
        return self._process.mask.copy()

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in every network.

        Args:
            seed: the seed of network 0; network k has seed + k. A list gives one seed per network.
            options: with `autoreset_mode` Disabled, `reset_mask`, bool [K]: the networks that begin an episode.

        Raises:
            ConfigError: the number of seeds is not K, an option is unknown, or the mask has another shape.
        """
        seeds = seed if isinstance(seed, list) else [None if seed is None else seed + k for k in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ConfigError(f"seed: {len(seeds)} seeds for {self.num_envs} networks")
        chosen, process = self._reset_mask(options), self._process
        super().reset(seed=seeds[0])
        for k in np.flatnonzero(chosen).tolist():
            process.reset(k, seeds[k], fallback=int(self.np_random.integers(2**31)))
        process.terminated[chosen] = process.truncated[chosen] = False
        return process.observation.copy() if self._copy else process.observation, self._infos()

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float32], _Arrays, _Arrays, _Arrays, dict[str, Any]]:
        """Decide in every network.

        Args:
            actions: slots, [K].

        Raises:
            ConfigError: as `PacketRoutingEnv.step`; then no network has made the step.
            CoreError: with `autoreset_mode` Disabled, an episode is over and was not reset.
        """
        process, mode = self._process, self.autoreset_mode
        same = mode is AutoresetMode.SAME_STEP
        begins = self._never if same else process.terminated | process.truncated
        if mode is AutoresetMode.DISABLED and begins.any():
            numbers = ", ".join(map(str, np.flatnonzero(begins)))
            raise CoreError(f"step(): episodes {numbers} are over; call reset(options={{'reset_mask': ...}}) first")
        ended, renewed = self.decide(actions, begins)
        infos = self._infos()
        final = self._final(ended, infos) if same and ended else {}
        if renewed:
            process.begin(process.terminated | process.truncated if same else begins)
            infos = self._infos()
        infos.update(final)
        observation, reward = process.observation, process.reward
        terminated, truncated = process.terminated, process.truncated
        if self._copy:
            observation, reward = observation.copy(), reward.copy()
            terminated, truncated = terminated.copy(), truncated.copy()
        return observation, reward, terminated, truncated, infos

    def decide(self, actions: ArrayLike, begins: NDArray[np.bool_]) -> tuple[int, int]:
        """One step of all networks; see `DecisionProcess.step`."""
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise ConfigError(
                f"actions: {chosen.dtype} of shape {chosen.shape}; give whole numbers of shape ({self.num_envs},)"
            )
        return self._process.step(np.ascontiguousarray(chosen, np.int64), begins)

    def render(self) -> tuple[Any, ...] | None:
        """The present decisions as text, or pictures, one per network."""
        mode = self.render_mode
        return tuple(self._process.rendered(mode, k) for k in range(self.num_envs)) if mode else None

    def _final(self, ended: int, infos: dict[str, Any]) -> dict[str, Any]:
        """Return the last observations of the episodes that have ended, and their entries of `infos`."""
        process, info, which = self._process, infos.copy(), self._all
        observations = np.fromiter(process.observation.copy(), object, self.num_envs)
        if ended < self.num_envs or not self._copy:
            which = process.terminated | process.truncated
            observations[~which] = None
            for name in _INFO:
                info[name], info[f"_{name}"] = infos[name].copy(), which
                info[name][~which] = 0
        return {"final_obs": observations, "_final_obs": which, "final_info": info, "_final_info": which}

    def _reset_mask(self, options: dict[str, Any] | None) -> NDArray[np.bool_]:
        valid = ("reset_mask",) if self.autoreset_mode is AutoresetMode.DISABLED else ()
        check_options(options, valid)
        if not options:
            return self._all
        mask = np.asarray(options["reset_mask"])
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ConfigError(f"reset_mask: {mask.dtype} {mask.shape}; it needs bool ({self.num_envs},)")
        return mask

    def _infos(self) -> dict[str, Any]:
        process, every = self._process, self._all
        mask, router, time_ns = process.mask, process.router, process.time_ns
        invalid_actions = process.invalid_actions
        if self._copy:
            mask, router, time_ns = mask.copy(), router.copy(), time_ns.copy()
            invalid_actions = invalid_actions.copy()
        # This runs in every step. A loop over the names would take twice the time.
        return {
            "action_mask": mask,
            "_action_mask": every,
            "router": router,
            "_router": every,
            "time_ns": time_ns,
            "_time_ns": every,
            "invalid_actions": invalid_actions,
            "_invalid_actions": every,
        }
