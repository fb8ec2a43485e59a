"""Decisions of NICs about windows or rates: closed forms, equality with a fixed window, batches together, policies."""

import copy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from flitgym.env import InjectionBatch, PacketBatch, export
from flitgym.env.injection import KEEP, target_delay
from flitgym.simcore import ConfigError, CoreError, Simulation
from gymnasium.utils.env_checker import check_env

ALONE: dict[str, Any] = {
    "topology": {"name": "hyperx", "widths": [9], "terminals_per_router": 2},
    "router": {"name": "vc_router", "output_wake_flits": 0},
    "traffic": {"name": "flows", "load": 1.0, "injection": "fixed_interval", "sources": [8], "destinations": [0]},
}
INCAST = {**ALONE, "traffic": {**ALONE["traffic"], "sources": [*range(2, 18)], "destinations": [0] * 16}}
RATES = {"name": "agent", "flow_rate": 1 / 16}
SMALL = ["topology=dragonfly_72", "traffic=hotspot", "traffic.load=0.5", "congestion_control=agent"]


both = pytest.mark.parametrize("words", [SMALL, [*SMALL, "congestion_control.flow_rate=1"]])


def act(rows: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """A rule with many different actions."""
    return ((rows.sum(axis=1) * 1e4).astype(np.int64) + flow) % 7


def play(batch: InjectionBatch, steps: int) -> list[bytes]:
    """The decisions of some steps."""
    seen = []
    for _ in range(steps):
        batch.collect()
        assert (np.diff(batch.flow.astype(np.int64)) > 0).all()
        seen += [batch.time_ns.tobytes(), batch.observation.tobytes(), batch.flow.tobytes()]
        batch.apply(act(batch.observation, batch.flow))
    return seen


@pytest.mark.parametrize("packets", [1, 4])
def test_a_flow_on_an_idle_path(packets: int) -> None:
    """A window of w flits has no marks, the delay of an idle path, and w flits per round trip."""
    flit_bytes = 128
    control = {"name": "agent", "window_bytes": packets * flit_bytes}
    batch = InjectionBatch(world={**ALONE, "congestion_control": control})
    batch.reset(seed=1)
    facts = batch.simulations[0].facts()
    assert facts["packet_flits"] == 1
    for _ in range(200):
        assert batch.collect() == 1
        batch.apply([KEEP])
    row = batch.take()["observation"][20:].mean(axis=0)
    rate = packets * facts["flit_time_ns"] / facts["round_trip_ns"]
    window = np.log2(packets * flit_bytes / facts["window_bytes"])
    # The core rounds the round trip up by up to two cycles of 56.
    np.testing.assert_allclose(row[:5], [0, 0, 0, rate, window], rtol=0.04, atol=1e-6)


def test_a_flow_at_a_rate() -> None:
    """An unchanged rate has no marks and the delay of an idle path, and an action scales it up to its limit."""
    batch = InjectionBatch(world={**ALONE, "congestion_control": {**RATES, "flow_rate": 0.3}})
    batch.reset(seed=1)
    for action, rate in ((KEEP, 0.3), (0, 0.15), (KEEP, 0.15), (6, 0.3), (6, 0.3)):
        batch.collect()
        batch.apply([action])
        until = batch.time_ns[0] + 50_000
        while batch.time_ns[0] < until:
            assert batch.collect() == 1
            batch.apply([KEEP])
        row = batch.take()["observation"][-50:].mean(axis=0)
        np.testing.assert_allclose(row[:5], [0, 0, 0, rate, np.log2(rate)], rtol=0.02, atol=1e-5)


def test_sixteen_rates_of_a_sixteenth_fill_a_port() -> None:
    """A packet waits for at most one of each other flow, and the delay does not grow."""
    batch = InjectionBatch(world={**INCAST, "congestion_control": RATES})
    batch.reset(seed=1)
    facts = batch.simulations[0].facts()
    means = []
    for until in (100_000, 200_000):
        while batch.time_ns[0] < until:
            batch.apply(np.full(batch.collect(), KEEP))
        means.append(batch.take()["observation"][-400:].mean(axis=0))
    assert means[1][3] == pytest.approx(1 / 16, rel=0.02)
    idle = facts["round_trip_ns"] / facts["flit_time_ns"] - 2  # the core rounds up by up to two cycles
    assert means[1][1] < np.log2(1 + 15 / idle)
    np.testing.assert_allclose(means[1], means[0], atol=0.05)


def test_an_incast_has_equal_shares() -> None:
    """16 windows of the bandwidth-delay product share the port, and 16 packets fill no queue."""
    batch = InjectionBatch(world=INCAST)
    batch.reset(seed=1)
    facts = batch.simulations[0].facts()
    for action, share, least, most in (
        (KEEP, 1 / 16, 3, 5),
        (0, facts["flit_time_ns"] / facts["round_trip_ns"], 0, 0.1),
    ):
        until = batch.time_ns[0] + 40_000
        while batch.time_ns[0] < until:
            batch.apply(np.full(batch.collect(), action))
        rows = batch.take()["observation"][-200:].mean(axis=0)
        assert rows[3] == pytest.approx(share, rel=0.1)
        assert least <= rows[1] <= most
        assert (rows[0] > 0.5) == (action == KEEP)


def test_keeping_the_windows_is_a_static_window() -> None:
    batch = InjectionBatch(overrides=SMALL, routing="par")
    batch.reset(seed=1)
    agent = batch.simulations[0]
    while agent.now < 5_000:
        batch.collect()
        batch.apply(np.full(len(batch.flow), KEEP))
    fixed = Simulation({**agent.configuration(), "congestion_control": "window"})
    fixed.run(agent.now)
    assert len(batch.take()["reward"]) > 100
    for name, column in fixed.arrays().items():
        if name != "sender_flows":
            np.testing.assert_array_equal(agent.arrays()[name], column)


@both
def test_decisions_do_not_depend_on_threads_and_snapshots(words: list[str]) -> None:
    batches = [InjectionBatch(overrides=words, routing="par") for _ in range(2)]
    for batch, threads in zip(batches, (1, 2), strict=True):
        batch.reset(seed=4)
        cut = {**batch.simulations[0].configuration(), "partitions": 3, "threads": threads}
        batch.simulations[0] = Simulation(cut)
    assert batches[0].simulations[0].facts()["partitions"] == 3
    seen = [play(batch, 10) for batch in batches]
    assert seen[0] == seen[1]
    batches[1].simulations[0].restore(batches[0].simulations[0].snapshot())
    other = copy.deepcopy(batches[1])
    assert play(batches[0], 5) == play(batches[1], 5) == play(other, 5)


def test_routers_and_nics_decide_together() -> None:
    """Both batches have decisions in the same cycles, and each changes the network."""

    def run(route: int, window: int) -> str:
        routes = PacketBatch(2, overrides=[*SMALL, "congestion_control.flows=1"])
        windows = InjectionBatch(routes=routes)
        routes.reset(seed=1)
        windows.reset()
        together = 0
        for _ in range(1_000):
            n, m = routes.collect(), windows.collect()
            together += n > 0 and m > 0
            windows.apply(np.full(m, window))
            routes.apply((routes.mask[:n].sum(axis=1) - 1) * route)
        assert together > 0
        assert len(routes.take()["reward"]) > 100
        assert len(windows.take()["reward"]) > 10
        return routes.simulations[0].state_hash()

    hashes = [run(0, KEEP), run(1, KEEP), run(0, 0), run(0, KEEP)]
    assert len(set(hashes)) == 3
    assert hashes[0] == hashes[3]


@both
def test_a_policy_file_decides_as_in_python(words: list[str], tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    layers = [(random.normal(size=(8, 6)), random.normal(size=8)), (random.normal(size=(7, 8)), random.normal(size=7))]
    layers = [(weight.astype(np.float32), bias.astype(np.float32)) for weight, bias in layers]
    batch = InjectionBatch(overrides=words, routing="par")
    batch.reset(seed=1)
    export(layers, batch, tmp_path / "windows.safetensors")
    agent, used = batch.simulations[0], set()
    for _ in range(100):
        batch.collect()
        hidden = np.maximum(batch.observation @ layers[0][0].T + layers[0][1], 0)
        actions = (hidden @ layers[1][0].T + layers[1][1]).argmax(axis=1)
        used |= set(actions.tolist())
        batch.apply(actions)
    assert len(used) > 2
    control = {**agent.configuration()["congestion_control"], "path": str(tmp_path / "windows.safetensors")}
    core = Simulation({**agent.configuration(), "congestion_control": control})
    core.run(agent.now)
    np.testing.assert_array_equal(core.arrays()["ports"], agent.arrays()["ports"])
    with pytest.raises(ConfigError, match="without a path"):
        InjectionBatch(world={**ALONE, "congestion_control": control})
    with pytest.raises(ConfigError, match=r"decisions.*nic"):
        Simulation({**agent.configuration(), "routing": {"name": "policy", "path": control["path"]}})


def test_rewards_belong_to_their_decisions() -> None:
    batch = InjectionBatch(2, overrides=SMALL, reward=lambda rows: rows[:, 4])
    batch.reset(seed=2)
    for _ in range(30):
        n = batch.collect()
        batch.apply(np.arange(n) % 2 * 3, note=batch.observation[:, 4])
    rows = batch.take()
    np.testing.assert_array_equal(rows["reward"], rows["next_observation"][:, 4])
    np.testing.assert_array_equal(rows["note"], rows["observation"][:, 4])
    least = rows["next_note"] == rows["next_note"].min()  # a packet
    expected = rows["note"] + np.log2(np.where(rows["action"] == KEEP, 1, 0.5))
    np.testing.assert_allclose(rows["next_note"][~least], expected[~least], atol=1e-5)
    np.testing.assert_array_equal(batch.take()["reward"], [])


def test_the_default_reward() -> None:
    delay, window = np.log2([1.1, 2.2, 2.2]), np.log2([1.1, 2.2, 2.2 / 256])  # rates 1, 1 and 1 / 256
    rows = np.zeros((3, 6), np.float32)
    rows[:, 1], rows[:, 4] = delay, window
    np.testing.assert_allclose(target_delay(rows), [0, -1, 0], atol=1e-6)
    rows[:, 4] = window - delay
    np.testing.assert_allclose(target_delay(rows, rates=True), [0, -1, 0], atol=1e-6)


@pytest.mark.parametrize("rate", [0, 1])
def test_one_flow_as_an_environment(rate: float) -> None:
    world = {**INCAST, "congestion_control": {"name": "agent", "flow_rate": rate}}
    env = gymnasium.make("flitgym.env:flitgym/Injection-v0", world=world)
    check_env(env.unwrapped, skip_render_check=True)
    seen = []
    for _ in range(2):
        rows = [env.reset(seed=3)[0]]
        over = False
        while not over:
            row, reward, terminated, over, info = env.step(0)
            assert not terminated
            assert 2 <= info["flow"] // 18 < 18
            rows.append(np.append(row, reward))
        seen.append(np.concatenate(rows))
        assert rows[0][4] == 0  # a whole window or rate
        assert rows[-1][4] < -3
    np.testing.assert_array_equal(*seen)
    with pytest.raises(CoreError, match="reset"):
        env.unwrapped.step(KEEP)
    vector = gymnasium.make_vec("flitgym/Injection-v0", num_envs=2, vectorization_mode="sync", world=world)
    assert vector.reset(seed=1)[0].shape == (2, 6)


def test_impossible_batches_are_refused() -> None:
    with pytest.raises(ConfigError, match="use congestion_control=agent"):
        InjectionBatch(overrides=["topology=dragonfly_72", "congestion_control=dctcp"])
    routes = PacketBatch(1)
    routes.reset(seed=1)
    with pytest.raises(ConfigError, match="congestion_control=agent"):
        InjectionBatch(routes=routes).reset()
    batch = InjectionBatch(world=ALONE)
    batch.reset(seed=1)
    assert batch.collect() == 1
    for wrong in ([7], [-1], [0, 0]):
        with pytest.raises(ConfigError, match="action"):
            batch.apply(wrong)
