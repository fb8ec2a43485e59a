"""From models and environments to policy files that the core plays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from flitgym.env import PacketBatch, export, play
from flitgym.simcore import ConfigError, Simulation
from flitgym.simcore._policy_file import load_policy
from gymnasium.wrappers import NormalizeObservation, RescaleObservation
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
    export(net, batch, file)
    window = {"overrides": WORLD, "seeds": (5,), "warmup_ns": 500, "measure_ns": 1_000}
    assert play(file, **window) == play(rule(net, network, general, 4), **window, **SEEN)
    _, metadata = load_policy(file)
    assert metadata["network"] == network
    assert metadata["topology"] == "dragonfly"
    assert metadata["slots_by"] == "estimate"
    assert metadata["activation"] == name.lower()


def core_scores(file: Path, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    routing = {"name": "policy", "path": str(file)}
    simulation = Simulation({"topology": "dragonfly_72", "routing": routing, "traffic": "uniform", "seed": 1})
    return simulation.policy_scores(rows)


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
    unit = torch.nn.Sequential(torch.nn.Linear(inputs, 1), torch.nn.Tanh(), torch.nn.Linear(1, 1))
    for number in unit.parameters():
        torch.nn.init.zeros_(number)
    with torch.no_grad():
        unit[0].weight[0, 0] = unit[2].weight[0, 0] = 1
    export(unit, batch_of(), tmp_path / "unit.safetensors")
    x = np.concatenate([np.linspace(-12, 12, 20_001), np.geomspace(1e-9, 1, 2_000), [1e30, -1e30]]).astype(np.float32)
    rows = np.zeros((len(x), seam["width"]), np.float32)
    rows[:, 0] = x
    scores = core_scores(tmp_path / "unit.safetensors", rows)[:, 0]
    np.testing.assert_array_equal(scores, tanh(x))
    np.testing.assert_allclose(scores, np.tanh(x.astype(np.float64)), rtol=3e-7, atol=1e-12)
    assert np.abs(scores).max() == 1


def make() -> Any:
    return gymnasium.make("flitgym/PacketRouting-v1", overrides=WORLD)


def sb3(kind: str, wrap: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    library = pytest.importorskip("stable_baselines3")
    env = wrap(library.common.env_util.make_vec_env(make, 2))
    model = getattr(library, kind)("MlpPolicy", env, seed=1)
    if kind == "DQN":
        return model, env, model.q_net
    return model, env, lambda seen: model.policy.get_distribution(seen).distribution.logits


def normalised(env: Any) -> Any:
    from stable_baselines3.common.vec_env import VecNormalize

    env = VecNormalize(env, clip_obs=np.inf)
    env.obs_rms.update(np.random.default_rng(1).random((50, 64)))
    return env


def in_gymnasium(net: Any = None) -> tuple[Any, Any, Any]:
    env, net = NormalizeObservation(make()), net or model(64, 8, torch.nn.ReLU)
    env.obs_rms.update(np.random.default_rng(1).random((50, 64)))
    env.update_running_mean = False
    return net, env, lambda seen: net(torch.as_tensor(env.observation(seen.numpy())))


def in_torchrl() -> tuple[Any, Any, Any]:
    pytest.importorskip("torchrl")
    from tensordict.nn import TensorDictModule
    from torchrl.envs import GymWrapper, RewardSum, TransformedEnv
    from torchrl.modules import MLP, ProbabilisticActor

    net = MLP(64, 8, num_cells=[16])
    _, env, scores = in_gymnasium(net)
    inner, categorical = TensorDictModule(net, ["observation"], ["logits"]), torch.distributions.Categorical
    actor = ProbabilisticActor(inner, ["logits"], distribution_class=categorical)
    return actor, TransformedEnv(GymWrapper(env, categorical_action_encoding=True), RewardSum()), scores


@pytest.mark.parametrize(
    "made",
    [
        lambda: sb3("DQN", lambda env: env),
        lambda: sb3("PPO", normalised),
        in_gymnasium,
        in_torchrl,
        lambda: (net := model(64, 8, torch.nn.Tanh), gymnasium.make_vec("flitgym/PacketRouting-v1", num_envs=2), net),
    ],
    ids=["sb3_dqn", "sb3_ppo_normalised", "gymnasium_normalised", "torchrl", "make_vec"],
)
def test_the_core_has_the_scores_of_a_wrapped_model(tmp_path: Path, made: Callable[[], tuple[Any, Any, Any]]) -> None:
    model, env, scores = made()
    export(model, env, tmp_path / "mine.safetensors")
    rows = np.random.default_rng(2).random((100, 64), np.float32)
    seen = getattr(env, "normalize_obs", lambda row: row)(rows)
    with torch.no_grad():
        own = scores(torch.as_tensor(seen).float()).numpy()
    core = core_scores(tmp_path / "mine.safetensors", rows)
    np.testing.assert_allclose(core - core.mean(1)[:, None], own - own.mean(1)[:, None], atol=1e-4)


def test_a_wrapper_that_the_core_cannot_repeat_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="RescaleObservation changes observations"):
        export(model(64, 8, torch.nn.ReLU), RescaleObservation(make(), np.float32(0), np.float32(1)), tmp_path / "no")
