"""The core decides as PyTorch does, with the same weights and the same observations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flitgym.agents import dqn, ppo
from flitgym.agents.networks import SlotScores
from flitgym.agents.policy.file import save_policy
from flitgym.configs.policies import shipped_policy
from flitgym.env import World
from flitgym.simcore import ConfigError, Simulation

SMALL = {"name": "dragonfly", "terminals_per_router": 2, "routers_per_group": 4, "global_ports": 2, "groups": 9}
HYPERX = {"name": "hyperx", "widths": [4, 4], "terminals_per_router": 4}


def world(topology: dict[str, Any], load: float = 0.6) -> World:
    return World({"topology": topology, "router": {"name": "vc_router"}, "traffic": {"name": "uniform", "load": load}})


def observed(topology: dict[str, Any], routing: dict[str, Any]) -> tuple[Simulation, dict[str, np.ndarray]]:
    simulation = world(topology).simulation({**routing, "name": "policy", "record": 8192, "epsilon": 0.3}, 1)
    simulation.run(4000)
    ring = simulation.transitions()
    rows = min(simulation.transition_count, 8192)
    assert rows > 2000
    return simulation, {name: column[:rows].copy() for name, column in ring.items()}


@pytest.mark.parametrize("topology", [SMALL, HYPERX], ids=["dragonfly", "hyperx"])
@pytest.mark.parametrize(("network", "hidden"), [("slots", [32, 32]), ("flat", [64, 64]), ("flat", [17])])
def test_the_core_chooses_as_torch_does(tmp_path: Path, topology: dict[str, Any], network: str, hidden: list[int]):
    torch.manual_seed(1)
    simulation, ring = observed(topology, {"network": network, "hidden": hidden})
    scores = SlotScores(simulation.seam(), hidden, network)
    simulation.set_policy(scores.export())
    own = simulation.policy_scores(ring["observation"])
    with torch.no_grad():
        others = scores(torch.from_numpy(ring["observation"])).numpy()
    mask = ring["mask"]
    np.testing.assert_allclose(own[mask], others[mask], rtol=1e-4, atol=1e-5)
    best, reference = (np.where(mask, x, -np.inf) for x in (own, others))
    # Equal choices, except where torch gives the two best slots nearly the same score.
    two = np.sort(reference, axis=1)[:, -2:]
    clear = two[:, 1] - two[:, 0] > 2e-5
    assert clear.mean() > 0.95
    assert (best.argmax(1) == reference.argmax(1))[clear].all()

    # The core acts by these scores, also with weights from a file.
    seam = simulation.seam()
    path = tmp_path / "p.safetensors"
    save_policy(
        path, scores.export(), network=network, slots=8, observation=seam["observation"], topology=topology["name"]
    )
    by_file = world(topology).simulation({"name": "policy", "path": str(path), "record": 4096}, 3)
    by_hand = world(topology).simulation({"name": "policy", "network": network, "hidden": hidden, "record": 4096}, 3)
    by_hand.set_policy(scores.export())
    for one in (by_file, by_hand):
        one.run(3000)
    rows = min(by_hand.transition_count, 4096)
    done = by_hand.transitions()
    assert rows > 1000
    for name, column in by_file.transitions().items():
        assert np.array_equal(column, done[name]), name
    chosen = np.where(done["mask"][:rows], by_hand.policy_scores(done["observation"][:rows]), -np.inf).argmax(1)
    assert np.array_equal(chosen, done["action"][:rows])


def test_log_probabilities_of_the_core_are_those_of_ppo():
    learner = ppo.Agent(ppo.Config(networks=1, record_part=1.0), world(SMALL, 0.3), rounds=1, seed=1)
    learner.rollouts.run(400, learner.policy(), temperature=1.0)
    batch = learner.rollouts.take()
    with torch.no_grad():
        logits = learner.actor(batch["observation"]).masked_fill(~batch["mask"], -torch.inf)
    expected = logits.log_softmax(1).gather(1, batch["action"][:, None]).squeeze(1)
    assert len(expected) > 500
    torch.testing.assert_close(batch["log_probability"], expected, rtol=1e-4, atol=1e-5)


def test_advantages_follow_the_decisions_of_a_packet():
    learner = ppo.Agent(ppo.Config(networks=2, record_part=1.0, gae_lambda=0.9), world(SMALL), rounds=1, seed=1)
    learner.rollouts.run(400, learner.policy(), temperature=1.0)
    batch = learner.rollouts.take()
    advantage, goal = learner.advantages(batch)
    with torch.no_grad():
        value = learner.critic(batch["observation"], batch["mask"])
        following = learner.critic(batch["next_observation"], batch["next_mask"])
    where = {(int(n), int(d)): row for row, (n, d) in enumerate(zip(batch["network"], batch["decision"], strict=True))}

    def by_hand(row: int) -> float:
        if batch["done"][row]:
            return float(batch["reward"][row] - value[row])
        delta = float(batch["reward"][row] + following[row] - value[row])
        after = where.get((int(batch["network"][row]), int(batch["next_decision"][row])))
        return delta if after is None else delta + 0.9 * by_hand(after)

    linked = 0
    for row in range(0, len(advantage), 7):
        assert float(advantage[row]) == pytest.approx(by_hand(row), abs=1e-4)
        linked += not bool(batch["done"][row])
    assert linked > 50
    torch.testing.assert_close(goal, advantage + value)


def test_targets_of_dqn_know_masks_and_ends():
    learner = dqn.Agent(dqn.Config(networks=1, record_part=1.0, discount=0.5), world(SMALL), rounds=10, seed=1)
    learner.train_round()
    batch = learner.rollouts.sample(256, learner.generator)
    assert set(batch["done"].tolist()) == {True, False}
    # A masked slot must not be the next action, even with the best score.
    with torch.no_grad():
        q = learner.online(batch["next_observation"], batch["next_mask"])
        best = q.masked_fill(~batch["next_mask"], -torch.inf).argmax(1)
    going_on = ~batch["done"]
    assert batch["next_mask"][going_on].gather(1, best[going_on, None]).all()
    before = [p.clone() for p in learner.online.parameters()]
    loss = learner.update(batch)
    assert np.isfinite(loss)
    assert any(not torch.equal(a, b) for a, b in zip(before, learner.online.parameters(), strict=True))


def test_sampled_transitions_are_the_rings():
    learner = dqn.Agent(dqn.Config(networks=2, capacity=512, record_part=1.0), world(SMALL), rounds=1, seed=1)
    learner.rollouts.run(4000, learner.policy(), epsilon=1.0)
    batch = learner.rollouts.sample(400, torch.Generator().manual_seed(1))
    rings = [s.transitions()["observation"] for s in learner.rollouts.simulations]
    known = {row.tobytes() for ring in rings for row in ring}
    assert all(row.numpy().tobytes() in known for row in batch["observation"])
    assert len({row.numpy().tobytes() for row in batch["observation"]}) > 200


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"observation": "progress+router"}, "need 8 x 6"),
        ({"observation": "progress+nonsense"}, "nonsense"),
        ({"network": "flat"}, "8 outputs are needed"),
        ({"relation": "omni_war"}, "omni_war"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, str], said: str):
    seam = world(SMALL).simulation("agent", 1).seam()
    scores = SlotScores(seam, [8], "slots")
    kind = {"network": "slots", "slots": 8, "observation": seam["observation"], "topology": "dragonfly"}
    path = tmp_path / "p.safetensors"
    save_policy(path, scores.export(), **{**kind, **change})
    with pytest.raises(ConfigError, match=said):
        world(SMALL).simulation({"name": "policy", "path": str(path)}, 1)


def test_a_policy_runs_on_another_topology_than_it_was_trained_on():
    rows = {}
    for topology in (
        {"name": "hyperx", "widths": [3, 3], "terminals_per_router": 2},
        {"name": "graph", "links": [0, 1, 1, 2, 2, 3, 3, 0, 0, 2], "terminals_per_router": 2},
    ):
        simulation = World(
            {"topology": topology, "router": {}, "traffic": {"name": "uniform", "load": 0.3}},
        ).simulation({"name": "policy", "path": shipped_policy("dqn_dragonfly")}, 1)
        simulation.begin_window()
        simulation.run(2000)
        rows[topology["name"]] = simulation.statistics()
    assert all(row["packets_delivered"] > 100 for row in rows.values())
