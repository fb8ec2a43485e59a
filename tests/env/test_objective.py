"""Returns rank policies like the network, for any horizon, and jamming never pays."""

from __future__ import annotations

import numpy as np
import pytest
from flitgym.env import PacketRoutingEnv, RouterParallelEnv
from gymnasium.wrappers import TimeLimit

LOADED = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]


class Rules:
    """Minimal, random and UGAL-L, from an agent's observation."""

    def __init__(self, seam: dict) -> None:
        self.general = [feature["name"] for feature in seam["general"]]
        self.per_slot = [feature["name"] for feature in seam["per_slot"]]
        self.random_numbers = np.random.default_rng(1)

    def minimal(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.zeros(len(observation), int)

    def random(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return (self.random_numbers.random(len(observation)) * mask.sum(axis=1)).astype(int)

    def ugal_l(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """At the source a random global port against the minimal one, by queue x hops; then minimal."""
        n, width = len(observation), len(self.per_slot)
        slots = observation[:, len(self.general) :].reshape(n, -1, width)
        hops = 8 * observation[:, [self.general.index("path.hops_left")]]
        hops = hops + 2 * slots[:, :, self.per_slot.index("path.more_hops")]
        weight = slots[:, :, self.per_slot.index("queues.link")] * hops
        global_port = slots[:, :, self.per_slot.index("path.hop_time")] > 0.2
        others = mask & global_port & (np.arange(mask.shape[1]) > 0)
        drawn = np.where(others, self.random_numbers.random(mask.shape), -1).argmax(axis=1)
        rows = np.arange(n)
        at_source = observation[:, self.general.index("progress.hops")] == 0
        better = weight[rows, drawn] < weight[:, 0]
        return np.where(at_source & others[rows, drawn] & better, drawn, 0)


def returns(rule: str, load: float, **keywords: object) -> tuple[float, float]:
    """Return of an episode (control=decision, packet: mean over a network's episodes), and the core's accrued delay."""
    overrides = [*LOADED[:2], f"traffic.load={load}"]
    paid, owed = [], []
    for seed in (1, 2):
        env = PacketRoutingEnv(overrides=overrides, **keywords)
        policy = getattr(Rules(env.seam), rule)
        if env.options.control == "packet":
            env = PacketRoutingEnv(overrides=overrides, background=policy, **keywords)
        observation, info = env.reset(seed=seed)
        simulation, total, episodes = env.simulation, 0.0, 0
        while True:
            action = int(policy(observation[None], info["action_mask"][None])[0])
            observation, reward, terminated, truncated, info = env.step(action)
            total += reward
            if terminated or truncated:
                episodes += 1
                owed_now = simulation.accrued_delay_us()
                observation, info = env.reset()
                if env.simulation is not simulation:
                    break
        paid.append(total / episodes)
        owed.append(owed_now)
    return float(np.mean(paid)), float(np.mean(owed))


@pytest.mark.parametrize(
    ("horizon_ns", "reward"),
    [
        (2_000, "hop_delay"),
        (10_000, "hop_delay"),
        (2_000, "job_slowdown"),
    ],
)
def test_the_return_of_a_network_ranks_policies(horizon_ns: float, reward: str) -> None:
    keywords = {"control": "all", "episode_ns": horizon_ns, "reward": reward}
    load = (
        0.3 if horizon_ns < 5_000 else 0.15
    )  # later and at higher loads, random is better than UGAL-L in the network itself
    low = {rule: returns(rule, load, **keywords) for rule in ("ugal_l", "random", "minimal")}
    assert low["ugal_l"][0] > low["random"][0] > low["minimal"][0]
    for paid, owed in low.values():
        assert paid == pytest.approx(-owed, rel=1e-9)
    if horizon_ns > 2_000:
        return
    high = {rule: returns(rule, 0.4, **keywords)[0] for rule in ("ugal_l", "random", "minimal")}
    assert min(high["ugal_l"], high["random"]) > high["minimal"]


@pytest.mark.parametrize("horizon_ns", [2_000, 5_000])
def test_single_decisions_rank_policies(horizon_ns: float) -> None:
    paid = {rule: returns(rule, 0.15, episode_ns=horizon_ns)[0] for rule in ("ugal_l", "random", "minimal")}
    assert paid["ugal_l"] > paid["random"] > paid["minimal"]


def test_an_episode_that_is_cut_anywhere_pays() -> None:
    """TimeLimit and episode_decisions: the return is minus the delay accrued until then."""
    for env in (
        TimeLimit(PacketRoutingEnv(overrides=LOADED, control="all"), 100),
        PacketRoutingEnv(overrides=LOADED, control="all", episode_decisions=50),
    ):
        env.reset(seed=1)
        total, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(0)
            total += float(reward)
            over = terminated or truncated
        assert total == pytest.approx(-env.unwrapped.simulation.accrued_delay_us())
        assert total < -1


@pytest.mark.parametrize("reward", ["team", "local"])
def test_routers_in_parallel_rank_policies(reward: str) -> None:
    """Biases: 0 is UGAL, and a high one keeps to minimal paths, which jam within 2 us."""
    for intervals in (2, 5, 10):
        sums = {}
        for name, bias in (("ugal", 0.0), ("minimal", 64.0)):
            env = RouterParallelEnv(overrides=LOADED, reward=reward, intervals=intervals)
            env.reset(seed=1)
            total = 0.0
            while env.agents:
                actions = {agent: np.full(env.action_space(agent).shape, bias, np.float32) for agent in env.agents}
                total += sum(env.step(actions)[1].values())
            sums[name] = total / len(env.possible_agents)
            assert sums[name] == pytest.approx(-env.simulation.accrued_delay_us() / 72)
        assert sums["ugal"] > sums["minimal"]


def test_workloads_are_charged_until_their_last_byte() -> None:
    """All packets of a job are due from its start on: faster is better, and open ones are charged to the end."""
    overrides = ["topology=dragonfly_72", "workload=pair", "workload.target=halo3d", "workload.background=none"]
    overrides += ["workload.scale=0.001", "workload.size_scale=0.1"]
    env = PacketRoutingEnv(overrides=overrides, control="all", episode_ns=1e9)
    env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = env.step(0)
        total += reward
        over = terminated or truncated
    assert terminated
    simulation = env.simulation
    (job,) = simulation.jobs()
    owed = simulation.accrued_delay_us()
    assert total == pytest.approx(-owed)
    packets = job["bytes"] / 128
    assert 0 < owed < packets * job["finish_ns"] * 1e-3
