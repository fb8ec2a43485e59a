"""`agent=policy_search`: it finds the least loss, continues from a checkpoint, and refuses other states."""

import math
import threading
from typing import Any

import numpy as np
import pytest
import torch
from flitgym.agents.learning.abandonment import RoundAbandonedError
from flitgym.agents.policy_search import Agent, Config, _loss_of_jobs, _Player, costs_of, features_of
from flitgym.agents.rllib.ray_cluster import on_cluster
from flitgym.configs.policies import shipped_policy
from flitgym.env.experience.world import Mixture
from flitgym.simcore import ConfigError
from flitgym.simcore._policy_file import load_policy
from layer_scores import score

_SMALL: dict[str, Any] = {"population": 3, "elite": 1, "episode_ns": 3000}


def first_slot(agent: Agent) -> int:
    """The first column of an observation's slot features."""
    return len(features_of(agent.config.observation, "general"))


@pytest.fixture(scope="module")
def mixture() -> Mixture:
    return Mixture.composed({
        "traffic": {"overrides": ["topology=dragonfly_72", "router=sc22", "traffic=adversarial", "traffic.load=0.2"]},
        "jobs": {
            "overrides": [
                "topology=dragonfly_72",
                "router=sc22",
                "workload=pair",
                "workload.target=ur",
                "workload.target_params={iterations:2}",
                "workload.background=halo3d",
            ],
            "episode_ns": 20000,
        },
    })  # fmt: skip


