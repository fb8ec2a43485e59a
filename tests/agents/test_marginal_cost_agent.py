"""`agent=marginal_cost`: it learns the labels, continues from a checkpoint, and refuses the state of another agent."""

from typing import Any

import numpy as np
import pytest
import torch
from flitgym.agents.marginal_cost import Agent, Config
from flitgym.configs.policies import shipped_policy
from flitgym.env.experience.world import Mixture, World
from flitgym.simcore._policy_file import load_policy
from layer_scores import score

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


def test_a_training_on_several_worlds_begins_with_the_scores_of_its_base(world: World) -> None:
    base = {"base": "flitgym", "observation": "relative+relative_use", "relation": "preferred", "slots_by": "rotated"}
    tree = World.composed(["topology=fat_tree_64", "traffic.load=0.5"])
    mixture = Mixture([world, tree], [60000.0, 30000.0])
    agent = Agent(Config(**_SMALL, **base, slots=6, hidden=[4], learning_rate=0.05), mixture, rounds=1, seed=1)
    x = np.random.default_rng(3).random((64, 18), dtype=np.float32)
    first = score(load_policy(shipped_policy("flitgym"))[0], x)
    np.testing.assert_allclose(score(agent.policy(), x), first, rtol=2e-4, atol=0.01)  # scores up to 1,000 in float32
    agent.train_round()
    assert np.abs(score(agent.policy(), x) - first).max() > 0.05
    # The costs of both worlds have the same size.
    mask, cost = (agent.replay.columns[name][:16].reshape(2, 8, 6) for name in ("mask", "cost"))
    for valid, costs in zip(mask, cost, strict=True):
        around = costs - (costs * valid).sum(1, keepdim=True) / valid.sum(1, keepdim=True)
        assert float(around[valid].square().mean()) == pytest.approx(1, rel=1e-4)
