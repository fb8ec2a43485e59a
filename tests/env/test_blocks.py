"""Blocks of features and rewards in NumPy, compared with the core's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from env_blocks import CLASSIC, EVERY, HPDC21, TWINS, choose, columns_of, pickled, play
from env_scenes import TRIANGLE
from flitgym.env import (
    Asked,
    Feature,
    PacketBatch,
    PacketRoutingEnv,
    PacketRoutingVecEnv,
    Tables,
    World,
    blocks,
)

K = 3


@pytest.mark.parametrize("topology", ["dragonfly_72", "hyperx_64"])
def test_the_cores_features_in_numpy_are_the_same_to_the_bit(topology: str) -> None:
    batch = PacketBatch(K, overrides=[f"topology={topology}", *CLASSIC[1:]], observation=EVERY)
    batch.reset(seed=1)
    place = batch.observation.__array_interface__["data"]
    twins = dict(TWINS)
    if topology == "dragonfly_72":  # its minimal paths have one global link, although two may be shorter
        del twins["numpy_path.hops_left"], twins["numpy_path.more_hops"]
    greatest: dict[str, float] = dict.fromkeys(twins, 0)

    def see(one: PacketBatch, n: int) -> None:
        rows = one.observation[:n]
        for mine, core in twins.items():
            values = columns_of(one, rows, mine)
            np.testing.assert_array_equal(values, columns_of(one, rows, core), err_msg=mine)
            greatest[mine] = max(greatest[mine], float(values.max()))

    play(batch, 200, see)
    assert min(greatest.values()) > 0  # all of them had decisions
    assert batch.observation.__array_interface__["data"] == place
    for copied in (copy.deepcopy, pickled):
        play(copied(batch), 30, see)
    play(batch, 30, see)


def test_the_seam_tells_where_everything_stands() -> None:
    batch = PacketBatch(1, overrides=CLASSIC, observation="numpy_path+queues+progress+numpy_link", slots=5)
    batch.reset(seed=1)
    seam = batch.seam
    general, per_slot = ([one["name"] for one in seam[kind]] for kind in ("general", "per_slot"))
    assert general == ["numpy_path.hops", "numpy_path.hops_left", "progress.hops", "progress.age", "progress.size"]
    expected = ["numpy_path.hop_time", "numpy_path.more_hops", "queues.link", "queues.class", "numpy_link.link"]
    assert per_slot == expected
    assert seam["width"] == batch.observation.shape[1] == 5 + 5 * 5
    assert seam["observation"] == "numpy_path+queues+progress+numpy_link"
    assert seam["per_slot"][0] == {"name": "numpy_path.hop_time", "low": 0, "high": 100, "doc": "see path"}
    plain = PacketBatch(1, overrides=CLASSIC)
    plain.reset(seed=1)
    assert plain.seam == plain.simulations[0].seam()
    assert plain.observation.base is not None  # the core's memory


# ---- Transitions ----


@pytest.mark.parametrize("reward", ["hop_delay", "end_to_end_delay", "numpy_hop_delay"])
@pytest.mark.parametrize("noted", [False, True])
def test_observations_come_back_with_their_transitions(reward: str, noted: bool) -> None:
    batch = PacketBatch(K, overrides=CLASSIC, observation="progress+counted+numpy_link+queues", reward=reward)
    batch.reset(seed=1)
    empty = batch.take()
    assert empty["observation"].shape == (0, batch.seam["width"])
    seen: dict[tuple[int, int], np.ndarray] = {}
    pieces = []
    for step in range(300):
        n = batch.collect()
        seen |= {(int(batch.network[j]), int(batch.decision[j])): batch.observation[j].copy() for j in range(n)}
        own = {"value": batch.decision[:n] * 2.0} if noted else {}
        batch.apply(choose(batch.mask[:n], step), **own)
        if step % 40 == 39:
            if step == 159:
                batch = pickled(copy.deepcopy(batch))
            pieces.append(batch.take())
    rows = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    assert len(rows["action"]) > 500
    assert rows["done"].sum() > 100
    assert rows["done"].all() == (reward != "hop_delay")
    for i in range(len(rows["action"])):
        network, number, following = (int(rows[name][i]) for name in ("network", "decision", "next_decision"))
        np.testing.assert_array_equal(rows["observation"][i], seen[network, number])
        after = seen[network, following] if not rows["done"][i] else np.zeros(batch.seam["width"])
        np.testing.assert_array_equal(rows["next_observation"][i], after)
    assert ("value" in rows) == noted
    if noted:
        np.testing.assert_array_equal(rows["value"], rows["decision"] * 2.0)


def test_a_reward_in_numpy_is_the_cores_to_the_bit() -> None:
    paid = []
    for reward in ("hop_delay", "numpy_hop_delay"):
        batch = PacketBatch(K, overrides=HPDC21, reward=reward)
        batch.reset(seed=1)
        got: dict[tuple[int, int], float] = {}
        for _ in range(6):
            play(batch, 500)
            rows = batch.take()
            got |= {
                (int(k), int(d)): float(r)
                for k, d, r in zip(rows["network"], rows["decision"], rows["reward"], strict=True)
            }
            assert rows["reward"].dtype == np.float32
        paid.append(got)
    both = paid[0].keys() & paid[1].keys()
    assert len(both) > 2000
    assert all(paid[0][key] == paid[1][key] for key in both)
    assert len({paid[0][key] for key in both}) > 100


# ---- Inputs of a block ----


def test_requested_facts_equal_the_core() -> None:
    checked = []

    @blocks.observation("checking", general=[Feature("zero", 0, 0, "")])
    def checking(asked: Asked, general: np.ndarray, per_slot: np.ndarray) -> None:
        general[:] = 0
        core = asked.simulation.decisions()
        for name in ("router", "source", "destination", "sequence", "hops", "slots", "mask"):
            np.testing.assert_array_equal(getattr(asked, name), core[name])
        np.testing.assert_array_equal(asked.port[asked.mask], core["port"][asked.mask])
        assert not asked.port[~asked.mask].any()
        np.testing.assert_array_equal(asked.seen, core["observation"])
        requests = asked.simulation.requests()
        here = {
            (int(s), int(q)): i for i, (s, q) in enumerate(zip(requests["source"], requests["sequence"], strict=True))
        }
        at = [here[int(s), int(q)] for s, q in zip(asked.source, asked.sequence, strict=True)]
        np.testing.assert_array_equal(asked.in_port, requests["in_port"][at])
        np.testing.assert_array_equal(asked.in_vc, requests["in_vc"][at])
        assert asked.now == asked.simulation.now
        assert (asked.next_router != asked.router[:, None])[asked.mask].all()
        checked.append(len(asked))

    batch = PacketBatch(K, overrides=HPDC21, observation="path+checking")
    batch.reset(seed=1)
    play(batch, 200)
    assert sum(checked) > 1000


@pytest.mark.parametrize("world", [World.composed(HPDC21), World.composed(["topology=hyperx_64"]), World(TRIANGLE)])
def test_tables_of_a_network(world: World) -> None:
    simulation = world.simulation("minimal", 1)
    tables, channels = Tables(simulation), simulation.channels()
    port = tables.first_port[channels["router"]] + channels["port"]
    np.testing.assert_array_equal(tables.next_router[port], channels["peer_router"])
    np.testing.assert_allclose(tables.flit_us[port] * 1000, channels["flit_time_ns"])
    assert tables.hop_us.shape == tables.next_router.shape
    for router, links in enumerate(tables.links):
        own = channels["peer_router"][channels["router"] == router]
        np.testing.assert_array_equal(tables.next_router[links[links >= 0]], own[own >= 0])
    # Breadth-first search by hand, from router 0.
    distance, ring = {0: 0}, [0]
    for router in ring:
        for link in tables.links[router]:
            after = int(tables.next_router[link])
            if link >= 0 and after not in distance:
                distance[after] = distance[router] + 1
                ring.append(after)
    assert tables.hops[0].tolist() == [distance[router] for router in range(len(tables.first_port))]
    np.testing.assert_array_equal(tables.hops, tables.hops.T)


# ---- Environments of single packets ----


@pytest.mark.parametrize("control", ["decision", "all", "packet"])
def test_environments_take_observations(control: str) -> None:
    keywords: dict[str, Any] = {"world": TRIANGLE, "observation": "counted+queues+numpy_link", "control": control}
    env = PacketRoutingEnv(**keywords)
    vector = PacketRoutingVecEnv(1, **keywords, autoreset_mode="SameStep")
    plain = PacketRoutingEnv(**{**keywords, "observation": "queues"})
    observation, _ = env.reset(seed=1)
    rows, _ = vector.reset(seed=1)
    expected, _ = plain.reset(seed=1)
    asked = set()
    for step in range(60):
        assert env.observation_space.contains(observation)
        np.testing.assert_array_equal(rows[0], observation)
        queues = observation[1:].reshape(8, 3)
        np.testing.assert_array_equal(queues[:, :2].ravel(), expected)
        asked.add(float(observation[0]))
        if step == 30:
            env = pickled(copy.deepcopy(env))
        observation, _, terminated, truncated, _ = env.step(0)
        rows, *_ = vector.step([0])
        expected, *_ = plain.step(0)
        if terminated or truncated:
            observation, _ = env.reset()
            expected, _ = plain.reset()
    assert len(asked) > 50
    assert env.seam["general"][0]["name"] == "counted.seen"
