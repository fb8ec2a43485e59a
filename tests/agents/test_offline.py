"""`agent=offline`: it learns the best action of a known problem, repeats to the last bit, and checks its dataset."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flitgym.agents import trainable
from flitgym.agents.offline import Agent, Config
from flitgym.configs import compose
from flitgym.configs.composition import compose_root
from flitgym.configs.training import register_training
from flitgym.env import World
from flitgym.env.experience.dataset import Dataset
from flitgym.experiments.recording.run import record
from flitgym.experiments.training.run import train
from flitgym.simcore import Simulation
from flitgym.simcore._policy_file import load_policy

WORDS = ["topology=dragonfly_72", "traffic=mixed", "traffic.load=0.4", "run.warmup_ns=1000"]
WORLD = World.composed(["topology=dragonfly_72", "traffic=mixed"])


@pytest.fixture(scope="module")
def of_par() -> Dataset:
    return record(compose([*WORDS, "routing=par"]), {"decisions": 2000})


@pytest.fixture
def path(of_par: Dataset, tmp_path: Path) -> Path:
    of_par.save(tmp_path / "transitions.parquet")
    return tmp_path / "transitions.parquet"


def agent(path: Path, rounds: int = 30, **more: Any) -> Agent:
    config = Config(dataset=str(path), hidden=[16], batch=256, **more)
    made = Agent(config, WORLD, rounds=rounds, seed=1)
    for _ in range(rounds):
        made.train_round()
    return made


def choices(made: Agent, rows: dict[str, np.ndarray]) -> np.ndarray:
    routing = {**Agent.routing(made.config), "name": "policy"}
    simulation = WORLD.simulation(routing, 1)
    simulation.set_policy(made.policy())
    return np.where(rows["mask"], simulation.policy_scores(rows["observation"]), -np.inf).argmax(axis=1)


def solved(of_par: Dataset, path: Path) -> tuple[np.ndarray, Dataset]:
    """A problem with a known answer: a slot with the shortest queue costs 1, another one 2, and nothing follows.

    Returns:
        Which slots are best, [n, slots]; the dataset, whose actions are random.
    """
    rows, names, general = dict(of_par.rows), of_par.about["per_slot"], len(of_par.about["general"])
    queues = rows["observation"][:, general:].reshape(len(of_par), -1, len(names))[:, :, names.index("queues.link")]
    queues = np.where(rows["mask"], queues, np.inf)
    best = queues == queues.min(axis=1, keepdims=True)
    rows["action"] = np.random.default_rng(1).integers(0, rows["mask"].sum(axis=1))
    rows["reward"] = np.where(taken(best, rows["action"]), -1, -2).astype(np.float32)
    rows["done"] = np.ones_like(rows["done"])
    rows["next_mask"] = np.zeros_like(rows["next_mask"])
    data = Dataset(rows, of_par.about)
    data.save(path)
    return best, data


def taken(best: np.ndarray, action: np.ndarray) -> np.ndarray:
    return np.take_along_axis(best, action[:, None], 1)[:, 0]


@pytest.mark.deep
def test_conservative_q_learns_the_better_action_from_random_ones(of_par: Dataset, path: Path) -> None:
    best, data = solved(of_par, path)
    assert taken(best, data.rows["action"]).mean() < 0.8
    made = agent(path, conservatism=0.0, learning_rate=1e-2)
    assert taken(best, choices(made, data.rows)).mean() > 0.9


@pytest.mark.deep
def test_imitation_repeats_the_recorded_action(of_par: Dataset, path: Path) -> None:
    best, data = solved(of_par, path)
    Dataset({**data.rows, "action": best.argmax(axis=1)}, data.about).save(path)
    made = agent(path, loss="imitation", learning_rate=1e-2)
    assert taken(best, choices(made, data.rows)).mean() > 0.9


def test_the_losses_by_hand(path: Path, of_par: Dataset) -> None:
    made = agent(path, rounds=0, conservatism=0.5)
    batch = {name: column[:50] for name, column in made.rows.items()}
    with torch.no_grad():
        q = made.online(batch["observation"], batch["mask"]).numpy().astype(np.float64)
        later = made.target(batch["next_observation"], batch["next_mask"]).numpy().astype(np.float64)
    mask, action, following = batch["mask"].numpy(), batch["action"].numpy(), batch["next_mask"].numpy()
    taken = q[np.arange(50), action]
    # At the start both networks are equal, so double and plain DQN have the same goal.
    goal = batch["reward"].numpy() + np.where(following.any(1), np.where(following, later, -np.inf).max(1), 0)
    error = np.abs(taken - goal)
    huber = np.where(error < 1, error**2 / 2, error - 0.5).mean()
    gap = (np.log(np.where(mask, np.exp(q), 0).sum(1)) - taken).mean()
    loss, agreement = made.update(batch)
    assert loss == pytest.approx(huber + 0.5 * gap, rel=1e-5)
    assert agreement == pytest.approx((np.where(mask, q, -np.inf).argmax(1) == action).mean())


@pytest.mark.deep
def test_a_training_continues_to_the_last_bit(path: Path) -> None:
    one = agent(path, 6)
    half = Agent(one.config, WORLD, rounds=6, seed=1)
    for _ in range(3):
        half.train_round()
    rest = Agent(one.config, WORLD, rounds=6, seed=2)
    rest.load_state(half.state())
    for _ in range(3):
        rest.train_round()
    assert all(np.array_equal(a, b) for a, b in zip(rest.policy()[0], one.policy()[0], strict=True))


def test_a_training_exports_a_policy_that_the_core_plays(path: Path, tmp_path: Path) -> None:
    register_training(trainable())
    words = ["agent=offline", f"agent.dataset={path}", "agent.updates=2", "topology=dragonfly_72", "rounds=2"]
    config = compose_root("train", ["track.to=none", "evaluation.every=0", *words])
    result = train(config, tmp_path / "run")
    assert result["decisions"] == 2000
    _, metadata = load_policy(tmp_path / "run" / "policy.safetensors")
    assert metadata["relation"] == "par"
    sections = {"topology": "dragonfly_72", "router": "hpdc21", "traffic": "uniform", "seed": 1}
    policy = {"name": "policy", "path": str(tmp_path / "run" / "policy.safetensors")}
    simulation = Simulation({**sections, "routing": policy})
    simulation.run(2000)
    assert simulation.decision_count > 100
    other = train(config, tmp_path / "again")
    assert other["training_hash"] == result["training_hash"]
    files = [(tmp_path / name / "policy.safetensors").read_bytes() for name in ("run", "again")]
    assert files[0] == files[1]
    changed = Dataset.load(path)
    Dataset({**changed.rows, "reward": changed.rows["reward"] * np.float32(2)}, changed.about).save(path)
    assert train(config, tmp_path / "other")["training_hash"] != result["training_hash"]
