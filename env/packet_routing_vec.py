"""Several networks side by side: `flitgym/PacketRoutingVec-v0`, and `PacketBatch`, in which nothing is copied."""

from __future__ import annotations

from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from ..configs import unknown
from ..simcore import ConfigError, CoreError, Simulation, Worlds
from .packet_network import PacketKeywords, PacketNetwork, PacketOptions, bounds, episode_seed

_Arrays = NDArray[Any]


class PacketRoutingVecEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """K networks as `PacketRoutingEnv` has one: one decision per network and step.

    Network k behaves, step by step, as a `PacketRoutingEnv` with the same keywords and seed + k. Observations
    [K, width], rewards [K] and masks are written in place into arrays that are allocated once. An episode that has
    ended begins anew with the next step, whose action is not heeded and whose reward is 0 (`AutoresetMode.NEXT_STEP`).

    info: `action_mask` [K, slots], `router`, `time_ns` and `invalid_actions` [K], each with its `_name` as Gymnasium
    has it.

    Args:
        num_envs: K.
        render_mode: `ansi`: `render()` returns a text per network.
        copy: return copies; without, the next step overwrites what this one has returned.
        **keywords: see `PacketOptions`.

    Raises:
        ConfigError: unknown keyword, or a world that cannot be built.

    Version history:
        v0: the first.
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
        **keywords: Unpack[PacketKeywords],
    ) -> None:
        self.options = PacketOptions.read(keywords, type(self).__name__)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(unknown("render_mode", str(render_mode), self.metadata["render_modes"], "mode"))
        if num_envs < 1:
            raise ConfigError(f"num_envs: {num_envs}; there must be at least one network")
        self.num_envs, self.render_mode, self._copy = num_envs, render_mode, copy
        self._networks = [PacketNetwork(self.options) for _ in range(num_envs)]
        width, slots = self._networks[0].width, self._networks[0].slots
        low, high = bounds(self._networks[0].seam)
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
        self._everyone = np.ones(num_envs, np.bool_)

    @property
    def simulations(self) -> list[Simulation]:
        """The present networks."""
        return [network.simulation for network in self._networks]

    @property
    def seam(self) -> dict[str, Any]:
        """The features, with names, bounds and meanings."""
        return dict(self._networks[0].seam)

    def action_masks(self) -> NDArray[np.bool_]:
        """Which slots hold a candidate, [K, slots]."""
        return self._info["action_mask"].copy()

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in every network.

        Args:
            seed: of network 0, those of the others follow; or a list with one of each.
            options: there are none.
        """
        seeds = seed if isinstance(seed, list) else [None if seed is None else seed + k for k in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ConfigError(f"seed: {len(seeds)} seeds for {self.num_envs} networks")
        super().reset(seed=seeds[0])
        for network, own in zip(self._networks, seeds, strict=True):
            network.reset(own, fallback=int(self.np_random.integers(2**31)))
        self._terminated[:] = self._truncated[:] = False
        self._reward[:] = 0
        self._look()
        return self._out(self._observation), self._told()

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float32], _Arrays, _Arrays, _Arrays, dict[str, Any]]:
        """Decide in every network.

        Args:
            actions: slots, [K].

        Raises:
            ConfigError: as `PacketRoutingEnv.step`; then none of the networks has gone on.
        """
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,):
            raise ConfigError(f"actions: shape {chosen.shape} for {self.num_envs} networks")
        over = self._terminated | self._truncated
        # All are looked at before any is heeded, so that a refused step has not been taken by halves.
        for k, network in enumerate(self._networks):
            if not over[k]:
                network.check(int(chosen[k]))
        for k, network in enumerate(self._networks):
            if over[k]:
                network.reset(None, fallback=0)
                self._reward[k], self._terminated[k], self._truncated[k] = 0.0, False, False
            else:
                self._reward[k], self._terminated[k], self._truncated[k] = network.step(int(chosen[k]))
        self._look()
        out = self._out
        return out(self._observation), out(self._reward), out(self._terminated), out(self._truncated), self._told()

    def render(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The present decisions as text, one per network."""
        return tuple(network.describe() for network in self._networks) if self.render_mode == "ansi" else None

    def _look(self) -> None:
        for k, network in enumerate(self._networks):
            self._observation[k] = network.observation
            self._info["action_mask"][k] = network.mask
            self._info["router"][k] = network.router
            self._info["time_ns"][k] = network.simulation.time_ns
            self._info["invalid_actions"][k] = network.invalid_actions

    def _out(self, array: _Arrays) -> _Arrays:
        return array.copy() if self._copy else array

    def _told(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for name, values in self._info.items():
            told[name], told[f"_{name}"] = self._out(values), self._everyone
        return told


class PacketBatch:
    """All decisions of a cycle of K networks at once, in the core's own memory.

        batch = PacketBatch(4, overrides=["topology=dragonfly_1056"])
        batch.reset(seed=1)
        while batch.time_ns.min() < 10_000:
            n = batch.collect()
            batch.apply(policy(batch.observation[:n], batch.mask[:n]))

    `collect()` takes every network to its next cycle with a decision, so they need not be at the same time. Rows [0, n)
    of `observation` [rows, width] float32, `mask` [rows, slots] bool, `network` and `router` [rows] uint32 are the
    decisions, network after network. These four are views whose addresses stay the same until the next `reset()`; a
    tensor made of one by `torch.from_numpy` sees every cycle. What is learned from is in the rings, `transitions(k)`.

    Args:
        num_envs: K.
        **keywords: `world`, `overrides`, `vary`, `slots`, `observation`, `reward`, `relation` and `record` of
            `PacketOptions`; the others are about single packets and episodes, which a batch leaves to its owner.

    Raises:
        ConfigError: unknown keyword, or a world that cannot be built.
    """

    KEYWORDS = ("world", "overrides", "vary", "slots", "observation", "reward", "relation", "record")

    def __init__(self, num_envs: int = 1, **keywords: Any) -> None:
        for key in keywords:
            if key not in self.KEYWORDS:
                raise ConfigError(unknown(type(self).__name__, key, self.KEYWORDS, "keyword"))
        if num_envs < 1:
            raise ConfigError(f"num_envs: {num_envs}; there must be at least one network")
        self.num_envs = num_envs
        self.options = PacketOptions.read(keywords, type(self).__name__)
        self.simulations: list[Simulation] = []
        self._worlds: Worlds | None = None
        self._number, self._seed = 0, 0

    def reset(self, seed: int | None = None) -> None:
        """Draw K new networks: network k is that of `PacketRoutingEnv` with seed + k, of its next episode.

        Args:
            seed: starts anew with this seed; none goes on.
        """
        if seed is not None:
            self._seed, self._number = seed, 0
        routing, world = self.options.routing(), self.options.world
        numbers = (episode_seed(self._seed + k, self._number) for k in range(self.num_envs))
        self.simulations = [world.simulation(routing, number) for number in numbers]
        self._number += 1
        self._worlds = Worlds(list(self.simulations))
        self.observation, self.mask = self._worlds.observation, self._worlds.mask
        self.network, self.router = self._worlds.network, self._worlds.router
        self._rings = [simulation.transitions() for simulation in self.simulations]

    def collect(self, max_cycles: int = 10_000) -> int:
        """Go on to the next decisions.

        Args:
            max_cycles: at most so many cycles in a network that asks nothing.

        Returns:
            Their number; 0 means that no network has asked anything in that time.
        """
        return self._built().collect(max_cycles)

    def apply(self, actions: NDArray[np.integer[Any]]) -> None:
        """Decide.

        Args:
            actions: a slot for each decision, [n], in the order of the rows.

        Raises:
            ConfigError: a slot without a candidate; nothing is decided then.
        """
        self._built().apply(actions)

    def transitions(self, k: int) -> dict[str, _Arrays]:
        """Network k's ring of transitions: views [record, ...] of the core's memory; see `Simulation.transitions`."""
        self._built()
        return self._rings[k]

    def filed(self, k: int) -> int:
        """Transitions of network k that were ever filed; number i lies in row i mod record."""
        return self.simulations[k].transition_count

    @property
    def time_ns(self) -> NDArray[np.float64]:
        """Simulated time of every network, [K]."""
        return np.array([simulation.time_ns for simulation in self.simulations])

    @property
    def seam(self) -> dict[str, Any]:
        """The features, with names, bounds and meanings."""
        self._built()
        return self.simulations[0].seam()

    def _built(self) -> Worlds:
        if self._worlds is None:
            raise CoreError("PacketBatch: there are no networks yet; call reset() first")
        return self._worlds
