"""Copies of simulations and environments, by deepcopy and pickle, continue like the original, independently."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from env_blocks import pickled
from env_scenes import TRIANGLE
from flitgym.env import PacketBatch, PacketRoutingEnv, PacketRoutingVecEnv, RouterParallelEnv
from flitgym.simcore import CALC, RECEIVE, SEND, CoreError, Program, Simulation

DRAGONFLY = ("topology=dragonfly_72", "router=input_queued", "traffic=adversarial", "traffic.load=0.05")


@pytest.fixture(params=[copy.deepcopy, pickled], ids=["deepcopy", "pickle"])
def copied(request: pytest.FixtureRequest) -> Any:
    return request.param


def same(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(value, second[key]) for key, value in first.items())
    if first is None or second is None:
        return first is second
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    return np.array_equal(first, second, equal_nan=isinstance(first, np.ndarray) and first.dtype.kind == "f")


def lockstep(first: Iterator[Any], second: Iterator[Any], steps: int) -> None:
    """Both give the same values, one after another and in turn."""
    for _ in range(steps):
        assert same(next(first), next(second))


# ---- Simulations ----

PROGRAM = Program(
    2, op_rank=[0, 0, 1, 1], op_kind=[CALC, SEND, RECEIVE, CALC], op_size=[50, 4096, 4096, 9], op_peer=[0, 1, 0, 0],
    before=[0, 0], after=[1, 1], dependency_rank=[0, 1], repeats={(0, 0): 5, (1, 0): 5},
)  # fmt: skip
GOAL = "num_ranks 2\nrank 0 {\na: calc 100\nb: send 999b to 1\nb requires a\n}\nrank 1 {\nrecv 999b from 0\n}\n"
WORKLOAD = {
    "jobs": [
        {"name": "arrays", "program": PROGRAM},
        {"name": "goal", "program": Program.goal(GOAL)},
        {"name": "motif", "program": Program.motif("ur", {"ranks": 3, "iterations": 4})},
        {"name": "named", "motif": "ur", "ranks": 3, "iterations": 4},
    ]
}
SCENES: dict[str, dict[str, Any]] = {
    "ugal": {**TRIANGLE, "routing": "ugal", "seed": 3},
    "q_adaptive": {"topology": "dragonfly", "routing": "q_adaptive", "traffic": {"name": "uniform", "load": 0.2}},
    "policy": {**TRIANGLE, "routing": {"name": "policy", "record": 512, "temperature": 1.0, "hidden": [8]}, "seed": 4},
    "workload": {"topology": {"name": "dragonfly", "groups": 9}, "routing": "par", "workload": WORKLOAD},
}


@pytest.mark.parametrize("scene", SCENES)
def test_simulations(scene: str, copied: Callable[[Any], Any]) -> None:
    for cycles in (0, 300):
        simulation = Simulation(SCENES[scene])
        simulation.run(cycles)
        other = copied(simulation)
        assert type(other) is Simulation
        assert other.state_hash() == simulation.state_hash()
        before = simulation.state_hash()
        for _ in range(5):
            other.run(40)
        assert simulation.state_hash() == before  # independent of each other
        for _ in range(5):
            simulation.run(40)
        assert simulation.state_hash() == other.state_hash()
        assert same(copied(other).jobs(), other.jobs())  # a copy of a copy


@pytest.mark.parametrize("routing", ["agent", "external", "minimal"])
def test_simulations_in_the_middle_of_a_cycle(routing: str, copied: Callable[[Any], Any]) -> None:
    sections = {"topology": "dragonfly", "traffic": {"name": "uniform", "load": 0.3}, "seed": 2}
    simulation = Simulation(
        {**sections, "routing": {"name": routing, **({"record": 64} if routing == "agent" else {})}}
    )

    def go_on(one: Simulation, count: int) -> None:
        choices = np.arange(count, dtype=np.uint32) % (2 if routing == "agent" else 1)
        one.apply(None if routing == "minimal" else choices)

    for _ in range(60):
        go_on(simulation, simulation.collect())
    for _ in range(6):
        count = simulation.collect()
        other = copied(simulation)
        asked = [one.decisions() if routing == "agent" else one.requests() for one in (simulation, other)]
        for one in asked:  # slots without a candidate are not compared
            one["port"] = one.get("port", np.zeros(0)) * one.get("mask", np.zeros(0))
        assert same(*asked)
        with pytest.raises(CoreError, match="twice"):
            other.collect()
        go_on(other, count)
        go_on(simulation, count)
        assert other.state_hash() == simulation.state_hash()
    assert count > 5


# ---- Environments ----


def decide(env: PacketRoutingEnv) -> Iterator[Any]:
    random = np.random.default_rng(5)
    while True:
        action = random.integers(8)
        said = env.step(action)
        yield [said, env.reset() if said[2] or said[3] else None]


@pytest.mark.parametrize("control", ["all", "packet"])
def test_single_environments(control: str, copied: Callable[[Any], Any]) -> None:
    keywords: dict[str, Any] = {"control": control, "episode_ns": 300, "background": "random"}
    for world in ({"world": TRIANGLE}, {"overrides": DRAGONFLY}):
        env = PacketRoutingEnv(**keywords, **world)
        fresh = copied(env)
        assert same(env.reset(seed=1), fresh.reset(seed=1))
        moves = decide(env)
        for _ in range(47 if control == "all" else 7):
            next(moves)
        other = copied(env)
        assert other.simulation is not env.simulation
        lockstep(decide(env), decide(other), 150 if control == "all" else 30)
        assert same(env.reset(), other.reset())


def test_vector_environments(copied: Callable[[Any], Any]) -> None:
    env = PacketRoutingVecEnv(3, world=TRIANGLE, episode_ns=100, autoreset_mode="SameStep")
    assert same(env.reset(seed=1), copied(env).reset(seed=1))
    env.step([0, 1, 0])
    other = copied(env)

    def moves(one: PacketRoutingVecEnv) -> Iterator[Any]:
        random = np.random.default_rng(5)
        while True:
            yield list(one.step(random.integers(8, size=3))[:4])

    lockstep(moves(env), moves(other), 200)


BLOCKS = {"observation": "counted+numpy_router+queues", "reward": "numpy_hop_delay"}


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("blocks", [{}, BLOCKS], ids=["core", "numpy"])
def test_batches(between: bool, blocks: dict[str, str], copied: Callable[[Any], Any]) -> None:
    batch = PacketBatch(3, overrides=DRAGONFLY, record=512, **blocks)
    other = copied(batch)
    batch.reset(seed=1)
    other.reset(seed=1)
    random, taken = np.random.default_rng(1), 0

    def answer(one: PacketBatch, n: int, draws: np.ndarray) -> None:
        actions = (draws[:n] * one.mask[:n].sum(axis=1)).astype(np.int64)
        one.apply(actions, log_probability=-draws[:n], value=one.decision[:n] * 0.5, wide=one.observation[:n, :3])

    for step in range(400):
        counts = [one.collect() for one in (batch, other)]
        assert counts[0] == counts[1]
        if step in (150, 290):  # with kept columns whose transitions are not there yet
            other = copied(batch if between else other)
            assert same(other.decision[: counts[0]], batch.decision[: counts[0]])
        draws = random.random(len(batch.mask))
        for one in (batch, other):
            answer(one, counts[0], draws)
        if step in (151, 291) and not between:
            other = copied(batch)
        if step % 60 == 59:
            rows = batch.take()
            assert same(rows, other.take())
            taken += len(rows["action"])
    assert taken > 100
    assert not np.shares_memory(batch.observation, other.observation)
    assert all(one is not two for one, two in zip(batch.simulations, other.simulations, strict=True))


def test_router_environments(copied: Callable[[Any], Any]) -> None:
    env = RouterParallelEnv(world=TRIANGLE, intervals=9, interval_ns=200.0, reward="local")
    assert same(env.reset(seed=2), copied(env).reset(seed=2))
    random = np.random.default_rng(1)

    def actions() -> dict[str, np.ndarray]:
        return {agent: random.normal(size=env.table.shape[1]).astype(np.float32) * 20 for agent in env.agents}

    env.step(actions())
    other = copied(env)
    assert np.shares_memory(other.table, other.simulation.memory("biases"))
    assert not np.shares_memory(other.table, env.table)
    while env.agents:
        chosen = actions()
        assert same(env.step(chosen), other.step(chosen))
        assert same(env.state(), other.state())
    assert same(env.reset(), other.reset())
