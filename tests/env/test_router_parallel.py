"""One agent per router: PettingZoo's contract, and the effect of biases, written in place."""

import warnings
from typing import Any

import numpy as np
import pytest
from env_scenes import JOBS, TRIANGLE
from flitgym.env import RouterParallelEnv
from flitgym.simcore import CoreError
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import parallel_api_test
from pettingzoo.test.state_test import test_state_space as check_state_space


def small(**keywords: Any) -> RouterParallelEnv:
    return RouterParallelEnv(**{"world": TRIANGLE, "intervals": 5, "interval_ns": 200.0, **keywords})


def test_pettingzoo_accepts_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(small(), num_cycles=20)


def test_a_seed_repeats_an_episode() -> None:
    # PettingZoo's parallel_seed_test compares one step only (PettingZoo, pull request 1437).
    first, second = small(vary={"traffic.load": [0.1, 0.2, 0.3]}), small(vary={"traffic.load": [0.1, 0.2, 0.3]})
    second.reset(seed=7)
    second.step({})
    random = np.random.default_rng(1)
    for seed in (42, None):  # the next episode of a seed is repeated, too
        episode = [first.reset(seed=seed)], [second.reset(seed=seed)]
        while first.agents:
            actions = {agent: random.uniform(-64, 64, first.table.shape[1]) for agent in first.agents}
            for env, shown in zip((first, second), episode, strict=True):
                shown.append(env.step(actions))
        assert len(episode[0]) == 6
        assert data_equivalence(*episode)
    second.reset(seed=43)
    assert not data_equivalence(second.step({})[0], episode[1][1][0])


def test_the_state_is_all_observations() -> None:
    env = small()
    with pytest.raises(CoreError, match="reset"):
        env.state()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_state_space(env)
    observations, _ = env.reset(seed=1)
    for _ in range(5):
        state = env.state()
        assert env.state_space.contains(state)
        np.testing.assert_array_equal(state, [observations[agent] for agent in env.possible_agents])
        observations["router_0"][:] = -1  # changing an agent's row affects no other
        np.testing.assert_array_equal(env.state(), state)
        observations, *_ = env.step({})
    assert not env.agents
    np.testing.assert_array_equal(env.state(), [observations[agent] for agent in env.possible_agents])


def test_actions_are_written_into_the_cores_table() -> None:
    env = small()
    env.reset(seed=1)
    assert np.shares_memory(env.table, env.simulation.memory("biases"))
    assert not env.simulation.memory("biases").any()
    bias = np.arange(env.table.shape[1], dtype=np.float32) - 1
    env.step({"router_1": bias, "router_2": bias + 1000})
    np.testing.assert_array_equal(env.simulation.memory("biases")[1, :, 0], bias)
    np.testing.assert_array_equal(env.simulation.memory("biases")[2, :, 0], 64)  # bounded
    assert not env.simulation.memory("biases")[0].any()


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"decisions": "source"},
        {"decisions": "both"},
        # The first router of a path through a third group can be as near to the destination as that of a minimal path.
        {"decisions": "source", "interval_ns": 1000.0, "world": None, "overrides": ["topology=dragonfly_72"]},
    ],
)
def test_the_bias_decides(keywords: dict[str, Any]) -> None:
    parts = {}
    for bias in (-60.0, 60.0):
        env = small(intervals=3, **keywords)
        env.reset(seed=1)
        action = np.full(env.table.shape[1], bias, np.float32)
        # Congestion is queue x hops, so with a bias below 0 a detour always weighs less than the direct link.
        while env.agents:
            env.step(dict.fromkeys(env.agents, action))
        parts[bias] = env.simulation.statistics()["nonminimal_fraction"]
    assert parts[60.0] == 0
    assert parts[-60.0] > 0.9


def test_rewards_equal_the_accrued_delay() -> None:
    team, local = small(), small(reward="local")
    both = []
    for env in (team, local):
        env.reset(seed=1)
        env.step({})
        before_us = env.simulation.accrued_delay_by_router_us()
        observations, rewards, terminated, truncated, _ = env.step({})
        assert not any(terminated.values())
        assert not any(truncated.values())
        both.append((observations, rewards, env.simulation.accrued_delay_by_router_us() - before_us))
    terminals = team.simulation.facts()["terminals"] // 3
    assert both[0][1] == {f"router_{k}": pytest.approx(-both[0][2].sum() / 3 / terminals) for k in range(3)}
    assert both[1][1] == {f"router_{k}": pytest.approx(-both[1][2][k] / terminals) for k in range(3)}
    assert all(reward < 0 for reward in both[1][1].values())
    # The feedback: the core's transitions of a router's decisions in the second interval.
    columns = local.simulation.transitions()
    observations = both[1][0]
    once = small(reward="local")
    once.reset(seed=1)
    once.step({})
    before = once.simulation.transition_count
    news = slice(before, local.simulation.transition_count)
    for k in range(3):
        own = columns["reward"][news][columns["router"][news] == k]
        assert observations[f"router_{k}"][-2] == pytest.approx(-own.mean(), rel=1e-5)
        assert observations[f"router_{k}"][-1] == pytest.approx(len(own) * 1e-3)


def test_observations_are_the_channels() -> None:
    env = small()
    env.reset(seed=1)
    observations, *_ = env.step({})
    channels = env.simulation.channels()
    for k in range(3):
        own = (channels["router"] == k) & (channels["peer_router"] >= 0)
        row = observations[f"router_{k}"]
        np.testing.assert_allclose(row[1:-2:3], channels["utilisation"][own], rtol=1e-5)
        np.testing.assert_allclose(row[2:-2:3], channels["stall_ns"][own] / 200, rtol=1e-5)
    assert max(row[1:-2:3].max() for row in observations.values()) > 0.1
    # Loads are the core's, port by port, and not 0 on a full link.
    full = small(world={**TRIANGLE, "traffic": {**TRIANGLE["traffic"], "load": 1.0}})
    full.reset(seed=1)
    keep = np.full(full.table.shape[1], 64, np.float32)
    observations, *_ = full.step(dict.fromkeys(full.agents, keep))
    loads = np.array([observations[f"router_{k}"][0:-2:3] for k in range(3)])
    used = np.array([observations[f"router_{k}"][1:-2:3] for k in range(3)])
    assert (loads[used > 0.9] > 0).all()
    assert (loads[used == 0] == 0).all()
    assert 0 < (used > 0.9).sum() < used.size


def test_episodes_end() -> None:
    env = small()
    env.reset(seed=1)
    for step in range(5):
        _, _, terminated, truncated, _ = env.step({})
        assert set(truncated.values()) == {step == 4}
        assert set(terminated.values()) == {False}
    with pytest.raises(CoreError, match="reset"):
        env.step({})
    # Without a limit, jobs last until they are done, and traffic for 100 intervals.
    jobs = RouterParallelEnv(world=JOBS, interval_ns=10.0)
    jobs.reset(seed=1)
    steps = 0
    while jobs.agents:
        jobs.step({})
        steps += 1
    assert jobs.simulation.workload_finished
    assert steps > 100
    traffic = RouterParallelEnv(world=TRIANGLE, interval_ns=10.0)
    traffic.reset(seed=1)
    for step in range(100):
        *_, truncated, _ = traffic.step({})
        assert set(truncated.values()) == {step == 99}
