"""Experience for learning: worlds, seeds of episodes, observations of decisions, and their transitions.

    world        networks and traffic, drawn for each episode
    seeds        from a user's seed to the seeds of episodes
    ring         the reader of the core's transitions
    chains       the order of a packet's transitions
    bounds       the least and greatest numbers of an observation
    blocks       observations and rewards written in NumPy, with their inputs (asked, block_rows)
    own_columns columns that a caller stores with its decisions
    dataset     recorded transitions in a file

Environments (`flitgym.env`) and agents (`flitgym.agents`) use these parts. The parts depend on neither.
"""

from __future__ import annotations

from . import blocks
from .asked import Asked, Tables
from .blocks import Feature
from .bounds import bounds_of, seen_bounds_of
from .chains import Chains, following, horizon_cycles
from .dataset import Dataset
from .ring import Ring, Rows
from .seeds import Episodes, episode_seed, training_seed
from .world import Mixture, World

__all__ = [
    "Asked",
    "Chains",
    "Dataset",
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
