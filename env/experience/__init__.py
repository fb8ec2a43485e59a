"""Where experience comes from: worlds, seeds of episodes, what is observed of a decision, and what came of it.

    world        networks and traffic, drawn anew per episode
    seeds        how a user's seed becomes the seeds of episodes
    ring         the reader of the core's transitions
    chains       which transition follows which
    bounds       the least and greatest numbers of an observation
    blocks       observations and rewards written in NumPy, and what they are told (asked, block_rows)
    own_columns  what a caller notes of its decisions

Environments (`flitgym.env`) and agents (`flitgym.agents`) are built of this; it knows neither.
"""

from __future__ import annotations

from . import blocks
from .asked import Asked, Tables
from .blocks import Feature
from .bounds import bounds_of, seen_bounds_of
from .chains import Chains, following, horizon_cycles
from .ring import Ring, Rows
from .seeds import Episodes, episode_seed, training_seed
from .world import Mixture, World

__all__ = [
    "Asked",
    "Chains",
    "Episodes",
    "Feature",
    "Mixture",
    "Ring",
    "Rows",
    "Tables",
    "World",
    "blocks",
    "bounds_of",
    "episode_seed",
    "following",
    "horizon_cycles",
    "seen_bounds_of",
    "training_seed",
]
