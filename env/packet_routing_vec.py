"""Several networks in parallel: `flitgym/PacketRoutingVec-v1`."""

from __future__ import annotations

from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from ..configs import unknown
from ..simcore import ConfigError, CoreError, Simulation
from .experience.bounds import bounds_of
from .experience.world import check_number
from .packet_network import PacketNetwork
from .packet_options import PacketKeywords, PacketOptions, check_options, check_room

_Arrays = NDArray[Any]


class PacketRoutingVecEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """K networks, each like that of `PacketRoutingEnv`: one decision per network and step.

    Network k behaves in every step like a `PacketRoutingEnv` with the same keywords and seed + k. Observations
    [K, width], rewards [K] and masks are written in place into arrays that are allocated once.

    `autoreset_mode` determines the step after an episode, as in Gymnasium. `NextStep`: the next step begins the new
    episode; its action is ignored and its reward is 0. With control=decision this is every second step. `SameStep`: the
    last step of an episode returns the first observation of the next one. The last observation and info of the old
    episode are in `info["final_obs"]` [K] (objects: [width] each, or None) and `info["final_info"]`. `Disabled`: the
    caller must call `reset(options={"reset_mask": ...})` before the next step.

    info: `action_mask` [K, slots], `router`, `time_ns` and `invalid_actions` [K], each with Gymnasium's `_name`.

    Args:
        num_envs: K.
        render_mode: `ansi`: `render()` returns a text per network.
        copy: return copies; otherwise the next step overwrites the returned arrays.
        autoreset_mode: an `AutoresetMode` or its name. With SameStep, Gymnasium's `RecordEpisodeStatistics` is right
            from Gymnasium 1.4 on.
        **keywords: see `PacketOptions`.

    Raises:
        ConfigError: a keyword is unknown, or the world cannot be built.

    Version history:
        v0: the first version.
        v1: see `PacketRoutingEnv`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": ["ansi"],
        "render_fps": 1,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        render_mode: str | None = None,
        copy: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **keywords: Unpack[PacketKeywords],
    ) -> None:
        self.options = PacketOptions.read(keywords, type(self).__name__)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(unknown("render_mode", str(render_mode), self.metadata["render_modes"], "mode"))
        check_number("num_envs", num_envs, 1, whole=True)
        modes = [mode.value for mode in AutoresetMode]
        if not isinstance(autoreset_mode, AutoresetMode) and autoreset_mode not in modes:
            raise ConfigError(unknown("autoreset_mode", str(autoreset_mode), modes, "mode"))
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.num_envs, self.render_mode, self._copy = num_envs, render_mode, copy
        check_room(self.options.world.simulation(self.options.routing(), 0), num_envs)
        self._networks = [PacketNetwork(self.options) for _ in range(num_envs)]
        width, slots = self._networks[0].width, self._networks[0].slots
        low, high = bounds_of(self._networks[0].seam)
        self.single_observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(slots)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

        self._observation = np.zeros((num_envs, width), np.float32)
        self._reward = np.zeros(num_envs, np.float64)
        self._terminated, self._truncated = np.zeros(num_envs, np.bool_), np.zeros(num_envs, np.bool_)
        self._info: dict[str, _Arrays] = {
            "action_mask": np.zeros((num_envs, slots), np.bool_),
            "router": np.zeros(num_envs, np.int64),
            "time_ns": np.zeros(num_envs, np.float64),
            "invalid_actions": np.zeros(num_envs, np.int64),
        }
        self._all = np.ones(num_envs, np.bool_)

    @property
    def simulations(self) -> list[Simulation]:
        """The present networks."""
        return [network.simulation for network in self._networks]

    @property
    def seam(self) -> dict[str, Any]:
        """The features, with names, bounds and meanings."""
        return dict(self._networks[0].seam)

    def action_masks(self) -> NDArray[np.bool_]:
        """True for slots with a candidate, [K, slots]."""
        return np.array([network.mask for network in self._networks])

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
        chosen = self._reset_mask(options)
        super().reset(seed=seeds[0])
        for k in np.flatnonzero(chosen):
            self._networks[k].reset(seeds[k], fallback=int(self.np_random.integers(2**31)))
        self._terminated[chosen] = self._truncated[chosen] = False
        self._reward[chosen] = 0
        self._look()
        return self._out(self._observation), self._infos()

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float32], _Arrays, _Arrays, _Arrays, dict[str, Any]]:
        """Decide in every network.

        Args:
            actions: slots, [K].

        Raises:
            ConfigError: as `PacketRoutingEnv.step`; then no network has made the step.
            CoreError: with `autoreset_mode` Disabled, an episode is over and was not reset.
        """
        results = self._decide(actions)
        self._reward[:], self._terminated[:], self._truncated[:] = zip(*results, strict=True)
        final: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            ended = self._terminated | self._truncated
            if ended.any():
                final = self._final(ended)
                for done in np.flatnonzero(ended):
                    self._networks[done].reset(None, fallback=0)
        self._look()
        out, infos = self._out, {**self._infos(), **final}
        return out(self._observation), out(self._reward), out(self._terminated), out(self._truncated), infos

    def _decide(self, actions: ArrayLike) -> list[tuple[float, bool, bool]]:
        """Decide in every network; returns reward, terminated and truncated of each. See `step`."""
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise ConfigError(
                f"actions: {chosen.dtype} of shape {chosen.shape}; give whole numbers of shape ({self.num_envs},)"
            )
        mode = self.autoreset_mode
        over = ~self._all if mode is AutoresetMode.SAME_STEP else self._terminated | self._truncated
        if mode is AutoresetMode.DISABLED and over.any():
            numbers = ", ".join(map(str, np.flatnonzero(over)))
            raise CoreError(f"step(): episodes {numbers} are over; call reset(options={{'reset_mask': ...}}) first")
        steps = list(zip(self._networks, chosen.tolist(), over.tolist(), strict=True))
        # All actions are checked first, so that a refused step changes no network.
        for network, slot, begins in steps:
            if not begins:
                network.check(slot)
        results = []
        for network, slot, begins in steps:
            if begins:
                network.reset(None, fallback=0)
                results.append((0.0, False, False))
            else:
                results.append(network.step(slot))
        return results

    def render(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The present decisions as text, one per network."""
        return tuple(network.describe() for network in self._networks) if self.render_mode == "ansi" else None

    def _look(self) -> None:
        networks, info = self._networks, self._info
        np.concatenate([network.observation for network in networks], out=self._observation.reshape(-1))
        np.concatenate([network.mask for network in networks], out=info["action_mask"].reshape(-1))
        info["router"][:] = [network.router for network in networks]
        info["time_ns"][:] = [network.time_ns for network in networks]
        info["invalid_actions"][:] = [network.invalid_actions for network in networks]

    def _final(self, ended: NDArray[np.bool_]) -> dict[str, Any]:
        """The last observations and infos of the ended episodes."""
        self._look()
        observations = np.full(self.num_envs, None, object)
        for k in np.flatnonzero(ended):
            observations[k] = self._observation[k].copy()
        info: dict[str, Any] = {}
        for name, values in self._info.items():
            info[name], info[f"_{name}"] = values.copy(), ended
            if not ended.all():
                info[name][~ended] = 0
        return {"final_obs": observations, "_final_obs": ended, "final_info": info, "_final_info": ended}

    def _reset_mask(self, options: dict[str, Any] | None) -> NDArray[np.bool_]:
        valid = ("reset_mask",) if self.autoreset_mode is AutoresetMode.DISABLED else ()
        check_options(options, valid)
        if not options:
            return self._all
        mask = np.asarray(options["reset_mask"])
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ConfigError(f"reset_mask: {mask.dtype} {mask.shape}; it needs bool ({self.num_envs},)")
        return mask

    def _out(self, array: _Arrays) -> _Arrays:
        return array.copy() if self._copy else array

    def _infos(self) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for name, values in self._info.items():
            infos[name], infos[f"_{name}"] = self._out(values), self._all
        return infos
