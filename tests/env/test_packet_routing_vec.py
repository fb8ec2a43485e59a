"""Several networks at once: the vector environment beside single ones, and the batch in which nothing is copied."""

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from env_scenes import JOBS, TRIANGLE
from flitgym.env import PacketBatch, PacketRoutingEnv, PacketRoutingVecEnv
from flitgym.simcore import ConfigError, CoreError, Worlds

K = 3


def choose(mask: np.ndarray, step: int) -> np.ndarray:
    """Another valid slot in each step."""
    return np.where(mask.sum(axis=-1) > step % 3, step % 3, 0)


def test_made_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = [gymnasium.make_vec(f"flitgym/{name}-v0", num_envs=K) for name in ("PacketRoutingVec", "PacketRouting")]
    for env in made:
        assert isinstance(env, PacketRoutingVecEnv)
        observation, info = env.reset(seed=1)
        assert env.observation_space.contains(observation)
        assert env.single_observation_space.shape == (64,)
        assert info["action_mask"].shape == (K, 8)
        assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("control", ["all", "packet"])
def test_equals_single_environments(control: str) -> None:
    keywords: dict[str, Any] = {"world": TRIANGLE, "control": control, "background": "random", "episode_ns": 80}
    vector = gymnasium.make_vec("flitgym/PacketRoutingVec-v0", num_envs=K, **keywords)
    singles = [gymnasium.make("flitgym/PacketRouting-v0", **keywords) for _ in range(K)]
    observation, info = vector.reset(seed=7)
    begun = [single.reset(seed=7 + k) for k, single in enumerate(singles)]
    np.testing.assert_array_equal(observation, [one[0] for one in begun])
    over, ends = [False] * K, 0
    for step in range(200):
        actions = choose(info["action_mask"], step)
        observation, reward, terminated, truncated, info = vector.step(actions)
        for k, single in enumerate(singles):
            if over[k]:  # the step after an end begins anew
                alone: Any = (*single.reset(), 0.0, False, False)
                alone = (alone[0], *alone[2:], alone[1])
            else:
                alone = single.step(int(actions[k]))
            np.testing.assert_array_equal(observation[k], alone[0])
            assert (reward[k], terminated[k], truncated[k]) == alone[1:4]
            np.testing.assert_array_equal(info["action_mask"][k], alone[4]["action_mask"])
            assert (info["router"][k], info["time_ns"][k]) == (alone[4]["router"], alone[4]["time_ns"])
            over[k] = alone[2] or alone[3]
            ends += over[k]
    assert ends > K


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
    with pytest.raises(ConfigError, match="slot 7 has no candidate"):
        env.step([0, 0, 7])
    untouched = PacketRoutingVecEnv(K, world=TRIANGLE)
    untouched.reset(seed=5)
    np.testing.assert_array_equal(env.step([0] * K)[0], untouched.step([0] * K)[0])
    with pytest.raises(ConfigError, match=r"shape \(2,\) for 3 networks"):
        env.step([0, 0])
    with pytest.raises(ConfigError, match="there must be at least one"):
        PacketRoutingVecEnv(0)
    with pytest.raises(ConfigError, match="did you mean 'slots'"):
        PacketRoutingVecEnv(2, slot=3)


def address(array: np.ndarray) -> int:
    pointer: int = array.__array_interface__["data"][0]
    return pointer


def test_batch_copies_nothing() -> None:
    batch = PacketBatch(K, world=TRIANGLE)
    batch.reset(seed=1)
    views = {name: getattr(batch, name) for name in ("observation", "mask", "network", "router")}
    rings = [batch.transitions(k) for k in range(K)]
    addresses = {name: address(view) for name, view in views.items()}
    tensor = torch.from_numpy(batch.observation)
    shared = torch.from_dlpack(batch.observation)
    assert tensor.data_ptr() == shared.data_ptr() == addresses["observation"]
    several = 0
    for step in range(300):
        n = batch.collect()
        assert n > 0
        several += n > 1
        assert {name: address(getattr(batch, name)) for name in views} == addresses
        # What the core wrote in this cycle is in the tensor, and it is what each simulation shows of itself.
        assert tensor.data_ptr() == address(batch.observation)
        first = 0
        for k, simulation in enumerate(batch.simulations):
            own = batch.network[:n] == k
            if own.any():
                asked = simulation.decisions()
                assert address(asked["observation"]) == addresses["observation"] + 4 * 64 * first
                assert np.shares_memory(asked["observation"], batch.observation)
                np.testing.assert_array_equal(tensor[:n].numpy()[own], asked["observation"])
                np.testing.assert_array_equal(batch.router[:n][own], asked["router"])
            first += int(own.sum())
        batch.apply(choose(batch.mask[:n], step))
        for k, simulation in enumerate(batch.simulations):
            assert batch.transitions(k) is rings[k]
            assert all(address(view) == address(rings[k][name]) for name, view in simulation.transitions().items())
    assert several > 50
    assert min(batch.filed(k) for k in range(K)) > 50
    assert (rings[0]["reward"][: batch.filed(0)] < 0).all()


def test_batch_is_the_same_network_as_the_environment() -> None:
    batch = PacketBatch(2, world=TRIANGLE)
    batch.reset(seed=3)
    env = PacketRoutingEnv(world=TRIANGLE)
    observation, info = env.reset(seed=4)
    for step in range(50):
        n = batch.collect()
        rows = np.flatnonzero(batch.network[:n] == 1)
        for row in rows:
            np.testing.assert_array_equal(batch.observation[row], observation)
            observation, _, _, _, info = env.step(int(choose(info["action_mask"], step)))
        batch.apply(choose(batch.mask[:n], step))
    assert batch.time_ns.shape == (2,)
    assert batch.seam["slots"] == 8


def test_worlds_hold_their_simulations() -> None:
    simulations = [PacketBatch(1, world=TRIANGLE).options.world.simulation("agent", seed) for seed in range(3)]
    worlds = Worlds(simulations)
    simulations.clear()
    worlds.simulations.clear()
    assert len(worlds.simulations) == 3
    n = worlds.collect(1000)
    assert set(worlds.network[:n]) == {0, 1, 2}


def test_batch_says_what_is_wrong() -> None:
    batch = PacketBatch(2, world=JOBS)
    with pytest.raises(CoreError, match="reset"):
        batch.collect()
    batch.reset(seed=1)
    n = batch.collect()
    with pytest.raises(ConfigError, match="masked out"):
        batch.apply(np.full(n, 7))
    while n:
        batch.apply(np.zeros(n, np.int64))
        n = batch.collect()
    assert all(simulation.workload_finished for simulation in batch.simulations)
    with pytest.raises(ConfigError, match="did you mean 'slots'"):
        PacketBatch(2, slot=3)
    with pytest.raises(ConfigError, match="unknown keyword 'episode_ns'"):
        PacketBatch(2, episode_ns=3)
