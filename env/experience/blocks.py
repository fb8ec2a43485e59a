"""Blocks of features and rewards in NumPy, registered from Python; they need no compiler.

    from flitgym.env import Asked, Feature, PacketBatch, blocks

    @blocks.observation("ahead", per_slot=[Feature("load", 0, 1000, "flits queued for the link or not yet credited")])
    def ahead(asked: Asked, general, per_slot):
        per_slot[:, :, 0] = asked.arrays["ports"]["load"][asked.link]

    @blocks.reward("delay_in_ns")
    def delay_in_ns(rows, simulation):
        return rows["reward"] * 1000

    batch = PacketBatch(4, observation="progress+path+ahead", reward="delay_in_ns")

An observation names Python's blocks and the core's in any order. `seam` lists their features in that order: all
`general` features first, then those of slot 0, slot 1, ... `PacketBatch` takes observations and rewards from Python;
`PacketRoutingEnv` and `PacketRoutingVecEnv` take only observations. The folder `blocks` of an installed plugin may hold
such modules (`flitgym.plugins`). They are imported when a name is not registered yet. Policies that run inside the core
(`routing=policy`, `flitgym train` and its rollouts) have only the core's blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...configs import refuse_unknown
from ...simcore import ConfigError, Simulation, registered
from ...simcore.plugins import load_all
from .asked import Asked, Tables
from .ring import Rows

Write = Callable[[Asked, NDArray[np.float32], NDArray[np.float32]], None]
"""Writes `general` [n, g] and `per_slot` [n, slots, p] of all decisions of one network in a cycle."""
Pay = Callable[[Rows, Simulation], ArrayLike]
"""Maps transitions of one network (the columns of `PacketBatch.take()`) to their rewards, [n]."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ALONE = "progress"  # the core's block if an observation names only Python's, since the core needs at least one


@dataclass(frozen=True)
class Feature:
    """One number of an observation.

    Args:
        name: `seam` shows it after the name of its block.
        low: smallest value, or -inf; every value is checked.
        high: largest value, or inf; every value is checked.
        meaning: a description with the unit.
    """

    name: str
    low: float
    high: float
    meaning: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"Feature: '{self.name}' is not a valid name; names have letters, digits and _")
        if not self.low <= self.high:
            raise ConfigError(
                f"Feature: '{self.name}' has low={self.low} and high={self.high}; low must be at most high"
            )

    def described(self, block: str) -> dict[str, Any]:
        """The feature as an entry of `Simulation.seam()`."""
        return {"name": f"{block}.{self.name}", "low": self.low, "high": self.high, "doc": self.meaning}


@dataclass(frozen=True)
class ObservationBlock:
    """A block registered by `observation()`."""

    name: str
    general: tuple[Feature, ...]
    per_slot: tuple[Feature, ...]
    write: Write
    setup: Callable[[Tables], Any] | None

    def __reduce__(self) -> tuple[Any, ...]:
        # The function is pickled by its name; loading it imports its module, which registers the block.
        return _loaded, ("observation", self.name, self.write)


@dataclass(frozen=True)
class RewardBlock:
    """A reward registered by `reward()`."""

    name: str
    pay: Pay
    base: str

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, ("reward", self.name, self.pay)


OBSERVATIONS: dict[str, ObservationBlock] = {}
REWARDS: dict[str, RewardBlock] = {}


def observation(
    name: str,
    general: Sequence[Feature] = (),
    per_slot: Sequence[Feature] = (),
    setup: Callable[[Tables], Any] | None = None,
) -> Callable[[Write], Write]:
    """Register a block of features. The decorator returns the function unchanged.

    The function is called once per network and cycle with all decisions (`Asked`). It writes into two float32 arrays,
    `general` [n, g] and `per_slot` [n, slots, p], which are filled with NaN before the call. A value that is not
    written or is outside the feature's bounds raises an error that names the feature. Values of slots without a
    candidate become 0, as in the core's blocks.

    Args:
        name: of the block.
        general: features of a decision.
        per_slot: features of each candidate.
        setup: called once per network, with its `Tables`. Its result is `asked.own`, e.g. tables, or arrays that the
            block keeps between cycles. The result is copied and pickled with the batch, so it must not hold views of
            the simulation's memory; use `asked.arrays` for them.
    """
    _check_name("observation", name)

    def register(write: Write) -> Write:
        _check_taken("observation", name, write)
        OBSERVATIONS[name] = ObservationBlock(name, tuple(general), tuple(per_slot), write, setup)
        return write

    return register


def reward(name: str, base: str = "hop_delay") -> Callable[[Pay], Pay]:
    """Register a reward. The decorator returns the function unchanged.

    `PacketBatch.take()` calls the function once per network with the network's new transitions: read-only columns
    [n, ...] as `take()` returns them, including those of `apply()`. The column `reward` has the core's reward `base`,
    in us. `next_decided` [n] is the cycle of the packet's next decision, 0 without one (`next_decision` is
    `NO_DECISION`). The second argument is the simulation. Its time is later than that of the transitions.

    Args:
        name: of the reward.
        base: the core's reward, which determines when a transition is complete: `hop_delay` and `relative_delay` at the
            packet's next decision or its delivery, `end_to_end_delay` and `job_slowdown` at its delivery.
    """
    _check_name("reward", name)
    refuse_unknown(f"reward '{name}': base", [base], registered("reward"), "reward")

    def register(pay: Pay) -> Pay:
        _check_taken("reward", name, pay)
        REWARDS[name] = RewardBlock(name, pay, base)
        return pay

    return register


