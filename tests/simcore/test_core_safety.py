"""Misuse that must raise an error: writes to arrays, threads and forks, numbers out of range."""

import contextlib
import copy
import gc
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from core_scenes import SMALL, SYSTEM, config, traffic
from flitgym.simcore import ConfigError, CoreError, Simulation, SimulationBatch

JOB = {"name": "a", "motif": "ur", "ranks": 8, "iterations": 4}


def agent(load: float = 0.9, seed: int = 1, record: int = 0, **sections: object) -> Simulation:
    return Simulation(config({"name": "agent", "record": record}, traffic("uniform", load), seed=seed, **sections))


def workload(**sections: object) -> Simulation:
    return Simulation({"topology": SMALL, "routing": "minimal", "workload": {"jobs": [JOB], **sections}, "seed": 1})


# ---- Arrays ----


def views() -> Iterator[tuple[str, np.ndarray]]:
    """Every array that shows memory of the core."""
    sim = agent(record=64)
    for _ in range(400):
        step(sim)
    while not sim.collect():
        sim.apply()
    for table in (sim.arrays(), sim.requests(), sim.decisions(), sim.transitions()):
        yield from table.items()
    paid = Simulation(config({"name": "agent", "reward": "job_slowdown"}, traffic("uniform", 0.3)))
    yield "job_slowdown", paid.memory("job_slowdown")
    batch = SimulationBatch([agent(seed=2)])
    batch.collect(1000)
    for name in ("network", "router"):
        yield name, getattr(batch, name)
    yield from workload().arrays().items()


def step(sim: Simulation) -> None:
    sim.apply(np.zeros(sim.collect(), np.uint32))


def test_views_cannot_be_written_to() -> None:
    seen = 0
    for name, array in views():
        if array.base is None:
            continue  # a copy that belongs to the caller
        seen += 1
        assert not array.flags.writeable, name
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        if array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = array.ravel()[0]
    assert seen > 40


