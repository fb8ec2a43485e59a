"""From `PacketBatch` to a policy file that the core plays, with rectified linear units or tanh."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.agents.policy.file import load_policy, save_batch_policy
from flitgym.env import PacketBatch, play
from flitgym.simcore import Simulation
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.3"]
SEEN = {"slots": 4, "slots_by": "estimate", "observation": "progress+queues+path"}


def batch_of(**more: Any) -> PacketBatch:
    batch = PacketBatch(1, overrides=WORLD, **{**SEEN, **more})
    batch.reset(seed=1)
    return batch


def model(inputs: int, outputs: int, activation: Any) -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, 20), activation(), torch.nn.Linear(20, 5), activation(), torch.nn.Linear(5, outputs)
    )


def rule(net: Any, network: str, general: int, slots: int) -> Any:
    """The policy in torch, as `play` takes it."""

    def choose(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        seen = torch.from_numpy(observation)
        if network == "slots":
            own = seen[:, general:].unflatten(1, (slots, -1))
            seen = torch.cat([seen[:, None, :general].expand(-1, slots, -1), own], 2)
        with torch.no_grad():
            scores = net(seen).reshape(len(mask), -1).numpy()
        return np.where(mask, scores, -np.inf).argmax(axis=1)

    return choose


@pytest.mark.parametrize("network", ["slots", "flat"])
@pytest.mark.parametrize("name", [pytest.param("ReLU", marks=pytest.mark.deep), "Tanh"])
def test_the_core_plays_the_policy_of_a_batch(tmp_path: Path, network: str, name: str) -> None:
    batch, file = batch_of(), tmp_path / "mine.safetensors"
    general, per_slot = len(batch.seam["general"]), len(batch.seam["per_slot"])
    sizes = (general + per_slot, 1) if network == "slots" else (batch.seam["width"], 4)
    net = model(*sizes, getattr(torch.nn, name))
    save_batch_policy(file, batch, net, network=network)
    window = {"overrides": WORLD, "seeds": (5,), "warmup_ns": 500, "measure_ns": 1_000}
    assert play(file, **window) == play(rule(net, network, general, 4), **window, **SEEN)
    _, metadata = load_policy(file)
    assert metadata["topology"] == "dragonfly"
    assert metadata["slots_by"] == "estimate"
    assert metadata["activation"] == name.lower()


def tanh(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The formula of simcore/src/learning/perceptron.cpp in float32."""
    number = np.float32
    half = np.clip(x, number(-9), number(9)) * number(0.5)
    s = half * half
    above = half * (((s + number(378)) * s + number(17325)) * s + number(135135))
    t = above / (((number(28) * s + number(3150)) * s + number(62370)) * s + number(135135))
    return (t + t) / (number(1) + t * t)


def test_tanh_has_the_same_bits_everywhere(tmp_path: Path) -> None:
    """One unit reads one feature, so its value is the score. NumPy computes the formula with other instructions."""
    seam = batch_of().seam
    inputs = len(seam["general"]) + len(seam["per_slot"])
    first = np.zeros((1, inputs), np.float32)
    first[0, 0] = 1
    layers = [(first, np.zeros(1, np.float32)), (np.ones((1, 1), np.float32), np.zeros(1, np.float32))]
    file = tmp_path / "unit.safetensors"
    save_batch_policy(file, batch_of(), layers, activation="tanh")
    routing = {"name": "policy", "path": str(file)}
    simulation = Simulation({"topology": "dragonfly_72", "routing": routing, "traffic": "uniform", "seed": 1})
    x = np.concatenate([np.linspace(-12, 12, 20_001), np.geomspace(1e-9, 1, 2_000), [1e30, -1e30]]).astype(np.float32)
    rows = np.zeros((len(x), seam["width"]), np.float32)
    rows[:, 0] = x
    scores = simulation.policy_scores(rows)[:, 0]
    np.testing.assert_array_equal(scores, tanh(x))
    np.testing.assert_allclose(scores, np.tanh(x.astype(np.float64)), rtol=3e-7, atol=1e-12)
    assert np.abs(scores).max() == 1