def test_it_fits_costs_to_the_best_of_what_it_drew(mixture: Mixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the loss of an episode is the distance to known costs, the search finds them."""
    agent = Agent(Config(population=30, elite=6, spread=1.0), mixture, rounds=30, seed=1)
    goal = torch.linspace(-1.5, 1.5, len(features_of(agent.config.observation)), dtype=torch.float64)
    monkeypatch.setattr(agent, "_play", lambda logs, k: (float((logs - goal).square().sum()), 1))
    losses = [agent.train_round()["loss"] for _ in range(30)]
    assert losses[-1] < 0.05 * losses[0]
    layer, _ = agent.policy()[0]
    assert np.allclose(layer[0, : first_slot(agent)], 0)  # features that are the same for all slots have no cost
    assert np.allclose(np.log(-layer[0, first_slot(agent) :]), goal, atol=0.5)


def test_decay_moves_costs_without_an_effect_towards_one(mixture: Mixture, monkeypatch: pytest.MonkeyPatch) -> None:
    start = {"queued": 100.0, "lost": 0.01}
    agent = Agent(Config(population=30, elite=6, start=start, decay=0.1), mixture, rounds=30, seed=1)
    monkeypatch.setattr(agent, "_play", lambda logs, k: (1.0, 1))
    for _ in range(30):
        agent.train_round()
    assert float(agent.mean.abs().max()) < 1


def test_it_keeps_the_best_of_some_means(mixture: Mixture, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(Config(**_SMALL), mixture, rounds=1, seed=1)
    means = [torch.full_like(agent.mean, value) for value in (2.0, 0.5, 1.0)]
    played: list[int] = []
    monkeypatch.setattr(agent, "_play", lambda logs, k: (played.append(agent.next_seed + k), (float(logs[0]), 1))[1])
    assert agent.keep_best(means, 3) == 1
    assert agent.mean is means[1]
    assert sorted(set(played)) == list(range(min(played), min(played) + 6))  # 3 episodes of 2 worlds, for all means
    assert len(played) == 18


@pytest.mark.parametrize(("tolls", "tied"), [([], {}), (["lost", "queued"], {}), (["lost"], {"more_time": "lost"})])
def test_the_costs_of_a_policy_are_read_from_its_layers(
    mixture: Mixture, tolls: list[str], tied: dict[str, str]
) -> None:
    agent = Agent(Config(**_SMALL, tolls=tolls, tied=tied), mixture, rounds=1, seed=1)
    agent.mean = torch.tensor(np.random.default_rng(1).normal(size=len(agent.costs)))
    found = costs_of(agent.policy(), agent.config.observation, tolls)
    for name, other in tied.items():
        assert found.pop(name) == found[other]
    assert list(found) == agent.costs
    assert np.log(list(found.values())) == pytest.approx(agent.mean.numpy(), abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tied": {"more_time": "foo"}}, r"agent\.tied\.more_time: unknown feature 'foo'"),
        ({"tied": {"more_time": "lost", "lost": "queued"}}, "agent.tied.more_time: 'lost' has no cost of its own"),
        ({"tied": {"more_time": "lost"}, "start": {"more_time": 3.0}}, "its cost is that of 'lost'"),
    ],
)
def test_a_shared_cost_must_exist_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Config(**_SMALL, **settings)


def test_a_toll_is_paid_by_longer_ways_alone(mixture: Mixture) -> None:
    """The score is minus the sum of all costs; a path with more hops than minimal also pays the tolls."""
    config = Config(**_SMALL, tolls=["lost", "queued"])
    agent = Agent(config, mixture, rounds=1, seed=1)
    assert agent.costs == [*features_of(agent.config.observation), "lost_toll", "queued_toll"]
    draws = np.random.default_rng(3)
    logs = torch.tensor(draws.normal(size=len(agent.costs)))
    layers = agent._layers(logs)
    x = draws.uniform(0, 100, (200, layers[0][0].shape[1])).astype(np.float32)
    column = {name: first_slot(agent) + k for k, name in enumerate(features_of(agent.config.observation))}
    x[:, column["more_time"]] = draws.uniform(-8, 8, 200)
    x[:, column["more_hops"]] = draws.choice([-0.5, 0, 0.5, 1, 1.5], 200)
    costs = np.exp(logs.numpy())
    longer = x[:, column["more_hops"]] > 0
    tolled = costs[-2] * x[:, column["lost"]] + costs[-1] * x[:, column["queued"]]
    wanted = -(x[:, first_slot(agent) :] @ costs[:-2]) - np.where(longer, tolled, 0)
    assert np.allclose(score(layers, x), wanted, rtol=1e-3, atol=0.5)
    assert 0 < longer.sum() < len(longer)
    assert math.isfinite(agent.train_round()["loss"])  # the core takes it


BASE = {"base": "dqn", "observation": "relative+relative_lost"}


def test_costs_are_taken_from_the_score_of_a_base(mixture: Mixture) -> None:
    """The score of a shipped policy, minus the toll of longer paths on a feature of the router."""
    slots = features_of(BASE["observation"])
    start = {name: 0.5 + k for k, name in enumerate(slots)} | {"backlog_toll": 3.0}
    config = Config(**_SMALL, **BASE, tolls=["backlog"], start=start)
    agent = Agent(config, mixture, rounds=1, seed=1)
    base, _ = load_policy(shipped_policy("dqn"))
    seam = agent._player.simulation(0, 1).seam()
    inputs = [feature["name"].rpartition(".")[2] for feature in [*seam["general"], *seam["per_slot"]]]
    assert inputs == [*features_of(config.observation, "general"), *slots]  # the core's order
    x = np.random.default_rng(3).uniform(0, 4, (200, len(inputs))).astype(np.float32)
    x[:, inputs.index("more_hops")] = np.random.default_rng(4).choice([-0.5, 0, 0.5, 1, 1.5], 200)
    longer = x[:, inputs.index("more_hops")] > 0
    costs = sum(start[name] * x[:, inputs.index(name)] for name in slots)
    costs = costs + np.where(longer, 3 * x[:, inputs.index("backlog")], 0)
    assert np.allclose(score(agent.policy(), x), score(base, x) - costs, atol=0.02)
    assert 0 < longer.sum() < len(longer)
    assert math.isfinite(agent.train_round()["loss"])  # the core takes it


@pytest.mark.parametrize(("limit", "found"), [(0.1, True), (1000.0, False)])
def test_a_saturated_world_does_not_outweigh_the_others(
    mixture: Mixture, monkeypatch: pytest.MonkeyPatch, limit: float, found: bool
) -> None:
    """One world has large losses that do not depend on the costs; in the other one the loss has a minimum."""
    agent = Agent(Config(population=30, elite=6, limit=limit), mixture, rounds=40, seed=1)
    goal = torch.linspace(-1.5, 1.5, len(agent.costs), dtype=torch.float64)
    draws = np.random.default_rng(1)
    monkeypatch.setattr(
        agent, "_play", lambda logs, k: (float((logs - goal).square().mean() if k else 100 * draws.normal()), 1)
    )
    for _ in range(40):
        agent.train_round()
    assert (float((agent.mean - goal).square().mean()) < 0.3) is found


@pytest.mark.deep
def test_threads_change_nothing_and_a_stopped_search_goes_on_as_if_it_had_not_been(mixture: Mixture) -> None:
    whole = Agent(Config(**_SMALL, threads=2), mixture, rounds=2, seed=1)
    metrics = [whole.train_round() for _ in range(2)]
    first = Agent(Config(**_SMALL), mixture, rounds=2, seed=1)
    assert first.train_round() == metrics[0]
    second = Agent(Config(**_SMALL), mixture, rounds=2, seed=1)
    second.load_state(first.state())
    assert second.train_round() == metrics[1]
    assert all(math.isfinite(value) for row in metrics for value in row.values())
    assert torch.equal(second.mean, whole.mean)
    assert metrics[1]["decisions"] > metrics[0]["decisions"] > 0


@pytest.mark.deep
def test_a_cluster_plays_the_same_round_and_stops_when_it_is_given_up(mixture: Mixture) -> None:
    ray = pytest.importorskip("ray")
    here = Agent(Config(**_SMALL), mixture, rounds=1, seed=1)
    try:
        there = Agent(Config(**_SMALL, address="local"), mixture, rounds=1, seed=1)
        assert there.train_round() == here.train_round()
        with pytest.raises(ConfigError, match="layers") as caught:
            on_cluster(_Player.play, there._player, [([], 0, 1)], lambda: None)
        assert "\n" not in str(caught.value)  # the error of the call, without Ray's traceback
        endless = Agent(Config(**{**_SMALL, "episode_ns": 1e9}, address="local"), mixture, rounds=1, seed=1)
        threading.Timer(0.5, endless.abandon).start()
        with pytest.raises(RoundAbandonedError):
            endless.train_round()
    finally:
        ray.shutdown()


def test_a_round_that_is_given_up_leaves_nothing_behind(mixture: Mixture) -> None:
    """An episode of one simulated second takes hours; `abandon()` ends it within some simulated us."""
    agent = Agent(Config(**{**_SMALL, "episode_ns": 1e9}, threads=2), mixture, rounds=1, seed=1)
    before = agent.state()
    threading.Timer(0.5, agent.abandon).start()
    with pytest.raises(RoundAbandonedError):
        agent.train_round()
    after = agent.state()
    for name, value in before.items():
        assert torch.equal(torch.as_tensor(value), torch.as_tensor(after[name])), name


def test_the_loss_of_jobs_is_their_mean_time_per_flit(mixture: Mixture) -> None:
    agent = Agent(Config(**_SMALL), mixture, rounds=1, seed=1)
    simulation = agent._player.simulation(1, 5)
    simulation.set_policy(agent.policy())
    loss = _loss_of_jobs(simulation, 1e7, lambda: None)
    target, background = simulation.jobs()
    assert target["ranks_finished"] == target["ranks"]
    assert background["ranks_finished"] < background["ranks"]  # the episode ended with the first job
    logs = [
        math.log(target["rank_comm_time_ns"].mean() / target["flits"]),
        math.log(simulation.time_ns / background["flits"]),
    ]
    assert loss == pytest.approx(sum(logs) / 2)
