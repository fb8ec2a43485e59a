"""RLlib on the core: the runner's arithmetic, and that both algorithms run and learn."""

import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
ray = pytest.importorskip("ray")
torch = pytest.importorskip("torch")

from flitgym.agents import trainable  # noqa: E402
from flitgym.agents.networks import Layers  # noqa: E402
from flitgym.agents.rllib import ppo as rllib_ppo  # noqa: E402
from flitgym.agents.rllib.config import DqnConfig, PpoConfig  # noqa: E402
from flitgym.agents.rllib.modules import MaskedActorCritic  # noqa: E402
from flitgym.agents.rllib.training import core_layers  # noqa: E402
from flitgym.env import World  # noqa: E402
from flitgym.env.rllib_runner import DELIVERED, CoreEnvRunner, Rollout  # noqa: E402
from ray.rllib.core.columns import Columns  # noqa: E402

pytestmark = pytest.mark.deep

EXAMPLE = Path(__file__).parents[2] / "docs/examples/rllib_router_parallel.py"
TINY = {"name": "dragonfly", "terminals_per_router": 1, "routers_per_group": 3, "global_ports": 1, "groups": 4}
# At light load minimal paths are best, and an untrained policy takes detours: there is something to learn.
WORLD = World({"topology": TINY, "traffic": {"name": "uniform", "load": 0.3}})
SEAM: dict[str, Any] = {"slots": 4, "observation": "progress+queues+path"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


# --- The runner ------------------------------------------------------------------------------------------------------


def runner(config: Any) -> CoreEnvRunner:
    return CoreEnvRunner(config=config, worker_index=0, num_workers=0)


def columns(episode: Any) -> dict[str, Any]:
    every = slice(0, len(episode))
    extra = {name: episode.get_extra_model_outputs(name, every) for name in episode.extra_model_outputs}
    return {**extra, "obs": episode.get_observations(every), "actions": episode.get_actions(every)}


@pytest.mark.parametrize(("network", "spread"), [("slots", 1.0), ("flat", 0.3)])
def test_log_probabilities_equal_rllib_s(cluster: None, network: str, spread: float) -> None:
    small = PpoConfig(**SEAM, network=network, hidden=[16, 16], batch=1500)
    sampler = runner(rllib_ppo.algorithm_config(WORLD, small))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():  # far from uniform, to reveal a wrong layer or mask
        for parameter in sampler.module.actor.parameters():
            parameter.copy_(spread * torch.randn(parameter.shape, generator=generator))
    sampler.set_state({"rl_module": sampler.module.get_state()})
    (episode,) = sampler.sample()
    data = columns(episode)
    assert len(episode) >= 1500
    assert data[DELIVERED][-1]
    assert isinstance(sampler.module, MaskedActorCritic)
    seen = torch.as_tensor(data["obs"])
    logits = sampler.module.forward_exploration({Columns.OBS: seen})[Columns.ACTION_DIST_INPUTS]
    distribution = sampler.module.get_exploration_action_dist_cls().from_logits(logits)
    again = distribution.logp(torch.as_tensor(data["actions"])).numpy()
    np.testing.assert_allclose(data[Columns.ACTION_LOGP], again, atol=1e-5, rtol=1e-5)
    assert np.ptp(again) > 1
    # Some slots are masked, and none of these was taken.
    mask = data["obs"][:, -4:]
    assert (mask == 0).any()
    assert (mask[np.arange(len(mask)), data["actions"]] == 1).all()
    space = sampler.spaces[0]
    assert (data["obs"] >= space.low).all()
    assert (data["obs"] <= space.high).all()
    assert sampler.get_metrics()["packet_latency_mean_ns"].peek() > 0


def test_advantages_end_with_the_packet() -> None:
    reward = np.array([-1, -2, -3, -5], np.float32)
    value = np.array([-6, -4, -3.5, 10], np.float32)
    delivered = np.array([False, True, True, False])  # the last packet is cut
    plain = rllib_ppo.advantages(reward, value, delivered, discount=1.0, gae_lambda=1.0)
    assert plain.tolist() == [-1 - 2 + 6, -2 + 4, -3 + 3.5, 0]
    mixed = rllib_ppo.advantages(reward, value, delivered, discount=0.5, gae_lambda=0.5)
    assert mixed.tolist() == [-1 + 0.5 * -4 + 6 + 0.25 * (-2 + 4), -2 + 4, -3 + 3.5, 0]
    assert rllib_ppo.advantages(reward, value, np.zeros(4, bool), 1.0, 1.0).tolist() == [0, 0, 0, 0]


# --- The algorithms --------------------------------------------------------------------------------------------------


def trained(name: str, config: PpoConfig | DqnConfig, decisions: int, history: list[dict[str, float]]) -> Layers:
    """Train for at least so many decisions; returns the policy and appends the numbers of each round."""
    agent = trainable()[name][1](config, WORLD, rounds=100, seed=1)
    while not history or history[-1]["decisions"] < decisions:
        history.append(agent.train_round())
    layers: Layers = agent.policy()
    agent.close()
    return layers


def test_ppo_learns(cluster: None) -> None:
    history: list[dict[str, float]] = []
    config = PpoConfig(
        **SEAM, network="flat", hidden=[32], batch=4000, minibatch=500, learning_rate=3e-3, episode_ns=8000
    )
    layers = trained("rllib_ppo", config, 32_000, history)
    assert [bias.shape for _, bias in layers] == [(32,), (4,)]
    assert len(history) >= 5
    assert all(np.isfinite(x["loss"]) for x in history)
    latencies = [x["latency_ns"] for x in history]
    assert np.mean(latencies[-2:]) < 0.85 * np.mean(latencies[:2]), latencies
    assert history[-1]["reward"] > history[0]["reward"]
    # The core can run the result.
    simulation = Rollout(WORLD, rllib_ppo.algorithm_config(WORLD, config).env_config["rollout"].routing).simulation(2)
    simulation.set_policy(layers)
    simulation.run(500)
    assert simulation.decision_count > 0


@pytest.mark.parametrize("dueling", [False, True])
def test_dqn_learns(cluster: None, dueling: bool) -> None:
    history: list[dict[str, float]] = []
    config = DqnConfig(
        **SEAM,
        hidden=[32],
        fragment=1024,
        batch=256,
        learning_starts=2048,
        target_update=2048,
        epsilon_decisions=20_000,
        learning_rate=2e-3,
        episode_ns=8000,
        epsilon_first=1.0,
        dueling=dueling,
    )
    trained("rllib_dqn", config, 40_000, history)
    losses = [x["loss"] for x in history if not np.isnan(x["loss"])]
    assert len(losses) > 20
    assert np.isfinite(losses).all()
    latencies = [x["latency_ns"] for x in history]
    assert np.mean(latencies[-4:]) < 0.85 * np.mean(latencies[:3]), latencies


def test_remote_runners_get_the_weights(cluster: None) -> None:
    config = PpoConfig(**SEAM, hidden=[8], batch=600, minibatch=300, episode_ns=4000, env_runners=1)
    algorithm = rllib_ppo.algorithm_config(WORLD, config, seed=3).build_algo()
    try:
        algorithm.train()
        remote = algorithm.env_runner_group.foreach_env_runner(
            lambda runner: runner.module.core_layers(), local_env_runner=False
        )[0]
        for (weight, bias), (learned, shift) in zip(remote, core_layers(algorithm), strict=True):
            np.testing.assert_array_equal(weight, learned)
            np.testing.assert_array_equal(bias, shift)
    finally:
        algorithm.stop()


# --- As agents of flitgym train --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rllib_ppo", "rllib_dqn"])
def test_an_agent_goes_on_where_it_was(cluster: None, name: str) -> None:
    hyperparameters, kind = trainable()[name]
    config = hyperparameters(**SEAM, hidden=[16], episode_ns=1500)
    first = kind(config, WORLD, rounds=2, seed=1)
    before = first.train_round()
    state = first.state()
    policy = first.policy()
    first.close()

    again = kind(config, WORLD, rounds=2, seed=1)
    again.load_state(state)
    for one, other in zip(policy, again.policy(), strict=True):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])
    after = again.train_round()
    again.close()
    # Counts continue, and the episodes differ.
    assert again.round == 2
    assert after["decisions"] > before["decisions"]
    assert after["latency_ns"] != before["latency_ns"]


def test_the_example_trains_the_routers_of_the_parallel_environment(
    cluster: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = runpy.run_path(str(EXAMPLE))
    monkeypatch.setitem(example["main"].__globals__, "INTERVALS", 4)
    learned, without = example["main"](["--iterations", "1"])
    assert learned < 0
    assert without < 0