@dataclass(frozen=True)
class Parts:
    """The core's and Python's parts of an observation and a reward.

    Attributes:
        named: all blocks of the observation, in their order.
        core: the core's observation.
        core_reward: the core's reward.
        observations: Python's blocks.
        reward: Python's reward, if there is one.
        delay_ns: see `Late`.
        noise: see `Late`.
    """

    named: tuple[str, ...]
    core: str
    core_reward: str
    observations: tuple[ObservationBlock, ...]
    reward: RewardBlock | None
    delay_ns: float = 0.0
    noise: float = 0.0

    @property
    def in_python(self) -> bool:
        """Whether Python writes features."""
        return bool(self.observations or self.delay_ns or self.noise)

    @classmethod
    def of(cls, observation: str, reward: str, delay_ns: float = 0.0, noise: float = 0.0) -> Parts:
        """Find the parts by their names."""
        named, core = tuple(observation.split("+")), registered("observation")
        _look_in_plugins(named, reward)
        refuse_unknown("observation", named, {*core, *OBSERVATIONS}, "block")
        for name in named:
            if named.count(name) > 1:
                raise ConfigError(f"observation: '{name}' occurs twice")
        refuse_unknown("reward", [reward], {*registered("reward"), *REWARDS}, "reward")
        paid = REWARDS.get(reward)
        return cls(
            named,
            "+".join(name for name in named if name in core) or _ALONE,
            paid.base if paid else reward,
            tuple(OBSERVATIONS[name] for name in named if name in OBSERVATIONS),
            paid,
            delay_ns,
            noise,
        )

    def seam(self, core: Mapping[str, Any]) -> dict[str, Any]:
        """`Simulation.seam()` with the features of Python's blocks inserted in the order of the observation.

        Args:
            core: the seam of a simulation that has only the core's blocks.
        """
        merged = dict(core)
        if self.observations:
            python = {block.name: block for block in self.observations}
            for kind in ("general", "per_slot"):
                merged[kind] = []
                for name in self.named:
                    if name in python:
                        merged[kind] += [feature.described(name) for feature in getattr(python[name], kind)]
                    else:
                        merged[kind] += [one for one in core[kind] if one["name"].startswith(f"{name}.")]
            merged["width"] = len(merged["general"]) + merged["slots"] * len(merged["per_slot"])
            merged["observation"] = "+".join(self.named)
        if self.reward:
            merged["reward"] = self.reward.name
        return merged

    def rewards(self, rows: Rows, simulations: Sequence[Simulation]) -> NDArray[np.float32]:
        """The rewards of Python's function.

        Args:
            rows: transitions with their `network`, network after network.
            simulations: the networks.
        """
        assert self.reward is not None
        paid = np.empty(len(rows["network"]), np.float32)
        ends = np.searchsorted(rows["network"], np.arange(len(simulations) + 1))
        for k, simulation in enumerate(simulations):
            part = slice(int(ends[k]), int(ends[k + 1]))
            if part.start < part.stop:
                paid[part] = _paid(self.reward, {name: column[part] for name, column in rows.items()}, simulation, k)
        return paid


def refuse_in_core(routing: Mapping[str, Any]) -> None:
    """Refuse Python's blocks for policies that run inside the core."""
    observation, reward = str(routing.get("observation") or ""), str(routing.get("reward") or "")
    named = observation.split("+") if observation else []
    _look_in_plugins(named, reward)
    for name in (*named, reward):
        if name in OBSERVATIONS or name in REWARDS:
            raise ConfigError(
                f"routing: '{name}' is computed in Python, and a policy inside the core (routing="
                f"{routing.get('name', '')}, as in flitgym train) has only the core's blocks. Use PacketBatch, or for "
                "an observation PacketRoutingEnv, or write it in C++ (simcore/src/learning)"
            )


def _paid(block: RewardBlock, rows: Rows, simulation: Simulation, network: int) -> NDArray[np.float32]:
    for column in rows.values():
        column.flags.writeable = False
    paid, n = np.asarray(block.pay(rows, simulation)), len(rows["network"])
    if paid.shape != (n,) or paid.dtype.kind not in "fiub" or not np.isfinite(paid).all():
        raise ConfigError(
            f"reward '{block.name}' of network {network}: it returned {paid.dtype} of shape {paid.shape}; {n} "
            f"transitions need finite numbers of shape ({n},)"
        )
    return paid.astype(np.float32)


def _look_in_plugins(observations: Sequence[str], reward: str) -> None:
    # Blocks of plugins are imported when a name is not registered yet.
    blocks = all(name in OBSERVATIONS or name in registered("observation") for name in observations)
    if not (blocks and (not reward or reward in REWARDS or reward in registered("reward"))):
        load_all("blocks")


def _check_name(kind: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{kind}: '{name}' is not a valid name; names have letters, digits and _")
    if name in registered(kind):
        raise ConfigError(
            f"{kind}: the core has '{name}'; these names are taken: {', '.join(sorted(registered(kind)))}"
        )


def _check_taken(kind: str, name: str, function: Callable[..., Any]) -> None:
    # A notebook's cell or a reloaded module registers its block again.
    before = OBSERVATIONS.get(name) if kind == "observation" else REWARDS.get(name)
    if before is None:
        return
    other = before.write if isinstance(before, ObservationBlock) else before.pay
    if _where(other) != _where(function):
        raise ConfigError(f"{kind}: '{name}' is taken by {_where(other)}; choose another name")


def _where(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__name__)}"


def _loaded(kind: str, name: str, function: Callable[..., Any]) -> ObservationBlock | RewardBlock:
    found = OBSERVATIONS.get(name) if kind == "observation" else REWARDS.get(name)
    if found is None:
        raise ConfigError(f"{kind}: '{name}' was made by {_where(function)}, which no longer registers it")
    return found