@pytest.mark.parametrize("routing", ["q_routing", "q_adaptive"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_bad_values_in_a_table_are_named_before_the_next_cycle(routing: str, value: float) -> None:
    sim = Simulation(config(routing, traffic("adversarial", 0.6)))
    sim.run(500)
    table = sim.q_table
    router, row, column = 3, 2, int(np.flatnonzero(np.isfinite(table[3, 2]))[0])
    kept = float(table[router, row, column])
    table[router, row, column] = value
    for go_on in (lambda: sim.run(1), lambda: sim.collect(), lambda: sim.drain(10), lambda: sim.snapshot()):
        with pytest.raises(ConfigError, match=rf"q_table\[{router}, {row}, {column}\].*valid are finite"):
            go_on()
    table[router, row, column] = kept
    sim.run(500)
    table[router, row, column] = value  # through a view made earlier
    with pytest.raises(ConfigError, match=r"q_table\["):
        sim.run(5000)


def test_rows_of_decisions_outlive_their_batch_and_their_simulation() -> None:
    for order in range(2):
        sim = agent()
        batch = SimulationBatch([sim])
        batch.collect(2000)
        rows = sim.decisions()["observation"]
        kept, own = rows.copy(), batch.observation
        if order:
            del batch
        else:
            del sim
        gc.collect()
        _ = [np.full(rows.shape, 7.0, np.float32) for _ in range(50)]  # would overwrite freed memory
        np.testing.assert_array_equal(rows, kept)
        np.testing.assert_array_equal(own[: len(kept)], kept)


# ---- Threads and processes ----


@pytest.mark.deep
def test_other_calls_are_refused_while_a_thread_runs() -> None:
    sim = Simulation(config(topology=SYSTEM, traffic=traffic("uniform", 0.5)))
    thread = threading.Thread(target=lambda: sim.run(9000))
    thread.start()
    refused = 0
    while thread.is_alive():
        assert sim.now >= 0
        for call in (sim.statistics, sim.snapshot, sim.arrays, sim.fork, lambda: sim.run(1)):
            try:
                call()
            except CoreError as error:
                refused += "another thread" in str(error)
    thread.join()
    assert refused > 5
    sim.check_conservation()


# ---- SimulationBatch ----


# The first simulation has decisions, so the calling thread waits for the other one.
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_collect_that_finds_nothing(threads: int) -> None:
    batch = SimulationBatch([agent(0.9), agent(0.0)], threads)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        batch.collect(2**40)
    assert time.monotonic() - begin < 10
    # The decisions of the first simulation remain, and the next call returns them.
    first = batch.simulations[0]
    asked = first.decisions()["observation"]
    assert batch.collect(10) == len(asked) > 0
    np.testing.assert_array_equal(batch.observation[: len(asked)], asked)
    batch.apply(np.zeros(len(asked), np.int64))
    first.check_conservation()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_continues_after_an_error_of_a_member(threads: int) -> None:
    sims = [agent(seed=k) for k in range(3)]
    batch = SimulationBatch(sims, threads)
    for _ in range(20):
        batch.apply(np.zeros(batch.collect(1000), np.int64))
    kept = sims[1].snapshot()
    count = batch.collect(1000)
    sims[1].restore(kept)  # changes a member without the batch
    with pytest.raises(CoreError, match=r"network 1 .*collect"):
        batch.apply(np.zeros(count, np.int64))
    for _ in range(20):
        count = batch.collect(1000)
        assert set(batch.network[:count]) == {0, 1, 2}
        for k, sim in enumerate(sims):
            own = sim.decisions()
            np.testing.assert_array_equal(batch.observation[:count][batch.network[:count] == k], own["observation"])
        batch.apply(np.zeros(count, np.int64))
    for sim in sims:
        sim.check_conservation()


def holds_in_a_child(check: Callable[[], bool]) -> bool:
    """Whether `check` returns true in a forked process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about a fork with threads
        child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            status = 0 if check() else 2
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ---- Numbers ----


@pytest.fixture
def asked() -> tuple[Simulation, int]:
    sim = Simulation(config("external", traffic("uniform", 0.5)))
    while not (count := sim.collect()):
        sim.apply([])
    return sim, count


@pytest.mark.parametrize("choice", [2**32, -1, 0.9, np.nan, "0", None])
def test_a_choice_is_an_integer_in_range(asked: tuple[Simulation, int], choice: object) -> None:
    sim, count = asked
    counts = np.diff(sim.requests()["offsets"]).astype(np.uint32)
    with pytest.raises(ConfigError, match=r"choices" if choice is None else r"apply\(\)"):
        sim.apply(None if choice is None else [choice] * count)
    with pytest.raises(ConfigError, match="outside"):
        sim.apply(counts)
    with pytest.raises(ConfigError, match="choices for"):
        sim.apply(counts[:-1])
    sim.apply(counts - 1)  # the refused calls had no effect
    assert sim.now > 0
    with pytest.raises(CoreError, match="collect"):
        sim.apply(counts)


# ---- Threads inside one run ----

LARGE = {"topology": "dragonfly", "routing": "minimal", "traffic": {"name": "uniform", "load": 0.3}, "seed": 1}


def test_a_network_has_the_partitions_that_its_configuration_asks_for() -> None:
    one, three = Simulation({**LARGE, "partitions": 1}), Simulation({**LARGE, "partitions": 3})
    assert (one.facts()["partitions"], three.facts()["partitions"]) == (1, 3)
    assert (two := Simulation({**LARGE, "threads": 2})).facts()["partitions"] == two.threads == 2
    three.threads = 3
    for simulation in (one, three):
        simulation.run(300)
    assert three.statistics() == one.statistics()
    again = Simulation(three.configuration())
    again.restore(three.snapshot())
    assert again.state_hash() == three.state_hash()
    assert three.state_hash() == copy.deepcopy(three).state_hash() == pickle.loads(pickle.dumps(three)).state_hash()


def test_threads_give_the_same_state_also_in_a_forked_process() -> None:
    one, two = (Simulation({**LARGE, "router": "input_queued"}) for _ in range(2))
    two.threads = 2
    assert one.facts()["partitions"] > 1

    def play() -> bool:
        for simulation in (two, one):
            simulation.run(300)
        return two.state_hash() == one.state_hash()

    assert play()
    # The threads stay in the parent. The child starts its own threads, and ends without waiting for the parent's.
    assert holds_in_a_child(play)
    assert play()
    assert two.fork().threads == 2
