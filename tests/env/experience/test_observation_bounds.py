"""Every number of an observation is within the bounds of its space, in every environment."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from flitgym.env import Asked, Feature, PacketBatch, PacketRoutingEnv, blocks
from flitgym.env.experience import World, bounds_of, seen_bounds_of
from flitgym.env.experience.bounds import seen
from flitgym.simcore import registered

SMALL = {"name": "dragonfly", "terminals_per_router": 2, "routers_per_group": 4, "global_ports": 2, "groups": 9}
WORLDS = {
    "dragonfly": World({"topology": SMALL, "traffic": {"name": "adversarial", "load": 0.6}}),
    "torus": World({"topology": {"name": "torus", "sizes": [4, 4]}, "traffic": {"name": "uniform", "load": 0.6}}),
}


@pytest.mark.parametrize("block", registered("observation"))
@pytest.mark.parametrize("world", WORLDS)
def test_rows_of_the_core_lie_within(world: str, block: str) -> None:
    routing = {"name": "random", "observation": block, "slots": 16, "record": 4096}
    simulation = WORLDS[world].simulation(routing, 1)
    simulation.run(2000)
    ring, rows = simulation.transitions(), min(simulation.transition_count, 4096)
    assert rows > 300
    low, high = seen_bounds_of(simulation.seam())
    shown = seen(ring["observation"][:rows], ring["mask"][:rows])
    assert shown.shape == (rows, len(low))
    assert (shown >= low).all()
    assert (shown <= high).all()
    assert not ring["mask"][:rows].all()  # some slots have no candidate and hold 0


# The declared bounds exclude 0. Slots without a candidate, and observations without a decision, still hold 0.
@blocks.observation("never_zero", general=[Feature("age", 1, 2, "years")], per_slot=[Feature("debt", -9, -3, "flits")])
def never_zero(asked: Asked, general: Any, per_slot: Any) -> None:
    general[:], per_slot[:] = 1.5, -4


def test_zero_lies_within_whatever_a_feature_declares() -> None:
    world = {"topology": {"name": "hyperx", "widths": [3], "terminals_per_router": 2}, "traffic": "uniform"}
    environment = PacketRoutingEnv(world=world, observation="never_zero", control="all", episode_ns=300)
    low, high = bounds_of(environment.seam)
    assert (low[0], high[0]) == (0, 2)
    assert (low[1], high[1]) == (-9, 0)
    observation, _ = environment.reset(seed=1)
    over = False
    while not over:
        assert environment.observation_space.contains(observation)
        observation, _, terminated, truncated, _ = environment.step(0)
        over = terminated or truncated
    assert environment.observation_space.contains(observation)  # after the end it may be all zeros

    batch = PacketBatch(1, world=world, observation="never_zero")
    batch.reset(seed=1)
    with_mask = gymnasium.spaces.Box(*seen_bounds_of(batch.seam), dtype=np.float32)
    n = batch.collect()
    assert not batch.mask[:n].all()
    assert all(with_mask.contains(row) for row in seen(batch.observation[:n], batch.mask[:n]))
