"""The vector environment compared with single ones, and the modes of autoreset."""

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from env_blocks import choose
from env_scenes import TRIANGLE
from flitgym.env import PacketRoutingEnv, PacketRoutingVecEnv
from flitgym.simcore import ConfigError, CoreError
from gymnasium.vector import AutoresetMode, SyncVectorEnv

K = 3


def test_made_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = [gymnasium.make_vec(f"flitgym/{name}-v1", num_envs=K) for name in ("PacketRoutingVec", "PacketRouting")]
    for env in made:
        assert isinstance(env, PacketRoutingVecEnv)
        observation, info = env.reset(seed=1)
        assert env.observation_space.contains(observation)
        assert env.single_observation_space.shape == (64,)
        assert info["action_mask"].shape == (K, 8)
        assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("copy", [True, False])
def test_arrays_are_copied_or_written_in_place(copy: bool) -> None:
    env = PacketRoutingVecEnv(K, world=TRIANGLE, copy=copy)
    first, _ = env.reset(seed=1)
    kept = first.copy()
    second, reward, *_ = env.step([0] * K)
    assert np.shares_memory(first, second) is not copy
    assert np.array_equal(first, kept) is copy
    assert np.shares_memory(reward, env.step([0] * K)[1]) is not copy


def test_seeds_of_their_own() -> None:
    env = PacketRoutingVecEnv(K, world=TRIANGLE)
    listed, _ = env.reset(seed=[5, 6, 5])
    np.testing.assert_array_equal(listed[0], listed[2])
    counted, _ = env.reset(seed=5)
    np.testing.assert_array_equal(counted[:2], listed[:2])
    with pytest.raises(ConfigError, match="2 seeds for 3 networks"):
        env.reset(seed=[1, 2])
    strict, untouched = (PacketRoutingVecEnv(K, world=TRIANGLE, invalid="error") for _ in range(2))
    strict.reset(seed=5)
    untouched.reset(seed=5)
    with pytest.raises(ConfigError, match="slot 7 has no candidate"):
        strict.step([0, 0, 7])
    np.testing.assert_array_equal(strict.step([0] * K)[0], untouched.step([0] * K)[0])
    assert env.step([0, 0, 7])[4]["invalid_actions"].tolist() == [0, 0, 1]
    with pytest.raises(ConfigError, match=r"shape \(2,\); give whole numbers of shape \(3,\)"):
        env.step([0, 0])


def alike(first: Any, second: Any) -> None:
    """The same keys, and the same numbers under each."""
    assert first.keys() == second.keys()
    for key, value in first.items():
        if isinstance(value, dict):
            alike(value, second[key])
        elif value.dtype == object:
            for one, other in zip(value, second[key], strict=True):
                np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_array_equal(value, second[key])


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("control", ["decision", "all", "packet"])
def test_ends_are_followed_as_gymnasium_has_it(control: str, mode: AutoresetMode) -> None:
    keywords: dict[str, Any] = {"world": TRIANGLE, "control": control, "background": "random", "episode_ns": 60}
    ours = PacketRoutingVecEnv(K, autoreset_mode=mode.value, **keywords)
    assert ours.metadata["autoreset_mode"] is mode
    # Single environments one after another, as Gymnasium runs them, have the same episodes with the same seeds.
    theirs = SyncVectorEnv([lambda: PacketRoutingEnv(**keywords)] * K, autoreset_mode=mode)
    shown: Any = (ours.reset(seed=3), theirs.reset(seed=3))
    ends = 0
    for step in range(200):
        np.testing.assert_array_equal(shown[0][0], shown[1][0])
        alike(shown[0][-1], shown[1][-1])
        actions = choose(shown[0][-1]["action_mask"], step)
        shown = (ours.step(actions), theirs.step(actions))
        for one, other in zip(shown[0][1:4], shown[1][1:4], strict=True):
            np.testing.assert_allclose(one, other)
        over = shown[0][2] | shown[0][3]
        ends += over.sum()
        assert ("final_obs" in shown[0][4]) == (mode is AutoresetMode.SAME_STEP and over.any())
        if mode is AutoresetMode.DISABLED and over.any():
            with pytest.raises(CoreError, match=f"episodes {', '.join(map(str, np.flatnonzero(over)))} are over"):
                ours.step(actions)
            first = [env.reset(options={"reset_mask": over.copy()}) for env in (ours, theirs)]
            np.testing.assert_array_equal(*(observation for observation, _ in first))
            shown = tuple((observation, first[0][1]) for observation, _ in first)
    assert ends > 2 * K
    assert type(ours).metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
