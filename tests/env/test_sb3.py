"""The vector environment of Stable-Baselines3, and `play`."""

from __future__ import annotations

import numpy as np
import pytest
from flitgym.env import PacketRoutingEnv, play
from flitgym.simcore import ConfigError

pytest.importorskip("stable_baselines3")

from flitgym.env.sb3 import Sb3PacketRouting
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]


@pytest.mark.parametrize("control", ["decision", "all", pytest.param("packet", marks=pytest.mark.deep)])
def test_it_is_what_sb3_makes_of_single_environments(control: str) -> None:
    keywords = {"overrides": WORLD, "control": control, "episode_ns": 300, "background": "random"}
    ours = Sb3PacketRouting(3, **keywords)
    theirs = make_vec_env(lambda: PacketRoutingEnv(**keywords), n_envs=3, seed=7)
    ours.seed(7)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    random, ends = np.random.default_rng(1), 0
    for _ in range(300):
        masks = np.array(ours.env_method("action_masks"))
        np.testing.assert_array_equal(masks, theirs.env_method("action_masks"))
        actions = (random.random(3) * masks.sum(axis=1)).astype(int)
        one, other = ours.step(actions), theirs.step(actions)
        for mine, its in zip(one[:3], other[:3], strict=True):
            np.testing.assert_allclose(mine, its, rtol=1e-6)
        for k in np.flatnonzero(one[2]):
            ends += 1
            for key in ("terminal_observation", "TimeLimit.truncated"):
                np.testing.assert_array_equal(one[3][k][key], other[3][k][key])
            assert one[3][k]["episode"]["r"] == pytest.approx(other[3][k]["episode"]["r"], abs=1e-5)
            assert one[3][k]["episode"]["l"] == other[3][k]["episode"]["l"]
            one[3][k]["terminal_observation"][:] = -1
        for info, mask in zip(one[3], ours.action_masks(), strict=True):
            np.testing.assert_array_equal(info["action_mask"], mask)
            info["action_mask"][:] = False
        one[0][:] = -1  # the environment returns copies, so the caller may write to them
    assert ends >= (1 if control == "all" else 4)


@pytest.mark.parametrize("algorithm", [PPO, DQN])
def test_stock_algorithms_run(algorithm: type) -> None:
    env = Sb3PacketRouting(2, overrides=WORLD)
    short = {"n_steps": 64} if algorithm is PPO else {"learning_starts": 50}
    model = algorithm("MlpPolicy", env, seed=1, **short)
    model.learn(300)
    assert model.ep_info_buffer
    assert all(info["l"] == 1 and info["r"] < 0 for info in model.ep_info_buffer)


def test_play_measures_rules_and_routings_alike() -> None:
    window = {"overrides": WORLD, "seeds": [1], "warmup_ns": 4_000, "measure_ns": 4_000}
    minimal = play(lambda observation, mask: np.zeros(len(observation), int), **window)
    # The core's minimal routing differs only in VC classes; both jam at 1/8.
    core = play("minimal", **window)
    assert minimal["accepted_load"] == pytest.approx(core["accepted_load"], abs=0.02)
    assert minimal["accepted_load"] < 0.2
    ugal = play("ugal_l", **window)
    assert ugal["accepted_load"] == pytest.approx(0.4, abs=0.03)
    # A slot without a candidate is slot 0.
    invalid = play(lambda observation, mask: np.where(mask.all(axis=1), 0, 7), **window)
    assert invalid == minimal
    with pytest.raises(ConfigError, match="did you mean 'ugal_l'"):
        play("ugal_1", **window)
