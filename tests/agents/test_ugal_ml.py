"""`agent=ugal_ml`: labels are UGAL-G's choices, the policy learns them without seeing them, and training continues."""

from typing import Any

import pytest
import torch
from flitgym.agents.ugal_ml import Agent, Config
from flitgym.env.experience.world import World

_SMALL: dict[str, Any] = {"networks": 2, "run_ns": 500, "episode_ns": 2000, "record_part": 1.0, "updates": 3}


@pytest.fixture(scope="module")
def world() -> World:
    return World.composed(["topology=dragonfly_72", "router=hpdc21", "traffic=adversarial"], {"traffic.load": [0.4]})


def test_the_label_is_the_slot_of_least_congestion_and_stays_hidden(world: World) -> None:
    agent = Agent(Config(**_SMALL), world, rounds=1, seed=1)
    general, own = len(agent.seam["general"]), len(agent.seam["per_slot"])
    assert agent.online.perceptron.layers[0].in_features == general + own
    congestion = torch.tensor([[2.0, 1.0], [1.0, 1.0], [3.0, 0.0]])
    mask = torch.tensor([[True, True], [True, True], [True, False]])
    slots = torch.cat([torch.full((3, 2, own), 7.0), congestion[:, :, None]], 2)
    observation = torch.cat([torch.full((3, general), 5.0), slots.reshape(3, -1)], 1)
    rows = agent._labelled({"observation": observation, "mask": mask, "action": torch.zeros(3)})
    assert rows["label"].tolist() == [1, 0, 0]
    assert rows["observation"].unique().tolist() == [5.0, 7.0]


def test_it_learns_labels_that_follow_a_feature(world: World) -> None:
    torch.set_num_threads(1)
    agent = Agent(Config(**_SMALL), world, rounds=1, seed=1)
    generator = torch.Generator().manual_seed(2)
    observation = torch.rand((512, agent.seam["width"]), generator=generator)
    queued = observation[:, len(agent.seam["general"]) :].view(512, 2, -1)[:, :, 0]
    batch = {"observation": observation, "mask": torch.ones((512, 2), dtype=torch.bool), "label": queued.argmin(1)}
    losses = [agent.update(batch) for _ in range(150)]
    assert losses[-1] < 0.3 * losses[0]
    assert float((agent.online(observation).argmax(1) == batch["label"]).float().mean()) > 0.9
