"""A world: the network and the traffic in which agents learn, drawn anew per episode if asked."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..simcore import ConfigError, Simulation

_SECTIONS = ("topology", "router", "traffic", "workload")


@dataclass(frozen=True)
class World:
    """What a simulation is built from but the routing and the seed.

    Args:
        sections: `topology`, `router`, and `traffic` or `workload`, as `flitgym.simcore.Simulation` takes them.
        vary: what is drawn anew for each episode (domain randomisation): a dotted key of `sections`, e.g. `traffic` or
            `traffic.load`, to either a list of values, each as likely, or a mapping `{low, high}` for a number
            uniform in between. Keys are drawn in their order, so `traffic` may come before `traffic.load`.
    """

    sections: Mapping[str, Any]
    vary: Mapping[str, Sequence[Any] | Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.sections) - set(_SECTIONS))
        if unknown:
            raise ConfigError(f"World: unknown section '{unknown[0]}'; valid sections: {', '.join(_SECTIONS)}")
        for key, choices in self.vary.items():
            if key.split(".")[0] not in _SECTIONS:
                raise ConfigError(f"World.vary: '{key}' lies in no section; sections: {', '.join(_SECTIONS)}")
            if isinstance(choices, Mapping):
                if sorted(choices) != ["high", "low"] or not choices["low"] <= choices["high"]:
                    raise ConfigError(f"World.vary: '{key}' takes a list, or a mapping with low <= high, not {choices}")
            elif isinstance(choices, str) or not len(choices):
                raise ConfigError(f"World.vary: '{key}' takes a list of values, not {choices!r}")

    def draw(self, seed: int) -> dict[str, Any]:
        """The sections of the episode `seed`; the same seed draws the same."""
        drawn = copy.deepcopy(dict(self.sections))
        random = np.random.default_rng([seed, 0x776F726C64])
        for key, choices in self.vary.items():
            if isinstance(choices, Mapping):
                value: Any = float(random.uniform(choices["low"], choices["high"]))
            else:
                value = copy.deepcopy(choices[int(random.integers(len(choices)))])
            _put(drawn, key, value)
        return drawn

    def simulation(self, routing: str | Mapping[str, Any], seed: int) -> Simulation:
        """A fresh simulation of the episode `seed` at cycle 0.

        Raises:
            ConfigError: the sections, as drawn, cannot be built.
        """
        return Simulation({**self.draw(seed), "routing": routing, "seed": seed})


def _put(sections: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    at = sections
    for name in path:
        below = at.get(name, {})
        at[name] = {"name": below} if isinstance(below, str) else below
        at = at[name]
    at[last] = value
