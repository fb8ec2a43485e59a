"""Blocks of features and rewards in NumPy, registered from Python: no compiler, any expression over a batch.

    from flitgym.env import Asked, Feature, PacketBatch, blocks

    @blocks.observation("ahead", per_slot=[Feature("load", 0, 1000, "flits queued for the link or not yet credited")])
    def ahead(asked: Asked, general, per_slot):
        per_slot[:, :, 0] = asked.arrays["ports"]["load"][asked.link]

    @blocks.reward("delay_in_ns")
    def delay_in_ns(rows, simulation):
        return rows["reward"] * 1000

    batch = PacketBatch(4, observation="progress+path+ahead", reward="delay_in_ns")

They are named as the core's blocks are, in any order, and stand in `seam` in that order: `general` features first, then
those of slot 0, slot 1, ... `PacketBatch` takes both; `PacketRoutingEnv` and `PacketRoutingVecEnv` take observations.
An installed package brings such modules in its folder `blocks` (`flitgym.plugins`); they are imported when a name asks
for it. Policies that run inside the core (`routing=policy`, `flitgym-train` and its rollouts) see the core's blocks
alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...configs import unknown
from ...simcore import ConfigError, Simulation, registered
from ...simcore.plugins import load_all
from .asked import Asked, Tables
from .ring import Rows

Write = Callable[[Asked, NDArray[np.float32], NDArray[np.float32]], None]
"""Of all decisions of one network in a cycle: writes `general` [n, g] and `per_slot` [n, slots, p]."""
Pay = Callable[[Rows, Simulation], ArrayLike]
"""Of transitions of one network, the columns of `PacketBatch.take()`: the rewards, [n]."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ALONE = "progress"  # what the core is asked for where all blocks are Python's: it cannot be asked for nothing


@dataclass(frozen=True)
class Feature:
    """One number that an agent sees.

    Args:
        name: shown in `seam` behind that of its block.
        low: least value, -inf where there is none; every value is checked.
        high: greatest value, likewise.
        meaning: with the unit.
    """

    name: str
    low: float
    high: float
    meaning: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"Feature: '{self.name}' is no name; names are letters, digits and _")
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            raise ConfigError(f"Feature: '{self.name}' lies in {self.low} .. {self.high}; low <= high is needed")

    def described(self, block: str) -> dict[str, Any]:
        """As `Simulation.seam()` describes the core's."""
        return {"name": f"{block}.{self.name}", "low": self.low, "high": self.high, "doc": self.meaning}


@dataclass(frozen=True)
class ObservationBlock:
    """What `observation()` registers."""

    name: str
    general: tuple[Feature, ...]
    per_slot: tuple[Feature, ...]
    write: Write
    setup: Callable[[Tables], Any] | None

    def __reduce__(self) -> tuple[Any, ...]:
        # The function by its name: whoever loads it imports its module, which registers it.
        return _loaded, ("observation", self.name, self.write)


@dataclass(frozen=True)
class RewardBlock:
    """What `reward()` registers."""

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
    """Register a block of features; the function stays what it is.

    It is called once per network and cycle with all decisions (`Asked`) and writes into two arrays, float32: `general`
    [n, g] and `per_slot` [n, slots, p]. Both hold NaN before; whatever it leaves, or writes outside a feature's bounds,
    stops the run with feature and value. What it writes behind a decision's candidates is replaced by 0, as in the
    core's blocks.

    Args:
        name: of the block.
        general: features of a decision.
        per_slot: features of each candidate.
        setup: called once per network, with its `Tables`; what it returns is `asked.own`, e.g. tables, or arrays in
            which the block keeps what it has seen. It is copied and pickled with the batch, so it must not hold views
            of the simulation's memory; those are in `asked.arrays`.

    Raises:
        ConfigError: no feature, a feature twice, or a name that is taken.
    """
    every = [*general, *per_slot]
    _check_name("observation", name)
    if not every:
        raise ConfigError(f"observation '{name}': it has no features; give general, per_slot or both")
    names = [feature.name for feature in every]
    for feature in names:
        if names.count(feature) > 1:
            raise ConfigError(f"observation '{name}': two features are named '{feature}'")

    def register(write: Write) -> Write:
        _check_taken("observation", name, write)
        OBSERVATIONS[name] = ObservationBlock(name, tuple(general), tuple(per_slot), write, setup)
        return write

    return register


def reward(name: str, base: str = "hop_delay") -> Callable[[Pay], Pay]:
    """Register a reward; the function stays what it is.

    It is called by `PacketBatch.take()` once per network, with the network's new transitions: read-only columns
    [n, ...] as `take()` returns them, those of `apply()` included. There, `reward` is what the core's reward `base` has
    paid, in us. `next_decided` [n] is the cycle of the packet's next decision, 0 where there is none (`next_decision`
    is `NO_DECISION`). The second argument is the simulation, which has gone on since the transitions.

    Args:
        name: of the reward.
        base: the core's reward that says when a decision is closed: `hop_delay` at the packet's next decision, the
            others at its delivery.

    Raises:
        ConfigError: a name that is taken, or a base that is none of the core's.
    """
    _check_name("reward", name)
    if base not in registered("reward"):
        raise ConfigError(unknown(f"reward '{name}': base", base, registered("reward"), "reward"))

    def register(pay: Pay) -> Pay:
        _check_taken("reward", name, pay)
        REWARDS[name] = RewardBlock(name, pay, base)
        return pay

    return register


