"""The keywords of the environments of packets, and their checks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..configs import refuse_unknown
from ..simcore import ConfigError, Simulation
from .experience.blocks import Parts
from .experience.world import Vary, World, check_number, routing_section, window_cycles

Choose = Callable[[NDArray[np.float32], NDArray[np.bool_]], NDArray[np.integer[Any]]]
"""A rule that maps observations [n, width] and masks [n, slots] to n slots.

The arrays are views; copy values to keep them.
"""

OBSERVATION = "progress+router+queues+path+q_values"
SOURCE_OBSERVATION = "progress+router+queues+returned"
TOLLED_EPISODE_NS = 25_000.0
DEFAULT_WORLD = ("topology=dragonfly_72", "traffic=mixed", "traffic.load=0.3")

_CONTROLS = ("decision", "all", "packet")
_INVALID = ("error", "minimal")
_BACKGROUNDS = ("minimal", "random")


TOLLED: dict[str, Any] = {"observation": "relative+relative_lost", "reward": "relative_delay", "toll": 2.0}
"""The keywords of `flitgym/TolledRouting-v0`, for environments without an id, such as `PacketBatch`."""


@dataclass(frozen=True)
class PacketOptions:
    """The options of an environment of packets.

    Args:
        world: a `World`, or a mapping of its sections; None = Dragonfly of 72 terminals with mixed traffic of load 0.3.
        overrides: instead of `world`, any configuration, as after `flitgym simulate`.
        vary: with `overrides` or a mapping: the keys that are drawn for each network; see `World`.
        slots: the largest number of candidates in an observation, 2 to 16.
        observation: blocks of features, joined by +: the core's and Python's (`flitgym.env.experience.blocks`).
        reward: the core's reward of a transition, in us; `flitgym simulate --help` lists the choices. `PacketBatch`
            also takes rewards from Python. With control=all, `job_slowdown` charges more for the packets of slower
            jobs. All other rewards charge all packets alike.
        toll: for relative_delay: extra weight of the time lost to queueing.
        relation: the relation that lists the candidates.
        decisions: `router`: every router of a path decides. `source`: the first router decides for the NIC, and the
            candidates are paths. `both`: the source chooses a path, and later routers choose among its ports.
        flowlet_gap_ns: with `source` or `both`, a source keeps its path until it has sent no packet to the destination
            router for this time; 0 = it chooses for each packet.
        slots_by: the choice of candidates if there are more than slots: `random`, `rotated` (also random among the
            equally long paths at the front), or `estimate`, the lowest estimates
            of path and queueing time.
        delay_ns: age of the features of queues that a decision sees; see `Late`.
        noise: their relative standard deviation.
        record: transitions that the core keeps; it must be more than arrive in one step.
        control: the decisions of an episode, and the reward: `decision` (see `OneDecision`), `all` (`AllDecisions`) or
            `packet` (`OnePacket`).
        background: decides in the warm-up, and with control=packet for the other packets: `minimal` (slot 0),
            `random`, a rule that chooses for n decisions at once, or the name of a routing of the core (`q_adaptive`,
            `par`, `ugal_l`). With such a routing the agent chooses among its candidates, so `relation` and `decisions`
            must be left out. Only one of the routing and the observation may learn from feedback.
        invalid: `minimal` replaces an action outside the mask with slot 0 and counts it; `error` refuses it.
        episode_ns: simulated time of a network, after the warm-up. None: 10,000 for traffic (25,000 with
            control=decision and reward=relative_delay), and no limit for a workload, whose end is then the end of the
            episode.
        episode_decisions: a limit on the agent's decisions in a network; 0 = none.
        warmup_ns: simulated time before the first episode of a network, in which `background` decides for all packets.
            A pair (low, high): drawn for each network, so that episodes begin at random times of a job.
    """

    world: World
    slots: int = 8
    observation: str = OBSERVATION
    reward: str = "hop_delay"
    toll: float = 1.0
    relation: str = "widest"
    decisions: str = "router"
    flowlet_gap_ns: float = 0.0
    slots_by: str = "random"
    delay_ns: float = 0.0
    noise: float = 0.0
    record: int = 8192
    control: str = "decision"
    background: str | Choose = "minimal"
    invalid: str = "minimal"
    episode_ns: float | None = None
    episode_decisions: int = 0
    warmup_ns: float | tuple[float, float] = 0.0

    def __post_init__(self) -> None:
        for key, valid in (("control", _CONTROLS), ("invalid", _INVALID)):
            refuse_unknown(key, [getattr(self, key)], valid, "value")
        if self.acting and (self.relation, self.decisions, self.flowlet_gap_ns) != ("widest", "router", 0):
            raise ConfigError(f"background: {self.background} lists the candidates; leave out relation and decisions")
        if self.episode_ns is not None:
            check_number("episode_ns", self.episode_ns, 1)
        low, high = self._warmup
        check_number("warmup_ns", low)
        check_number("warmup_ns", high, low)
        check_number("delay_ns", self.delay_ns)
        check_number("noise", self.noise, most=100)
        check_number("record", self.record, 1, whole=True)
        check_number("episode_decisions", self.episode_decisions, whole=True)
        _ = self.parts

    @classmethod
    def read(cls, keywords: Mapping[str, Any], environment: str, without: Collection[str] = ()) -> PacketOptions:
        """Check the keywords of an environment, which does not have those of `without`.

        Raises:
            ConfigError: a keyword is unknown, keywords contradict each other, or the world does not exist.
        """
        valid = {*(field.name for field in fields(cls)), "overrides", "vary"}.difference(without)
        refuse_unknown(environment, keywords, valid, "keyword")
        own = dict(keywords)
        world = world_of(own.pop("world", None), own.pop("overrides", None), own.pop("vary", None))
        return cls(world, **own)

    @functools.cached_property
    def parts(self) -> Parts:
        """The core's and Python's parts of observation and reward.

        Raises:
            ConfigError: a name is not registered.
        """
        return Parts.of(self.observation, self.reward, self.delay_ns, self.noise)

    @functools.cached_property
    def acting(self) -> dict[str, Any] | None:
        """The section `routing` of the background if it is a routing of the core."""
        if callable(self.background) or self.background in _BACKGROUNDS:
            return None
        return routing_section("background", self.background)

    def start_cycles(self, simulation: Simulation, seed: int) -> int:
        """The length of the warm-up of the network with this seed."""
        return window_cycles(simulation, "warmup_ns", np.random.default_rng([seed, 2]).uniform(*self._warmup))

    @property
    def _warmup(self) -> tuple[float, float]:
        given = self.warmup_ns
        return (given[0], given[1]) if isinstance(given, Sequence) else (given, given)

    def simulation(self, seed: int, warm: bool = True) -> Simulation:
        """The network of the episode with this seed; if `warm`, after a warm-up by a routing of the core."""
        seen = {"observation": self.parts.core, "reward": self.parts.core_reward}
        seen |= {key: getattr(self, key) for key in ("slots", "toll", "slots_by")}
        if self.acting is None:
            own = {key: getattr(self, key) for key in ("relation", "decisions", "flowlet_gap_ns", "record")}
            return self.world.simulation({"name": "agent", **seen, **own}, seed)
        simulation = self.world.simulation(self.acting, seed, record={**seen, "capacity": self.record})
        if warm and (cycles := self.start_cycles(simulation, seed)):
            (simulation.run_workload if simulation.jobs() else simulation.run)(cycles)
        simulation._hand_over()
        return simulation


def world_of(world: World | Mapping[str, Any] | None, overrides: Sequence[str] | None, vary: Vary | None) -> World:
    """The world that the keywords `world`, `overrides` and `vary` describe.

    Raises:
        ConfigError: the keywords contradict each other, or the world does not exist.
    """
    if world is not None and overrides is not None:
        raise ConfigError("world and overrides both describe the network; give one of them")
    if isinstance(world, World):
        if vary is not None:
            raise ConfigError("vary: a World has its own vary; give it there")
        return world
    if world is not None:
        return World(world, vary or {})
    if overrides is None and vary is None:
        return _default_world()
    return World.composed(DEFAULT_WORLD if overrides is None else overrides, vary)


@functools.cache
def _default_world() -> World:
    return World.composed(DEFAULT_WORLD)


def check_options(options: Mapping[str, Any] | None, valid: Sequence[str] = ()) -> None:
    """Refuse unknown `reset(options=...)`.

    Raises:
        ConfigError: names the option and the valid ones.
    """
    refuse_unknown("reset()", options or (), valid, "option")
