"""A replay buffer draws every transition equally often; the tail of an episode adds the decisions open at its end."""

import numpy as np
import torch
from flitgym.agents import dqn
from flitgym.agents.learning.replay import Replay
from flitgym.agents.learning.rollouts import Rollouts
from flitgym.env import World

SMALL = {"name": "dragonfly", "terminals_per_router": 2, "routers_per_group": 4, "global_ports": 2, "groups": 9}
JAMMED = World({"topology": SMALL, "router": "input_queued", "traffic": {"name": "adversarial", "load": 0.8}})


def rows(*numbers: int) -> dict[str, torch.Tensor]:
    return {"reward": torch.tensor(numbers, dtype=torch.float32), "action": torch.tensor(numbers)}


def test_replay_keeps_the_newest_and_draws_all_alike() -> None:
    memory, generator = Replay(5), torch.Generator().manual_seed(1)
    assert memory.sample(3, generator) == {}
    memory.add({})
    memory.add(rows(1, 2, 3))
    assert sorted(set(memory.sample(100, generator)["action"].tolist())) == [1, 2, 3]
    memory.add(rows(4, 5, 6))
    drawn = memory.sample(10_000, generator)
    counts = np.bincount(drawn["action"].numpy(), minlength=7)
    assert counts[:2].tolist() == [0, 0]
    assert (abs(counts[2:] - 2000) < 200).all()
    assert torch.equal(drawn["reward"], drawn["action"].float())
    memory.add(rows(*range(10, 30)))  # more than the capacity
    assert sorted(set(memory.sample(1000, generator)["action"].tolist())) == [25, 26, 27, 28, 29]


def lost(tail_ns: float) -> tuple[set[int], dict[int, float]]:
    """Decisions of the first episode that were never returned, and the rewards of the others."""
    routing = {"network": "slots", "hidden": [4], "slots": 8}
    config = dqn.Config(
        networks=1, episode_ns=600, capacity=16384, record_part=1.0, tail_ns=tail_ns, replay="transitions"
    )
    rollouts = Rollouts(config, routing, JAMMED, seed=1)
    layers = dqn.QNetwork(rollouts.seam, [4]).scores.export()
    layers = [(np.zeros_like(weight), np.zeros_like(bias)) for weight, bias in layers]
    rollouts.run(600, layers)
    made = rollouts.simulations[0].decision_count
    known: dict[int, float] = {}
    batch = rollouts.take()
    for _ in range(2):
        own = batch["network"] != 0 if known else batch["network"] == 0  # of the first episode
        known |= dict(zip(batch["decision"][own].tolist(), batch["reward"][own].tolist(), strict=True))
        rollouts.run(600, layers)
        batch = rollouts.take()
    return set(range(made)) - set(known), known


def test_the_tail_of_an_episode_brings_what_was_open_at_its_end() -> None:
    without, before = lost(0)
    some, after = lost(6_000)
    assert len(without) > 300
    assert len(some) < 0.5 * len(without)
    # The tail adds the slow decisions, and changes no other reward.
    assert all(after[number] == reward for number, reward in before.items())
    added = [reward for number, reward in after.items() if number not in before]
    assert np.mean(added) < 2 * np.mean(list(before.values())) < 0
    assert len(added) == len(without) - len(some)
