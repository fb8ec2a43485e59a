"""One rule makes the seeds of all episodes. It never changes, since trainings must give the same bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from flitgym.agents import dqn, policy_search
from flitgym.env import PacketBatch, PacketRoutingEnv, PacketRoutingVecEnv, RouterParallelEnv, World, play
from flitgym.env.experience import episode_seed, training_seed

TRIANGLE: dict[str, Any] = {
    "topology": {"name": "hyperx", "widths": [3], "terminals_per_router": 2},
    "traffic": {"name": "uniform", "load": 0.2},
}


def test_the_rule_itself() -> None:
    seeds = [episode_seed(*numbers) for numbers in ((0, 0), (0, 1), (5, 0), (5, 1), (1, 2, 3))]
    assert seeds == [2968811710, 3964924996, 16823399, 3796490668, 3822189696]
    assert [training_seed(seed) for seed in (0, 1, 7)] == [1_000_000, 2_000_000, 8_000_000]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seeds of all simulations of worlds, in their order."""
    seeds: list[int] = []
    simulation = World.simulation

    def noted(self: World, routing: Any, seed: int) -> Any:
        seeds.append(seed)
        return simulation(self, routing, seed)

    monkeypatch.setattr(World, "simulation", noted)
    return seeds


def twice(environment: Any) -> None:
    environment.reset(seed=7)
    environment.reset()


FACES: dict[str, tuple[Callable[[], Any], int]] = {
    "PacketRoutingEnv": (lambda: PacketRoutingEnv(world=TRIANGLE, control="all"), 1),
    "PacketRoutingVecEnv": (lambda: PacketRoutingVecEnv(2, world=TRIANGLE, control="all"), 2),
    "PacketBatch": (lambda: PacketBatch(2, world=TRIANGLE), 2),
    "RouterParallelEnv": (lambda: RouterParallelEnv(world=TRIANGLE), 1),
}


@pytest.mark.parametrize("name", FACES)
def test_all_faces_show_the_networks_of_a_seed(built: list[int], name: str) -> None:
    make, networks = FACES[name]
    environment = make()
    built.clear()  # a simulation built only for its sizes
    twice(environment)
    assert built == [episode_seed(7 + k, n) for n in range(2) for k in range(networks)]


def test_play_shows_the_same(built: list[int]) -> None:
    play("minimal", world=TRIANGLE, seeds=(7, 8), warmup_ns=0, measure_ns=500)
    play(lambda observation, mask: np.zeros(len(mask), int), world=TRIANGLE, seeds=(7,), warmup_ns=0, measure_ns=500)
    assert built == [episode_seed(7, 0), episode_seed(8, 0), episode_seed(7, 0)]


def test_a_training_has_a_million_of_its_own(built: list[int]) -> None:
    torch.set_num_threads(1)
    settings: dict[str, Any] = {"networks": 2, "run_ns": 200, "episode_ns": 300, "updates": 1, "capacity": 512}
    learner = dqn.Agent(dqn.Config(**settings), World(TRIANGLE), rounds=3, seed=1)
    for _ in range(3):
        learner.train_round()
    assert built == list(range(2_000_000, 2_000_000 + len(built)))
    assert len(built) > 3
    built.clear()
    search = policy_search.Agent(
        policy_search.Config(population=2, elite=1, episode_ns=300), World(TRIANGLE), rounds=2, seed=4
    )
    search.train_round(), search.train_round()
    assert set(built) == {5_000_000, 5_000_001}
