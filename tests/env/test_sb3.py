"""Algorithms of Stable-Baselines3, and `play`."""

from __future__ import annotations

import numpy as np
import pytest
from flitgym.env import PacketRoutingEnv, play
from flitgym.simcore import ConfigError

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]


@pytest.mark.parametrize("algorithm", [PPO, DQN])
def test_stock_algorithms_run(algorithm: type) -> None:
    env = make_vec_env(lambda: PacketRoutingEnv(overrides=WORLD), n_envs=2)
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
