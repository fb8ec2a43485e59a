"""A world: the network and the traffic in which agents learn. Their parameters may be drawn for each episode."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from ...configs import compose, core_sections, draws_failures, explain, refuse_unknown
from ...configs.policies import require_policy_file, routing_of
from ...simcore import ConfigError, CoreError, Simulation
from .blocks import refuse_in_core

_SECTIONS = ("topology", "router", "traffic", "workload", "congestion_control", "failures")
EPISODE_NS = 10_000.0  # an episode of traffic, which has no end
Vary = Mapping[str, Sequence[Any] | Mapping[str, float]]  # values or bounds by key, as `World` describes them
_DRAWS = 16  # attempts to draw failures that can be routed, per episode


@dataclass(frozen=True)
class World:
    """A simulation's configuration without the routing and the seed.

    Args:
        sections: `topology`, `router`, `traffic` or `workload`, and `failures` and `congestion_control` if there are
            any, as `flitgym.simcore.Simulation` takes them.
        vary: keys that are drawn for each episode (domain randomisation). A section (`traffic`) or a dotted key in it
            (`traffic.load`) has a list of equally likely values, or a mapping `{low, high}` for a uniform number. Keys
            are drawn in their order, so `traffic` may come before `traffic.load`. If keys of `failures` are drawn, e.g.
            `failures.links` from [0, 0.02, 0.05], or failures are a number or a fraction, each episode draws its own
            `failures.seed`. This draw is off if `sections` or `vary` set `failures.seed`, or if `vary` has the whole
            section `failures`. With its own seeds, failures that cannot be routed are drawn again. The seed of the
            episode draws all other random choices without a seed of their own, such as placements.
    """

    sections: Mapping[str, Any]
    vary: Vary = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, given in (("world", self.sections), ("vary", self.vary)):
            if not isinstance(given, Mapping):
                raise ConfigError(f"{name}: takes a mapping, not {given!r}")
        refuse_unknown("World", self.sections, _SECTIONS, "section")
        for key, choices in self.vary.items():
            if key.split(".")[0] not in _SECTIONS:
                raise ConfigError(f"World.vary: '{key}' is not a key of a section; sections: {', '.join(_SECTIONS)}")
            if isinstance(choices, Mapping):
                if sorted(choices) != ["high", "low"] or not choices["low"] <= choices["high"]:
                    raise ConfigError(f"World.vary: '{key}' takes a list, or a mapping with low <= high, not {choices}")
            elif isinstance(choices, str) or not isinstance(choices, Sequence) or not len(choices):
                raise ConfigError(f"World.vary: '{key}' takes a list of values, not {choices!r}")

    @classmethod
    def composed(cls, overrides: Sequence[str], vary: Vary | None = None) -> World:
        """The world of a configuration.

        Args:
            overrides: as after `flitgym simulate`, e.g. `topology=dragonfly_1056`, `traffic=adversarial`,
                `workload=mixed`; other keys have their defaults.
            vary: see `World`.
        """
        if isinstance(overrides, str) or not isinstance(overrides, Sequence):
            raise ConfigError(f"overrides: takes a list, e.g. ['traffic.load=0.3'], not {overrides!r}")
        for override in overrides:
            section = override.lstrip("+~").split("=", 1)[0].split(".", 1)[0].split("@", 1)[0]
            if section not in _SECTIONS:
                raise ConfigError(
                    f"overrides: '{override}' is not a key of a world; a world has {', '.join(_SECTIONS)}"
                )
        try:
            sections = core_sections(compose(list(overrides)))
        except (HydraException, OmegaConfBaseException) as error:
            raise ConfigError(f"overrides: {explain(error)}") from error
        return cls({key: value for key, value in sections.items() if key in _SECTIONS}, vary or {})

    def draw(self, seed: int, attempt: int = 0) -> dict[str, Any]:
        """The sections of the episode with this seed; the same seed gives the same sections.

        Args:
            seed: of the episode.
            attempt: number of earlier attempts, whose failures could not be routed.
        """
        drawn: dict[str, Any] = _copied(self.sections)
        random = np.random.default_rng([seed, 0x776F726C64])
        for key, choices in self.vary.items():
            if isinstance(choices, Mapping):
                value: Any = float(random.uniform(choices["low"], choices["high"]))
            else:
                value = _copied(choices[int(random.integers(len(choices)))])
            _put(drawn, key, value)
        if self._draws_failures:
            own = np.random.default_rng([seed, 0x6661696C, attempt])
            _put(drawn, "failures.seed", int(own.integers(1 << 40)))
        return drawn

    def simulation(self, routing: str | Mapping[str, Any], seed: int, **sections: Any) -> Simulation:
        """A new simulation of the episode with this seed, at cycle 0, with more `sections`."""
        if isinstance(routing, Mapping):
            refuse_in_core(routing)
        for attempt in range(_DRAWS if self._draws_failures else 1):
            try:
                return Simulation({**self.draw(seed, attempt), "routing": routing, "seed": seed, **sections})
            except ConfigError as error:
                refused = error
        raise refused

    @property
    def _draws_failures(self) -> bool:
        # A seed that is given, or may be in a drawn section, is not replaced.
        drawn = [key for key in self.vary if key.split(".")[0] == "failures"]
        fixed = "failures" in drawn or "failures.seed" in drawn or "seed" in self.sections.get("failures", {})
        return not fixed and (bool(drawn) or draws_failures(self.sections.get("failures", {})))


def routing_section(key: str, word: str) -> dict[str, Any]:
    """The section `routing` of a routing's name or a policy's path."""
    option, settings = routing_of(key, word)
    try:
        section: dict[str, Any] = core_sections(compose([f"routing={option}"]))["routing"]
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(f"{key}: {explain(error)}") from error
    section |= {name.removeprefix("routing."): value for name, value in settings.items()}
    require_policy_file(section)
    return section


def episode_cycles(simulation: Simulation, episode_ns: float | None, usual_ns: float = EPISODE_NS) -> float:
    """The length of an episode in cycles, at least 1.

    Args:
        simulation: of the episode.
        episode_ns: the user's limit. None: `usual_ns` for traffic, and no limit (infinity) for a workload, which ends
            by itself.
        usual_ns: the length without a limit of the user.
    """
    if episode_ns is None and simulation.jobs():
        return math.inf
    return max(simulation.cycles(usual_ns if episode_ns is None else episode_ns), 1)


def check_number(key: str, value: Any, least: float = 0, most: float = 1e12, whole: bool = False) -> None:
    """Refuse a value of a key that is not a number, not an integer if it must be `whole`, or out of bounds."""
    kind = Integral if whole else Real
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= float(value) <= most:
        noun = "an integer" if whole else "a number"
        raise ConfigError(f"{key}: {value!r} is not {noun} within {least:g} .. {most:g}")


def window_cycles(simulation: Simulation, key: str, ns: Any, least: float = 0) -> int:
    """A user's time in cycles."""
    check_number(key, ns, least, simulation.facts()["end_of_time_cycles"] * simulation.cycle_ns)
    return simulation.cycles(ns)


