"""Trainings on several worlds: the worlds of each network, the length of episodes, and refused mixtures."""

from itertools import combinations
from typing import Any

import numpy as np
import torch
from flitgym.agents.dqn import Config
from flitgym.agents.learning.rollouts import Rollouts
from flitgym.agents.networks import SlotScores
from flitgym.env.experience.seeds import training_seed
from flitgym.env.experience.world import Mixture, World

SEEN = {"observation": "relative+relative_lost", "reward": "relative_delay", "slots": 4, "slots_by": "estimate"}
SMALL = {"terminals_per_router": 1, "routers_per_group": 2, "global_ports": 1, "groups": 3, "name": "dragonfly"}


def world(topology: dict[str, Any]) -> World:
    return World({"topology": topology, "traffic": {"name": "uniform", "load": 0.5}})


def rollouts(networks: int) -> Rollouts:
    mixture = Mixture(
        [world(SMALL), world({"name": "hyperx", "widths": [3]}), world({"name": "torus", "sizes": [4]})],
        [None, 500, 4000],
    )
    config = Config(networks=networks, episode_ns=1000, capacity=256, record_part=1.0)
    return Rollouts(config, SEEN, mixture, seed=5)


def layers(of: Rollouts) -> Any:
    torch.manual_seed(1)
    return SlotScores(of.seam, Config().hidden).export()


def test_networks_take_the_worlds_in_turn_and_keep_them():
    of = rollouts(6)
    assert of.members == [0, 1, 2, 0, 1, 2]
    assert [s.facts()["terminals"] for s in of.simulations][:3] == [s.facts()["terminals"] for s in of.simulations][3:]
    for _ in range(30):
        of.run(100, layers(of))
    assert of.members == [0, 1, 2, 0, 1, 2]
    assert len(set(of.seeds)) == 6
    assert of.next_seed > training_seed(5) + 6  # new episodes have begun


class Rows:
    """A ring whose every transition has the number of its network as action."""

    def __init__(self, network: int) -> None:
        self.network = network
        self.kept = range(3, 100)

    def pick(self, numbers: Any, names: Any) -> dict[str, Any]:
        return {"action": np.full(len(numbers), self.network)}


def test_a_sample_has_as_many_transitions_of_each_network_as_possible():
    of, generator = rollouts(6), torch.Generator().manual_seed(3)
    of.rings = [Rows(k) for k in range(6)]
    taken = [torch.bincount(of.sample(count, generator)["action"], minlength=6) for count in (12, 9, *[4] * 300)]
    assert taken[0].tolist() == [2] * 6
    assert sorted(taken[1].tolist()) == [1, 1, 1, 2, 2, 2]
    assert all(sorted(few.tolist()) == [0, 0, 1, 1, 1, 1] for few in taken[2:])
    of.rings[1].kept = of.rings[4].kept = range(0)
    assert sorted(of.sample(3, generator)["action"].tolist()) in (
        [a, b, c] for a, b, c in combinations((0, 2, 3, 5), 3)
    )
    assert torch.bincount(of.sample(12, generator)["action"], minlength=6).tolist() == [2, 0, 2, 2, 0, 2]
    # Binomial, 300 trials of probability 2/3: five standard deviations are 41.
    assert all(159 < total < 241 for total in torch.stack(taken[2:]).sum(0).tolist())


def test_composed_as_in_a_configuration():
    small = {"overrides": ["topology=dragonfly_72"], "share": 2}
    mesh = {"overrides": ["topology=mesh_64", "router=input_queued"], "episode_ns": 500}
    mixture = Mixture.composed({"a": small, "b": mesh | {"vary": {"traffic.load": [0.1]}}})
    assert len(mixture.worlds) == 3
    assert mixture.worlds[0] is mixture.worlds[1]
    assert list(mixture.episode_ns) == [None, None, 500]
    assert mixture.worlds[2].draw(1)["traffic"]["load"] == 0.1
