"""A block of features and a reward in NumPy: the shares of a router's load, and a deadline."""

import numpy as np
from flitgym.env import Asked, Feature, Tables, blocks
from flitgym.env.experience import Rows
from flitgym.simcore import Simulation
from numpy.typing import NDArray

DEADLINE_US = 1.0


def links_of_routers(tables: Tables) -> NDArray[np.int64]:
    """Called once per network. Returns `asked.own`, [routers, most links]; -1 fills the rows."""
    return tables.links


@blocks.observation(
    "crowd",
    general=[Feature("busy", 0, 1, "part of the router's links with flits that are queued or not yet credited")],
    per_slot=[Feature("share", 0, 1, "this candidate's link's part of all such flits of the router")],
    setup=links_of_routers,
)
def crowd(asked: Asked, general: NDArray[np.float32], per_slot: NDArray[np.float32]) -> None:
    """Write general [n, 1] and per_slot [n, slots, 1] for all decisions of a network in a cycle."""
    load = asked.arrays["ports"]["load"]
    links = asked.own[asked.router]  # [n, most links]
    there = links >= 0
    loads = np.where(there, load[links], 0)
    general[:, 0] = (loads > 0).sum(1) / there.sum(1)
    per_slot[:, :, 0] = load[asked.link] / np.maximum(loads.sum(1), 1)[:, None]


@blocks.reward("deadline", base="end_to_end_delay")
def deadline(rows: Rows, simulation: Simulation) -> NDArray[np.float32]:
    """[n]: -1 if the packet takes longer than the deadline from this decision on, else 0."""
    return np.where(rows["reward"] < -DEADLINE_US, -1, 0).astype(np.float32)