@dataclass(frozen=True)
class Parts:
    """What of an observation and a reward is the core's, and what is Python's.

    Attributes:
        named: all blocks of the observation, in their order.
        core: the observation that the core is asked for.
        core_reward: the reward likewise.
        observations: Python's among the named ones.
        reward: Python's, if it is.
    """

    named: tuple[str, ...]
    core: str
    core_reward: str
    observations: tuple[ObservationBlock, ...]
    reward: RewardBlock | None

    @classmethod
    def of(cls, observation: str, reward: str) -> Parts:
        """Look both up.

        Raises:
            ConfigError: a name that nobody has registered, or one that stands there twice.
        """
        named, core = tuple(observation.split("+")), registered("observation")
        _look_in_plugins(named, reward)
        for name in named:
            if name not in core and name not in OBSERVATIONS:
                raise ConfigError(unknown("observation", name, {*core, *OBSERVATIONS}, "block"))
            if named.count(name) > 1:
                raise ConfigError(f"observation: '{name}' stands there twice")
        if reward not in registered("reward") and reward not in REWARDS:
            raise ConfigError(unknown("reward", reward, {*registered("reward"), *REWARDS}, "reward"))
        paid = REWARDS.get(reward)
        return cls(
            named,
            "+".join(name for name in named if name in core) or _ALONE,
            paid.base if paid else reward,
            tuple(OBSERVATIONS[name] for name in named if name in OBSERVATIONS),
            paid,
        )

    def seam(self, core: Mapping[str, Any]) -> dict[str, Any]:
        """`Simulation.seam()` with Python's blocks in their places.

        Args:
            core: that of a simulation with the core's part alone.
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
        """What Python's reward pays.

        Args:
            rows: transitions with their `network`, network after network.
            simulations: the networks.

        Raises:
            ConfigError: the function returned something else than a finite number per transition.
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
    """Refuse Python's blocks where the core alone runs.

    Raises:
        ConfigError: names the block, and what to do.
    """
    asked = str(routing.get("observation", "")).split("+") if routing.get("observation") else []
    _look_in_plugins(asked, str(routing.get("reward", "")))
    named = [("observation", name) for name in asked if name in OBSERVATIONS]
    if str(routing.get("reward", "")) in REWARDS:
        named.append(("reward", str(routing["reward"])))
    for kind, name in named:
        takers = "PacketBatch" + (", PacketRoutingEnv or PacketRoutingVecEnv" if kind == "observation" else "")
        raise ConfigError(
            f"routing.{kind}: '{name}' is made in Python; what runs inside the core (routing="
            f"{routing.get('name', '')}, as in flitgym-train and its rollouts) has the core's own alone. Use {takers}, "
            f"or write it in C++ (simcore/src/learning/{kind})"
        )


def _paid(block: RewardBlock, rows: Rows, simulation: Simulation, network: int) -> NDArray[np.float32]:
    for column in rows.values():
        column.flags.writeable = False
    try:
        paid = np.asarray(block.pay(rows, simulation))
    except Exception as error:
        error.add_note(f"in the reward '{block.name}', of {len(rows['network'])} transitions of network {network}")
        raise
    n = len(rows["network"])
    if paid.shape != (n,) or paid.dtype.kind not in "fiub":
        raise ConfigError(
            f"reward '{block.name}': it returned {paid.dtype} of shape {paid.shape}; {n} transitions need numbers of "
            f"shape ({n},)"
        )
    if not np.isfinite(paid).all():
        i = int(np.argmin(np.isfinite(paid)))
        raise ConfigError(
            f"reward '{block.name}': {paid[i]} for decision {rows['decision'][i]} of network {network} (router "
            f"{rows['router'][i]}); rewards are finite"
        )
    return paid.astype(np.float32)


def _look_in_plugins(observations: Sequence[str], reward: str) -> None:
    # Blocks of plugins are registered when somebody asks for a name that nobody has.
    blocks = all(name in OBSERVATIONS or name in registered("observation") for name in observations)
    if not (blocks and (not reward or reward in REWARDS or reward in registered("reward"))):
        load_all("blocks")


def _check_name(kind: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{kind}: '{name}' is no name; names are letters, digits and _")
    if name in registered(kind):
        raise ConfigError(f"{kind}: '{name}' is the core's; taken: {', '.join(sorted(registered(kind)))}")


def _check_taken(kind: str, name: str, function: Callable[..., Any]) -> None:
    # A cell of a notebook or a module that is read again registers anew what it had registered.
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
        raise ConfigError(f"{kind}: '{name}' was made by {_where(function)}, which registers it no more")
    return found