def refuse_stuck(simulation: Simulation) -> None:
    """Refuse to run a workload that cannot continue."""
    if simulation.workload_stuck:
        raise CoreError(f"the ranks of the workload wait for ever:\n{simulation.waiting()}")


@dataclass(frozen=True)
class Mixture:
    """Several worlds for one training: different networks, routers, packets and traffic.

    Args:
        worlds: the worlds.
        episode_ns: the length of an episode in each world; None = the agent's. The simulated time of a round is
            proportional to it. Worlds with fast links have short episodes, so that a round does not simulate thousands
            of packets.
    """

    worlds: Sequence[World]
    episode_ns: Sequence[float | None]

    def __post_init__(self) -> None:
        if not self.worlds:
            raise ConfigError("worlds: the list is empty")

    @classmethod
    def alone(cls, world: World) -> Mixture:
        """A mixture of one world."""
        return cls([world], [None])

    @classmethod
    def composed(cls, members: Mapping[str, Mapping[str, Any]]) -> Mixture:
        """The mixture of a configuration.

        Args:
            members: by name, `overrides` and `vary` as for `World.composed`, `episode_ns` as above, and `share`, the
                number of times that the world occurs in the mixture (default 1).
        """
        worlds: list[World] = []
        lengths: list[float | None] = []
        for name, member in members.items():
            refuse_unknown(f"worlds.{name}", member, _MEMBER, "key")
            share, length = member.get("share", 1), member.get("episode_ns")
            check_number(f"worlds.{name}.share", share, most=64, whole=True)
            if length is not None:
                check_number(f"worlds.{name}.episode_ns", length, 1)
            try:
                world = World.composed(member.get("overrides") or [], member.get("vary"))
            except ConfigError as error:
                raise ConfigError(f"worlds.{name}: {error}") from error
            worlds += [world] * share
            lengths += [length] * share
        return cls(worlds, lengths)


_MEMBER = ("overrides", "vary", "episode_ns", "share")


def _copied(value: Any) -> Any:
    # Copies share arrays and the programs of jobs, which are large and never change.
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value


def _put(sections: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    at = sections
    for name in path:
        below = at.get(name, {})
        at[name] = {"name": below} if isinstance(below, str) else below
        at = at[name]
    at[last] = value
