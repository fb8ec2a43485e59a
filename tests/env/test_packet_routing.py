"""One decision per step: Gymnasium's contract, masks, rewards, single packets, and workloads."""

import copy
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from env_scenes import JOBS, TRIANGLE
from flitgym.env import PacketRoutingEnv, World
from flitgym.simcore import ConfigError, CoreError
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as checked_by_sb3

ID = "flitgym/PacketRouting-v1"


def play(env: PacketRoutingEnv, seed: int, steps: int) -> list[Any]:
    """All results of the environment in a game of valid random actions."""
    random = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    said: list[Any] = [(observation, info["action_mask"])]
    for _ in range(steps):
        action = int(random.choice(np.flatnonzero(info["action_mask"])))
        observation, reward, terminated, truncated, info = env.step(action)
        said.append((observation, info["action_mask"], reward, terminated, truncated, info["router"], info["time_ns"]))
        if terminated or truncated:
            observation, info = env.reset()
            said.append((observation, info["action_mask"]))
    return said


def same(first: list[Any], second: list[Any]) -> bool:
    return all(np.array_equal(a, b) for x, y in zip(first, second, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize(
    ("name", "keywords"),
    [*((name, {}) for name in gymnasium.registry if name.startswith("flitgym/")), (ID, {"control": "packet"})],
)
def test_checkers_accept_every_id_as_it_is(name: str, keywords: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            check_env(gymnasium.make(name, **keywords).unwrapped)
            checked_by_sb3(gymnasium.make(name, **keywords))


def test_observations_do_not_grow_with_the_network() -> None:
    small, large = (PacketRoutingEnv(overrides=[f"topology={name}"]) for name in ("dragonfly_72", "hyperx_64"))
    assert small.observation_space == large.observation_space
    assert small.observation_space.shape == (len(small.seam["general"]) + 8 * len(small.seam["per_slot"]),)


@pytest.mark.parametrize("control", ["decision", "all", "packet"])
def test_a_seed_decides_everything(control: str) -> None:
    env = PacketRoutingEnv(world=TRIANGLE, control=control, background="random", episode_ns=100)
    first, again, other = (play(env, seed, 200) for seed in (5, 5, 6))
    assert same(first, again)
    assert not same(first, other)
    assert sum(len(said) == 2 for said in first) > 2  # several episodes
    if control == "all":
        # Two episodes of ten decisions, each in its own network.
        asked = [said[0] for said in play(PacketRoutingEnv(control="all", episode_decisions=10), 5, 20)]
        assert not np.array_equal(asked[:10], asked[11:21])


def test_all_rewards_are_all_delays() -> None:
    env = PacketRoutingEnv(world=TRIANGLE, control="all", episode_ns=4000)
    names = [feature["name"] for feature in env.seam["general"]]
    hops = names.index("progress.hops")
    random = np.random.default_rng(1)
    observation, info = env.reset(seed=2)
    env.simulation.begin_window()
    paid, asked = 0.0, 0
    for step in range(10_000):
        if step == 400:
            env.simulation.stop_sources()
        assert observation[hops] == 0  # each has one decision
        asked += 1
        action = int(random.choice(np.flatnonzero(info["action_mask"])))
        observation, reward, terminated, truncated, info = env.step(action)
        paid += reward
        if truncated:
            break
    assert not terminated
    assert env.simulation.packets_in_network == 0
    statistics = env.simulation.statistics()
    assert asked == statistics["packets_delivered"] > 400
    # From generation on; packets outside the network are charged until the sources stopped.
    latency = statistics["generation_latency_mean_ns"] * statistics["packets_delivered"] * 1e-3
    assert latency * (1 - 1e-9) <= -paid < 1.2 * latency


def test_a_packet_pays_its_own_delay() -> None:
    env = PacketRoutingEnv(control="packet", episode_ns=60_000, warmup_ns=500)
    observation, _ = env.reset(seed=4)
    columns, several = env.simulation.transitions(), 0
    for _ in range(20):
        numbers, rewards = [], []
        while True:
            row = int(np.flatnonzero((env.simulation.decisions()["observation"] == observation).all(axis=1))[0])
            numbers.append(env.simulation.decision_count + row)
            observation, reward, terminated, truncated, _ = env.step(int(np.flatnonzero(env.action_masks())[-1]))
            rewards.append(reward)
            if terminated or truncated:
                break
        assert terminated
        # The core has recorded the same decisions, linked from the first to the last.
        rows = [int(np.flatnonzero((columns["decision"] == n) & (columns["reward"] < 0))[0]) for n in numbers]
        np.testing.assert_allclose(columns["reward"][rows], rewards, rtol=1e-5)
        assert columns["next_decision"][rows][:-1].tolist() == numbers[1:]
        assert columns["done"][rows].tolist() == [False] * (len(rows) - 1) + [True]
        several += len(rows) > 1
        observation, _ = env.reset()
    assert several > 5


def test_invalid_actions_are_refused_or_counted() -> None:
    strict, lenient = (PacketRoutingEnv(world=TRIANGLE, invalid=how) for how in ("error", "minimal"))
    _, info = strict.reset(seed=1)
    assert info["action_mask"].tolist() == [True, True] + [False] * 6
    np.testing.assert_array_equal(strict.action_masks(), info["action_mask"])
    with pytest.raises(ConfigError, match="slot 5 has no candidate; valid here: 0, 1 "):
        strict.step(5)
    with pytest.raises(ConfigError, match=r"8 is not a slot; slots are 0 .. 7"):
        strict.step(8)
    assert PacketRoutingEnv(world=TRIANGLE).options.invalid == "minimal"
    lenient.reset(seed=1)
    for step in range(30):  # a refused step changes nothing
        wanted = strict.step(0)
        given = lenient.step(5)
        np.testing.assert_array_equal(wanted[0], given[0])
        assert wanted[1] == given[1]
        assert (wanted[4]["invalid_actions"], given[4]["invalid_actions"]) == (0, step + 1)


def test_a_workload_ends_its_episode_with_every_decision_paid() -> None:
    env = PacketRoutingEnv(world=JOBS, control="all", reward="job_slowdown", episode_ns=1e6)
    _, info = env.reset(seed=3)
    steps, paid, done = 0, 0.0, False
    while not done:
        observation, reward, done, truncated, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
        steps, paid = steps + 1, paid + reward
        assert not truncated
    simulation = env.simulation
    assert simulation.workload_finished
    assert steps == simulation.transition_count == simulation.decision_count > 10
    assert paid < 0
    assert not observation.any()
    assert info["router"] == -1
    with pytest.raises(CoreError, match="reset"):
        env.step(0)


@pytest.mark.parametrize("control", ["decision", "all", "packet"])
def test_a_network_of_jobs_lasts_until_the_jobs_are_done(control: str) -> None:
    # The jobs take longer than an episode of traffic.
    long = [{**job, "iterations": 20} for job in JOBS.sections["workload"]["jobs"]]
    world = World({**JOBS.sections, "workload": {**JOBS.sections["workload"], "jobs": long}})
    env = PacketRoutingEnv(world=world, control=control)
    env.reset(seed=1)
    first = env.simulation
    for _ in range(10_000):
        _, _, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            env.reset()
        if env.simulation is not first:
            break
    assert env.simulation is not first
    assert first.workload_finished
    assert first.time_ns > 10_000
    # A limit of the user still holds.
    limited = PacketRoutingEnv(world=world, control=control, episode_ns=2_000)
    limited.reset(seed=1)
    first = limited.simulation
    while limited.simulation is first:
        _, _, terminated, truncated, _ = limited.step(0)
        if terminated or truncated:
            limited.reset()
    assert not first.workload_finished
    assert first.time_ns < 4_000


def test_episodes_are_cut_in_time_with_a_last_observation() -> None:
    env = PacketRoutingEnv(world=TRIANGLE, control="all", episode_ns=200)
    env.reset(seed=1)
    truncated = False
    while not truncated:
        observation, _, terminated, truncated, info = env.step(0)
        assert not terminated
    assert 200 <= info["time_ns"] < 300
    assert observation.any()
    assert info["router"] >= 0


def test_text_shows_the_decision() -> None:
    env = PacketRoutingEnv(render_mode="ansi", world=TRIANGLE)
    _, info = env.reset(seed=1)
    text = env.render()
    assert f"router {info['router']}: packet 0 from terminal" in text
    assert "slot 1: port" in text
    assert "slot 2" not in text
    assert "path.more_hops = 0.500" in text


def test_a_picture_has_the_links_since_the_previous_one() -> None:
    env = PacketRoutingEnv(render_mode="rgb_array", world=TRIANGLE)
    env.reset(seed=1)
    first = env.render()
    assert first.dtype == np.uint8
    assert first.shape[2] == 3
    assert (env.render() == first).all()  # no time has passed
    hashes = env.simulation.state_hash()
    for _ in range(20):
        env.step(0)
    assert env.simulation.state_hash() != hashes
    assert (env.render() != first).any()
    twin = copy.deepcopy(env)
    assert twin.render().shape[2] == 3


def test_rules_of_the_background_decide() -> None:
    def last(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        assert observation.shape == (len(mask), 64)
        return mask.sum(axis=1) - 1

    detours = {}
    for rule in ("minimal", last):
        env = PacketRoutingEnv(world=TRIANGLE, control="packet", background=rule)
        env.reset(seed=1)
        env.simulation.begin_window()
        for _ in range(50):
            env.step(0)
            env.reset()
        detours[rule] = env.simulation.statistics()["nonminimal_fraction"]
    assert detours["minimal"] == 0
    assert detours[last] > 0.8


def test_a_world_that_asks_nothing_is_refused() -> None:
    traffic = {"name": "flows", "sources": [0], "destinations": [1], "load": 0.1}  # within a router
    env = PacketRoutingEnv(world={**TRIANGLE, "traffic": traffic}, episode_ns=100)
    with pytest.raises(ConfigError, match="had no decision within 100 ns"):
        env.reset(seed=1)


@pytest.mark.parametrize("control", ["all", "packet"])
def test_a_warm_up_pays_nobody(control: str) -> None:
    env = PacketRoutingEnv(world=TRIANGLE, control=control, record=64, warmup_ns=2000)
    env.reset(seed=1)
    simulation = env.simulation
    assert simulation.time_ns >= 2000
    assert simulation.transition_count > 64
    decided, paid, steps, owed = simulation.decision_count, 0.0, 0, simulation.accrued_delay_us()
    while simulation.transitions()["decision"][(simulation.transition_count - 1) % 64] < decided:
        paid, steps = paid + env.step(0)[1], steps + 1
        if control == "packet":
            env.reset()
    if control == "all":
        assert -paid == pytest.approx(simulation.accrued_delay_us() - owed)
    assert paid < 0 < steps
