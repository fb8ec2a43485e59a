"""`PacketBatch`: no copies, numbered decisions, and transitions with the caller's columns."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from env_blocks import choose
from env_scenes import JOBS, TRIANGLE
from flitgym.env import NO_DECISION, PacketBatch, PacketRoutingEnv, Ring
from flitgym.simcore import ConfigError, CoreError, Simulation, registered

K = 3
# Packets of a Dragonfly have several decisions.
DRAGONFLY = ["topology=dragonfly_72", "router=input_queued", "traffic=adversarial", "traffic.load=0.03"]


def address(array: np.ndarray) -> int:
    pointer: int = array.__array_interface__["data"][0]
    return pointer


def test_batch_copies_nothing() -> None:
    batch = PacketBatch(K, world=TRIANGLE)
    batch.reset(seed=1)
    views = {name: getattr(batch, name) for name in ("observation", "mask", "network", "router", "decision")}
    rings = [simulation.transitions() for simulation in batch.simulations]
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
        # The tensor has the values that the core wrote in this cycle, which are those of each simulation.
        assert tensor.data_ptr() == address(batch.observation)
        for k, simulation in enumerate(batch.simulations):
            own = batch.network[:n] == k
            if own.any():
                asked = simulation.decisions()
                np.testing.assert_array_equal(tensor[:n].numpy()[own], asked["observation"])
                np.testing.assert_array_equal(batch.router[:n][own], asked["router"])
        batch.apply(choose(batch.mask[:n], step))
        for k, simulation in enumerate(batch.simulations):
            assert all(address(view) == address(rings[k][name]) for name, view in simulation.transitions().items())
    assert several > 50
    assert min(simulation.transition_count for simulation in batch.simulations) > 50
    assert (rings[0]["reward"][: batch.simulations[0].transition_count] < 0).all()


@pytest.mark.parametrize("keywords", [{"world": TRIANGLE}, {"overrides": ["topology=dragonfly_72", "traffic=mixed"]}])
def test_batch_is_the_same_network_as_the_environment(keywords: Any) -> None:
    batch = PacketBatch(2, **keywords)
    batch.reset(seed=3)
    env = PacketRoutingEnv(**keywords)
    shown = env.reset(seed=4)
    for step in range(50):
        n = batch.collect()
        actions, delays = choose(batch.mask[:n], step), batch._built().path_delay_us()
        for row in np.flatnonzero(batch.network[:n] == 1):
            for observation, info in (shown, env.reset()):
                np.testing.assert_array_equal(batch.observation[row], observation)
                np.testing.assert_array_equal(batch.mask[row], info["action_mask"])
                assert (info["router"], info["time_ns"]) == (batch.router[row], batch.time_ns[1])
                # The environment returns copies, so the caller may write to them.
                observation[:], info["action_mask"][:] = -1, False
            observation, reward, terminated, truncated, info = env.step(int(actions[row]))
            assert (reward, terminated, truncated) == (-delays[row, actions[row]], True, False)
            shown = observation, info
        batch.apply(actions)
    assert batch.time_ns.shape == (2,)
    assert batch.seam["slots"] == 8


def test_a_batch_of_finished_jobs_has_no_decision() -> None:
    batch = PacketBatch(2, world=JOBS)
    with pytest.raises(CoreError, match="reset"):
        batch.collect()
    batch.reset(seed=1)
    while n := batch.collect():
        batch.apply(np.zeros(n, np.int64))
    assert all(simulation.workload_finished for simulation in batch.simulations)


@pytest.mark.parametrize("observation", ["progress+path+queues", "relative+relative_lost"])
def test_threads_change_nothing(observation: str) -> None:
    played: list[list[Any]] = []
    for threads in (1, 2, 3, 0):
        batch = PacketBatch(K, threads=threads, overrides=DRAGONFLY, observation=observation)
        batch.reset(seed=1)
        seen: list[Any] = []
        for step in range(200):
            if step == 100:
                batch = copy.deepcopy(batch)
            n = batch.collect(max_cycles=1)  # some networks have no decision in this time
            seen += [batch.network[:n].copy(), batch.decision[:n].copy(), batch.router[:n].copy()]
            seen += [batch.observation[:n].copy(), batch.mask[:n].copy()]
            if n:
                batch.apply(choose(batch.mask[:n], step), log_probability=-np.arange(n) / 8)
        assert len({len(np.unique(networks)) for networks in seen[::5]}) > 1
        taken = batch.take()
        hashes = [simulation.state_hash() for simulation in batch.simulations]
        played.append([*seen, *(taken[name] for name in sorted(taken)), hashes])
    for other in played[1:]:
        for one, two in zip(played[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


# ---- Transitions ----


def noted(batch: PacketBatch, n: int) -> dict[str, np.ndarray]:
    """Columns that identify their decision."""
    number, network = batch.decision[:n], batch.network[:n]
    return {
        "value": (number * 10 + network).astype(np.float64),
        "own": np.stack([number, network, number + 1], axis=1).astype(np.float32),
        "odd": number % 2 == 1,
        "count": number.astype(np.int32),
    }


def play(batch: PacketBatch, steps: int, every: int, columns: bool = True) -> list[dict[str, np.ndarray]]:
    pieces = []
    for step in range(steps):
        n = batch.collect()
        given = noted(batch, n) if columns else {}
        batch.apply(choose(batch.mask[:n], step), log_probability=-np.arange(n) / 8, **given)
        if step % every == every - 1:
            pieces.append(batch.take())
    return pieces


@pytest.mark.parametrize("reward", registered("reward"))
@pytest.mark.parametrize("every", [1, 37])
def test_transitions_come_back_with_what_was_noted(reward: str, every: int) -> None:
    batch = PacketBatch(K, overrides=DRAGONFLY, reward=reward)
    batch.reset(seed=1)
    seen: dict[tuple[int, int], tuple[Any, ...]] = {}
    pieces = []
    for step in range(400):
        n = batch.collect()
        action = choose(batch.mask[:n], step)
        for j in range(n):
            key = (int(batch.network[j]), int(batch.decision[j]))
            assert key not in seen
            seen[key] = (batch.observation[j].copy(), batch.mask[j].copy(), action[j], int(batch.router[j]), -j / 8)
        batch.apply(action, log_probability=-np.arange(n) / 8, **noted(batch, n))
        if step % every == every - 1:
            pieces.append(batch.take())
    pieces.append(batch.take())
    rows = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    assert len(rows["action"]) > 1000
    assert sum(simulation.transition_count for simulation in batch.simulations) == len(rows["action"])
    several = 0
    for i in range(len(rows["action"])):
        network, number = int(rows["network"][i]), int(rows["decision"][i])
        observation, mask, action, router, log_probability = seen[network, number]
        np.testing.assert_array_equal(rows["observation"][i], observation)
        np.testing.assert_array_equal(rows["mask"][i], mask)
        assert (rows["action"][i], rows["router"][i]) == (action, router)
        assert rows["log_probability"][i] == np.float32(log_probability)
        assert rows["value"][i] == number * 10 + network
        assert rows["own"][i].tolist() == [number, network, number + 1]
        assert (rows["odd"][i], rows["count"][i]) == (number % 2 == 1, number)
        following = rows["next_decision"][i]
        if following == NO_DECISION:
            assert rows["done"][i]
            assert rows["next_value"][i] == rows["next_count"][i] == 0
            assert not rows["next_own"][i].any()
            continue
        several += 1
        assert rows["next_value"][i] == int(following) * 10 + network
        assert rows["next_own"][i].tolist() == [following, network, following + 1]
        assert rows["next_count"][i] == following
        if not rows["done"][i]:
            np.testing.assert_array_equal(rows["next_observation"][i], seen[network, int(following)][0])
            np.testing.assert_array_equal(rows["next_mask"][i], seen[network, int(following)][1])
    assert several > 100
    assert len(set(zip(rows["network"], rows["decision"], strict=True))) == len(rows["action"])  # each once


def test_notes_are_dropped_after_the_transition_is_stored() -> None:
    batch = PacketBatch(2, overrides=DRAGONFLY)
    batch.reset(seed=1)
    held = []
    for _ in range(16):
        play(batch, 100, 20)
        held.append(len(batch._own))
    # Kept are open decisions, and recorded ones for the longest time of feedback, here about 500 cycles.
    assert held[2] > 2 * held[0]
    assert held[-1] < 1.1 * held[-5]
    made = sum(simulation.decision_count for simulation in batch.simulations)
    filed = sum(simulation.transition_count for simulation in batch.simulations)
    assert made - filed < held[-1] < made / 2


def test_a_ring_that_is_outrun_says_so() -> None:
    batch = PacketBatch(2, overrides=DRAGONFLY, record=64)
    batch.reset(seed=1)
    reader = Ring(batch.simulations[0])
    play(batch, 300, 1000, columns=False)
    needed = max(simulation.transition_count for simulation in batch.simulations)
    assert needed > 64
    for late in (batch, reader):
        with pytest.raises(ConfigError, match=f"set record to {batch.simulations[0].transition_count} or more"):
            late.take()
    assert len(reader.take()["action"]) == 0  # lost transitions stay lost, and the batch continues
    # The kept columns do not grow without bound either.
    batch.reset(seed=1)
    with pytest.raises(ConfigError, match=r"call take\(\) more often"):
        play(batch, 3000, 10_000)
    # An overflow in a single step, before any read is possible.
    batch = PacketBatch(2, overrides=DRAGONFLY, record=1)
    batch.reset(seed=1)
    with pytest.raises(ConfigError, match=r"came in one step and the ring holds 1; set record to [2-9]"):
        play(batch, 300, 1, columns=False)


def test_log_probabilities_are_never_silently_zero() -> None:
    batch = PacketBatch(1, world=TRIANGLE)
    batch.reset(seed=1)
    hashes = []
    for _ in range(2):
        batch.reset(seed=1)
        for _ in range(300):
            n = batch.collect()
            batch.apply(np.zeros(n, np.int64))
        assert np.isnan(batch.take()["log_probability"]).all()
        hashes.append(batch.simulations[0].state_hash())
    assert hashes[0] == hashes[1]  # and compare correctly
    batch.collect()
    with pytest.raises(ConfigError, match="is not the logarithm of a probability"):
        batch.apply([0], log_probability=[0.1])
    batch.apply([0], log_probability=torch.tensor([-0.5]))
    # Routings in the core write their own log-probabilities.
    sections = {**TRIANGLE, "seed": 1}
    simulation = Simulation({**sections, "routing": {"name": "random", "record": 512}})
    simulation.run(500)
    ring = simulation.transitions()
    slots = ring["mask"][: simulation.transition_count].sum(axis=1)
    np.testing.assert_allclose(ring["log_probability"][: simulation.transition_count], -np.log(slots), rtol=1e-6)


def test_columns_are_checked_and_nothing_is_decided() -> None:
    batch = PacketBatch(2, world=TRIANGLE)
    batch.reset(seed=1)
    n = batch.collect()
    value, hidden = np.zeros(n), np.zeros((n, 4), np.float32)
    for action, columns, words in (
        (0, {"reward": value}, "is reserved for a column of the core"),
        (0, {"value": value[:-1]}, rf"value is float64 \({n - 1},\); {n} decisions"),
        (7, {"value": value}, "masked out"),
    ):
        with pytest.raises(ConfigError, match=words):
            batch.apply([action] * n, **columns)
    batch.apply([0] * n, value=value, hidden=hidden)
    n = batch.collect()
    with pytest.raises(ConfigError, match="columns none instead of value, hidden"):
        batch.apply([0] * n)
    with pytest.raises(ConfigError, match=r"hidden is float64 \(\d+, 5\); it must be float32 \(\d+, 4\)"):
        batch.apply([0] * n, value=np.zeros(n), hidden=np.zeros((n, 5)))
    batch.apply([0] * n, value=np.zeros(n, np.float32), hidden=np.zeros((n, 4)))


def test_episodes_begin_at_random_times_of_a_job() -> None:
    """The same seed begins at the same time, in every environment, and only the agent's decisions come back."""
    overrides = ["topology=dragonfly_72", "workload=pair", "workload.target=halo3d", "workload.background=none"]
    overrides += ["workload.scale=0.01", "workload.size_scale=0.1"]
    keywords: dict[str, Any] = {"overrides": overrides, "warmup_ns": (1_000, 6_000), "background": "random"}
    starts = []
    for seed in (1, 1, 2, 5):
        batch = PacketBatch(2, **keywords)
        batch.reset(seed=seed)
        starts.append(batch.time_ns.tolist())
        first = batch.observation[: batch.collect()].copy()
        batch.apply(np.zeros(len(first), int))
        for _ in range(200):
            n = batch.collect()
            batch.apply(np.zeros(n, int), log_probability=np.zeros(n))
        rows = batch.take()
        assert (rows["decision"] >= batch._first[rows["network"]]).all()
        decided_ns = rows["decided"] * batch.simulations[0].cycle_ns
        assert (decided_ns >= np.array(starts[-1])[rows["network"]]).all()
        assert len(rows["action"]) > 100
    env = PacketRoutingEnv(**keywords)
    np.testing.assert_array_equal(env.reset(seed=5)[0], first[0])
    assert starts[0] == starts[1]
    assert len({*starts[0], *starts[2], *starts[3]}) > 4
    assert all(1_000 <= start < 7_000 for pair in starts for start in pair)
