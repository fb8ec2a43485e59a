"""`agent=marginal_cost`: it learns the labels, continues from a checkpoint, and refuses the state of another agent."""

from typing import Any

import numpy as np
import pytest
import torch
from flitgym.agents.marginal_cost import Agent, Config
from flitgym.env.experience.world import World

_SMALL: dict[str, Any] = {
    "networks": 2,
    "warmup_ns": 1000,
    "decisions": 8,
    "sample_fraction": 0.1,
    "horizon_ns": 600,
    "updates": 4,
}


@pytest.fixture(scope="module")
def world() -> World:
    return World.composed(["topology=dragonfly_72", "traffic=mixed"], {"traffic.load": {"low": 0.2, "high": 0.4}})


def test_it_learns_which_candidate_costs_least(world: World) -> None:
    """If the costs follow one feature, it learns to prefer the slots with the least value of it."""
    agent = Agent(Config(**_SMALL, learning_rate=1e-2), world, rounds=1, seed=1)
    slots, width = agent.seam["slots"], agent.seam["width"]
    generator = torch.Generator().manual_seed(2)
    observation = torch.rand((256, width), generator=generator)
    mask = torch.ones((256, slots), dtype=torch.bool)
    cost = observation[:, agent.online.general :].view(256, slots, -1)[:, :, 0]
    for _ in range(100):
        agent.update({"observation": observation, "mask": mask, "cost": cost})
    best = agent.online(observation).argmax(1)
    assert float((best == cost.argmin(1)).float().mean()) > 0.8


def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(world: World) -> None:
    whole = Agent(Config(**_SMALL), world, rounds=2, seed=1)
    metrics = [whole.train_round() for _ in range(2)]
    first = Agent(Config(**_SMALL, threads=1), world, rounds=2, seed=1)
    first.train_round()
    second = Agent(Config(**_SMALL), world, rounds=2, seed=7)
    second.load_state(first.state())
    again = second.train_round()
    assert again == metrics[1]
    for (w, b), (v, c) in zip(whole.policy(), second.policy(), strict=True):
        np.testing.assert_array_equal(w, v)
        np.testing.assert_array_equal(b, c)
    assert metrics[1]["decisions"] == 2 * 2 * 8
