"""Adaptive minimal routing carries at least the load of an oblivious choice among the same minimal ports.

If all heads of a cycle take the port with the shortest queue, that queue grows and the other ports idle.
"""

import pytest
from core_scenes import Section, config, measure, router, traffic
from flitgym.simcore import Simulation

FAT_TREE: Section = {"name": "fat_tree", "children": [4, 4, 4], "parents": [1, 4, 4]}
LEAF_SPINE: Section = {"name": "fat_tree", "children": [16, 4], "parents": [1, 4], "links": [1, 4]}
PLUS: Section = {
    "name": "dragonfly_plus",
    "terminals_per_leaf": 4,
    "leaves_per_group": 4,
    "spines_per_group": 4,
    "global_ports": 2,
    "groups": 5,
}
RANDOM: Section = {"name": "up_down", "ascent": "random"}
QUEUE: Section = {"name": "minimal", "ports": "queue"}
SCENES: dict[str, tuple[Section, Section | str, Section | str]] = {
    "fat_tree": (FAT_TREE, "up_down", RANDOM),
    "leaf_spine": (LEAF_SPINE, "up_down", RANDOM),
    "leaf_spine_two_random": (LEAF_SPINE, {"name": "up_down", "ascent": "two_random"}, RANDOM),
    "leaf_spine_minimal": (LEAF_SPINE, QUEUE, "packet_spray"),
    "torus": ({"name": "torus", "sizes": [4, 4], "terminals_per_router": 2}, QUEUE, "packet_spray"),
    "hyperx": ({"name": "hyperx", "widths": [4, 4], "terminals_per_router": 4}, "minimal_adaptive", "packet_spray"),
    "parallel_links": (
        {"name": "hyperx", "widths": [4], "links": [4], "terminals_per_router": 12},
        "minimal_adaptive",
        "packet_spray",
    ),
    "slim_fly": ({"name": "slim_fly", "q": 4, "terminals_per_router": 3}, QUEUE, "packet_spray"),
    "polarfly": ({"name": "polarfly", "q": 5, "terminals_per_router": 3}, QUEUE, "packet_spray"),
    "random_regular": (
        {"name": "random_regular", "routers": 20, "degree": 6, "terminals_per_router": 4},
        QUEUE,
        "packet_spray",
    ),
    "dragonfly_plus": (PLUS, QUEUE, "minimal"),
    "polarized": (FAT_TREE, "polarized", RANDOM),
}


def accepted(topology: Section, routing: Section | str, load: float, flits: int) -> float:
    sections = {"topology": topology, "router": router("input_queued")}
    sim = Simulation(config(routing, traffic("uniform", load, packet_bytes=128 * flits), **sections))
    return measure(sim, 1000, 1500)["accepted_load"]


@pytest.mark.parametrize("flits", [1, pytest.param(8, marks=pytest.mark.deep)])
@pytest.mark.parametrize("scene", SCENES)
def test_adaptive_choice_carries_the_load_of_an_oblivious_one(scene: str, flits: int) -> None:
    topology, adaptive, oblivious = SCENES[scene]
    load = 0.9 * accepted(topology, oblivious, 1.0, flits)
    # 1 %: flits that the two choices hold in the network at the ends of the window
    assert accepted(topology, adaptive, load, flits) > 0.99 * accepted(topology, oblivious, load, flits)
