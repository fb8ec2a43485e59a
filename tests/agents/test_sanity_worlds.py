"""Every agent that learns solves the worlds with a known best policy, in seconds."""

from typing import Any

import pytest
import torch
from flitgym.agents import dqn, ppo
from flitgym.env import SANITY

# The networks are tiny, so all decisions are recorded and rounds are short.
COMMON: dict[str, Any] = {"networks": 2, "run_ns": 1500, "episode_ns": 15000, "capacity": 4096, "record_part": 1.0}
AGENTS: dict[str, tuple[Any, dict[str, Any], int]] = {
    "dqn": (dqn, {"updates": 8, "batch": 256, "learning_rate": 3e-3, "target_rate": 0.05}, 60),
    "dqn_all": (
        dqn,
        {"updates": 8, "batch": 256, "learning_rate": 3e-3, "target_rate": 0.05, "dueling": True, "hysteresis": 0.5},
        60,
    ),
    "dqn_flat": (dqn, {"updates": 8, "batch": 256, "learning_rate": 3e-3, "target_rate": 0.05, "network": "flat"}, 60),
    "ppo": (ppo, {"minibatch": 256, "learning_rate": 3e-3, "epochs": 6}, 80),
}


@pytest.mark.parametrize("world", SANITY)
@pytest.mark.parametrize(
    "agent", ["dqn", *(pytest.param(name, marks=pytest.mark.deep) for name in AGENTS if name != "dqn")]
)
def test_solves(agent: str, world: str) -> None:
    torch.set_num_threads(1)
    module, settings, rounds = AGENTS[agent]
    config = module.Config(**COMMON, **settings)
    learner = module.Agent(config, SANITY[world].world, rounds=rounds, seed=1)
    for _ in range(rounds):
        learner.train_round()
    simulation = SANITY[world].world.simulation({**module.Agent.routing(config), "name": "policy"}, seed=1)
    untrained = SANITY[world].latency(simulation.fork())
    simulation.set_policy(learner.policy())
    learned = SANITY[world].latency(simulation)
    assert learned < SANITY[world].solved_below_ns
    if world != "long_wire":  # zero weights are the best policy here
        assert learned < 0.3 * untrained
