"""Single values that are published, or that other simulators use in their own tests."""

import numpy as np
import pytest
from core_scenes import Section
from flitgym.simcore import Simulation


# Karol, Hluchyj and Morgan, "Input versus output queueing on a space-division packet switch", IEEE Trans. Commun. 35
# (1987), table I: 0.75, 0.6553, 0.6184. Round robin instead of a random choice lowers small switches by up to 0.3 %.
@pytest.mark.parametrize(("terminals", "accepted"), [(2, 0.75), (4, 0.6553), (8, 0.6184)])
def test_head_of_line_blocking(terminals: int, accepted: float) -> None:
    topology = {"name": "graph", "terminals": [0] * terminals}
    router = {"name": "vc_router", "vcs": 1}
    traffic = {"name": "uniform", "load": 1.0}
    sim = Simulation({"topology": topology, "router": router, "routing": "minimal", "traffic": traffic, "seed": 1})
    sim.run(2_000)
    sim.begin_window()
    sim.run(60_000)
    assert sim.statistics()["accepted_load"] == pytest.approx(accepted, rel=0.005)


# SuperSim's tests count the routers of a path: 4 for 1038 to 15 on the Dragonfly of 1,056 terminals. A tree of four
# levels has paths of 1, 3, 5 and 7 routers.
TREE: Section = {"name": "fat_tree", "children": [2, 2, 2, 2], "parents": [1, 2, 2, 2]}


@pytest.mark.parametrize(
    ("topology", "terminals", "pair", "routers"),
    [
        ("dragonfly_1056", 1056, (1038, 15), 4),
        (TREE, 16, (0, 1), 1),
        (TREE, 16, (0, 3), 3),
        (TREE, 16, (0, 5), 5),
        (TREE, 16, (0, 15), 7),
    ],
)
def test_routers_of_a_minimal_path(
    topology: str | Section, terminals: int, pair: tuple[int, int], routers: int
) -> None:
    rates = np.zeros((terminals, terminals))
    rates[pair] = 1
    traffic = {"name": "matrix", "load": 0.2, "matrix": rates}
    sim = Simulation({"topology": topology, "routing": "minimal", "traffic": traffic, "seed": 1})
    sim.begin_window()
    sim.run(3_000)
    assert sim.statistics()["hops_mean"] == routers - 1
