"""The Python examples of docs/extending run and do what the pages say."""

import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from extending_checkout import EXAMPLES, REPOSITORY
from flitgym.env import PacketBatch, World, blocks
from flitgym.experiments.benchmarks.suite import load_suite
from flitgym.simcore import ConfigError

pytestmark = pytest.mark.deep

PAGES = REPOSITORY / "docs" / "extending"
WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]


def loaded(name: str, module: str) -> Any:
    """A file of the examples, loaded as a module with that name."""
    spec = importlib.util.spec_from_file_location(module, EXAMPLES / name)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[module] = made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def crowd() -> Iterator[Any]:
    """The blocks of crowd.py, registered for one test."""
    yield loaded("crowd.py", "crowd")
    blocks.OBSERVATIONS.pop("crowd")
    blocks.REWARDS.pop("deadline")


@pytest.fixture(scope="module")
def linear() -> Any:
    """linear.py as a module of `flitgym.agents`."""
    pytest.importorskip("torch")
    return loaded("linear.py", "flitgym.agents.linear")


def plays(batch: PacketBatch, cycles: int = 3000) -> dict[str, Any]:
    batch.reset(seed=1)
    for k in range(cycles):
        n = batch.collect()
        batch.apply(np.arange(n) * 7 % (k % 3 + 1) % batch.mask[:n].sum(1))
    return batch.take()


def test_features_in_numpy_are_shares(crowd: Any) -> None:
    batch = PacketBatch(1, overrides=WORLD, observation="crowd", slots=8)
    batch.reset(seed=1)
    simulation, some = batch.simulations[0], 0
    for _ in range(200):
        n = batch.collect()
        load = np.array(simulation.arrays()["ports"]["load"])
        channels, routers = simulation.channels(), simulation.routers()
        first, decisions = np.asarray(routers["first_port"]).astype(int), simulation.decisions()
        for i in range(n):
            router = int(batch.router[i])
            mine = (channels["router"] == router) & (channels["peer_router"] >= 0)
            loads = load[first[router] + channels["port"][mine]]
            assert batch.observation[i, 0] == pytest.approx(np.mean(loads > 0))
            for k in range(int(batch.mask[i].sum())):
                own = load[first[router] + decisions["port"][i, k]]
                assert batch.observation[i, 1 + k] == pytest.approx(own / max(loads.sum(), 1))
                some += own > 0
        batch.apply(np.zeros(n, int))
    assert some > 100


def test_a_deadline_in_numpy_is_met_or_not(crowd: Any) -> None:
    paid = plays(PacketBatch(1, overrides=WORLD, reward="deadline"))
    delays = plays(PacketBatch(1, overrides=WORLD, reward="end_to_end_delay"))
    assert (paid["decision"] == delays["decision"]).all()
    assert set(paid["reward"].tolist()) == {0.0, -1.0}
    assert ((paid["reward"] == -1) == (delays["reward"] < -crowd.DEADLINE_US)).all()


def test_linear_agent_is_least_squares(linear: Any) -> None:
    config = linear.Config(networks=2, run_ns=1000, episode_ns=20000)
    agent = linear.Agent(config, World.composed(WORLD), rounds=40, seed=1)
    lines = [agent.train_round() for _ in range(30)]
    losses = [line["loss"] for line in lines if np.isfinite(line["loss"])]
    assert np.mean(losses[-5:]) < 0.5 * losses[0]
    weight, bias = agent.policy()[0]
    assert weight.shape == (1, agent.general + agent.per_slot)
    assert bias.shape == (1,)
    # The gradient of the squared errors, with the ridge, is zero.
    gradient = agent.squares @ agent.weights() + config.ridge * agent.weights() - agent.products
    assert np.abs(gradient).max() < 1e-6 * np.abs(agent.products).max()

    other = linear.Agent(config, World.composed(WORLD), rounds=40, seed=2)
    other.load_state(agent.state())
    assert other.round == 30
    assert other.train_round() == agent.train_round()
    with pytest.raises(ConfigError, match=r"agent\.epsilon: 2 is outside 0 \.\. 1"):
        linear.Config(epsilon=2)


def test_a_suite_of_a_user() -> None:
    suite = load_suite(str(EXAMPLES / "rings.yaml"))
    assert suite.id == "rings-v1"
    assert [task.id for task in suite.tasks] == [
        "ring_16/uniform/0.3-v1",
        "torus_4x4/uniform/0.5-v1",
        "torus_4x4/tornado/0.3-v1",
    ]
    assert {task.reference for task in suite.tasks} == {"minimal"}


def test_every_example_is_on_a_page() -> None:
    text = "".join(page.read_text() for page in PAGES.glob("*.md"))
    for example in EXAMPLES.glob("[a-z]*"):
        assert f"examples/{example.name}" in text, example.name
