"""A block of features in NumPy: the idle part of a router's links."""

import numpy as np
from flitgym.env import Asked, Feature, Tables, blocks
from numpy.typing import NDArray


def links_of_routers(tables: Tables) -> NDArray[np.int64]:
    """Called once per network. Returns [routers, most links]; -1 fills the rows."""
    return tables.links


@blocks.observation(
    "idle", general=[Feature("part", 0, 1, "part of the router's links without flits")], setup=links_of_routers
)
def idle(asked: Asked, general: NDArray[np.float32], per_slot: NDArray[np.float32]) -> None:
    """Write general [n, 1]."""
    links = asked.own[asked.router]
    there = links >= 0
    free = there & (asked.arrays["ports"]["load"][links] == 0)
    general[:, 0] = free.sum(1) / there.sum(1)
