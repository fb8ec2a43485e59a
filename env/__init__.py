"""Environments around the core: Gymnasium, PettingZoo, Stable-Baselines3, RLlib, and `PacketBatch`.

The algorithms are in `flitgym.agents`. The parts that all environments share are in `flitgym.env.experience`.

Importing this package registers the ids `flitgym/...` with Gymnasium;
`gymnasium.make("flitgym.env:flitgym/PacketRouting-v1")` imports it automatically.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..simcore import NO_DECISION
from .experience import Asked, Feature, Mixture, Ring, Tables, World, blocks
from .exporting import export
from .injection import InjectionBatch, InjectionEnv
from .packet_batch import PacketBatch
from .packet_options import TOLLED, Choose, PacketOptions
from .packet_routing import PacketRoutingEnv
from .packet_routing_vec import PacketRoutingVecEnv
from .playing import play
from .registration import register_envs
from .sanity import SANITY, SanityWorld

if TYPE_CHECKING:
    from .router_parallel import RouterParallelEnv

__all__ = [
    "NO_DECISION",
    "SANITY",
    "TOLLED",
    "Asked",
    "Choose",
    "Feature",
    "InjectionBatch",
    "InjectionEnv",
    "Mixture",
    "PacketBatch",
    "PacketOptions",
    "PacketRoutingEnv",
    "PacketRoutingVecEnv",
    "Ring",
    "RouterParallelEnv",
    "SanityWorld",
    "Tables",
    "World",
    "blocks",
    "export",
    "play",
    "register_envs",
]


def __getattr__(name: str) -> Any:
    if name != "RouterParallelEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .router_parallel import RouterParallelEnv  # needs a package of an extra

    return RouterParallelEnv


register_envs()
