"""The core decides as PyTorch does, with the same weights and the same observations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flitgym.agents import ppo
from flitgym.agents.networks import SlotScores
from flitgym.env import World
from flitgym.simcore import ConfigError, Simulation
from flitgym.simcore._policy_file import save_policy

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
def test_the_core_chooses_as_torch_does(topology: dict[str, Any], network: str, hidden: list[int]):
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

    # The core acts by these scores.
    acting = world(topology).simulation({"name": "policy", "network": network, "hidden": hidden, "record": 4096}, 3)
    acting.set_policy(scores.export())
    acting.run(3000)
    rows, done = min(acting.transition_count, 4096), acting.transitions()
    assert rows > 1000
    chosen = np.where(done["mask"][:rows], acting.policy_scores(done["observation"][:rows]), -np.inf).argmax(1)
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
