"""Environments on damaged networks: failed components, links that fail in the run, other links in each episode."""

from typing import Any

import numpy as np
import pytest
from env_scenes import check_drains
from flitgym.env import PacketBatch, RouterParallelEnv, World
from flitgym.simcore import ConfigError, Simulation

DRAGONFLY = ("topology=dragonfly_72", "router=hpdc21", "traffic=uniform", "traffic.load=0.3")
SCENES = {
    "links": ["failures.links=0.05"],
    "router": ["failures.routers=1"],
    "terminals": ["failures.terminals=[0,5,40]"],
    "event": ["failures.events=[0.05@500-1500]"],
}


def sections(*words: str) -> dict[str, Any]:
    return dict(World.composed([*DRAGONFLY, *words]).sections)


@pytest.mark.parametrize("scene", SCENES)
def test_all_decisions_of_a_damaged_network(scene: str) -> None:
    batch = PacketBatch(2, overrides=[*DRAGONFLY, *SCENES[scene]])
    batch.reset(seed=1)
    random = np.random.default_rng(1)
    while batch.time_ns.min() < 2_500:
        n = batch.collect()
        mask = batch.mask[:n]
        assert mask[:, 0].all()
        chosen = np.where(mask, random.random(mask.shape), -1).argmax(axis=1)
        assert np.isfinite(batch.observation[:n]).all()
        batch.apply(chosen)
    assert len(batch.take()["reward"]) > 500
    for simulation in batch.simulations:
        check_drains(simulation)


@pytest.mark.parametrize("scene", SCENES)
def test_one_agent_per_router(scene: str) -> None:
    env = RouterParallelEnv(overrides=[*DRAGONFLY, *SCENES[scene]], intervals=6, interval_ns=700)
    observations, _ = env.reset(seed=1)
    for k, agent in enumerate(env.agents):
        env.action_space(agent).seed(k)
    channels = env.simulation.channels()
    link = channels["peer_router"] >= 0
    used = set(zip(channels["router"][link].tolist(), channels["port"][link].tolist(), strict=True))
    seen = np.zeros((36, 5))
    while env.agents:
        observations, *_ = env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        assert all(env.observation_space(agent).contains(row) for agent, row in observations.items())
        seen += [observations[f"router_{k}"][1:-2:3] for k in range(36)]
    # A port keeps its place whatever has failed: two terminals, then three local and two global ports.
    missing = {(r, c + 2) for r, c in np.argwhere(seen == 0)}
    assert (missing == set()) == (scene in ("terminals", "event"))
    assert missing == {(r, p) for r in range(36) for p in range(2, 7)} - used


def test_each_world_draws_its_own_failures() -> None:
    parts = [0, 0.02, 0.05]
    world = World.composed(DRAGONFLY, {"failures.links": parts})
    draws = [world.draw(seed) for seed in range(30)]
    assert draws == [world.draw(seed) for seed in range(30)]
    assert {draw["failures"]["links"] for draw in draws} == set(parts)
    assert len({draw["failures"]["seed"] for draw in draws}) == 30
    links = set()
    for seed in range(6):
        channels = world.simulation("minimal", seed).channels()
        links.add(tuple(zip(channels["router"].tolist(), channels["port"].tolist(), strict=True)))
    assert len(links) > 3
    # A seed in `sections` is kept, and a seed in `vary` is drawn. Draws of failures do not change the other draws.
    fixed = World(sections("failures.links=1", "failures.seed=9"), {"failures.links": parts})
    assert {fixed.draw(seed)["failures"]["seed"] for seed in range(5)} == {9}
    asked = World(world.sections, {"failures.links": parts, "failures.seed": [3, 4]})
    assert {asked.draw(seed)["failures"]["seed"] for seed in range(9)} == {3, 4}
    loads = {"traffic.load": {"low": 0.1, "high": 0.3}}
    both, one = (World(world.sections, vary) for vary in ({**loads, "failures.links": parts}, loads))
    assert [both.draw(seed)["traffic"] for seed in range(5)] == [one.draw(seed)["traffic"] for seed in range(5)]
    assert "failures" not in one.draw(1)


def test_failures_that_cut_the_network_are_drawn_again() -> None:
    # A triangle of routers stays connected without one link, and not without two.
    triangle = {"topology": {"name": "hyperx", "widths": [3], "terminals_per_router": 1}, "traffic": "uniform"}
    diagonal = {"topology": {"name": "hyperx", "widths": [4], "terminals_per_router": 1}, "traffic": "uniform"}
    with pytest.raises(ConfigError, match="there is no path from terminal"):
        World(triangle, {"failures.links": [2]}).simulation("minimal", 1)
    # Four of the 20 triples of links between four routers disconnect one of them.
    world = World(diagonal, {"failures.links": [3]})
    cut = 0
    for seed in range(40):
        assert world.simulation("minimal", seed).facts()["damaged"]
        try:
            Simulation({**world.draw(seed), "routing": "minimal"})
        except ConfigError:
            cut += 1
    assert 2 <= cut <= 18
