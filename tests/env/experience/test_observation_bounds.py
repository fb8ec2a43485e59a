"""Every number of an observation is within the bounds of its space, in every environment."""

import pytest
from flitgym.env.experience import World, seen_bounds_of
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
