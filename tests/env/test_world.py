"""Worlds: drawn by seed, and composed as by the commands."""

from env_scenes import TRIANGLE
from flitgym.env import World


def test_draws_repeat_and_differ() -> None:
    world = World(TRIANGLE, {"traffic.load": {"low": 0.1, "high": 0.3}, "topology.terminals_per_router": [2, 3]})
    draws = [world.draw(seed) for seed in range(20)]
    assert draws == [world.draw(seed) for seed in range(20)]
    loads = {draw["traffic"]["load"] for draw in draws}
    assert len(loads) == 20
    assert 0.1 <= min(loads) < 0.15
    assert 0.25 < max(loads) <= 0.3
    assert {draw["topology"]["terminals_per_router"] for draw in draws} == {2, 3}
    assert TRIANGLE["traffic"]["load"] == 0.2  # the sections are unchanged


def test_composed_world_is_that_of_the_command() -> None:
    world = World.composed(["topology=dragonfly_342", "router=sc22", "traffic=adversarial", "traffic.load=0.4"])
    facts = world.simulation("minimal", 1).facts()
    assert (facts["terminals"], facts["cycle_ns"]) == (342, 1.28)
    assert world.draw(1)["traffic"]["load"] == 0.4
    assert set(world.sections) == {"topology", "router", "traffic"}
