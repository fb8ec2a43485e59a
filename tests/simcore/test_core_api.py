"""The Python interface: statistics, zero-copy views, the GIL and Ctrl-C."""

import gc
import json
import os
import signal
import threading
import time

import numpy as np
import pytest
from core_scenes import SYSTEM, config, dragonfly, measure, router, traffic
from flitgym.simcore import Simulation, registered

BUSY = traffic("adversarial", 0.6)


def test_the_statistics_of_a_window() -> None:
    sim = Simulation(config(traffic=traffic("uniform", 0.3)))
    result = measure(sim, 5000, 20000)
    assert result["window_ns"] == pytest.approx(20000)
    assert result["offered_load"] == pytest.approx(0.3)
    assert result["accepted_load"] == pytest.approx(0.3, rel=0.05)
    assert result["packets_delivered"] == result["flits_delivered"]
    # Every delivered flit crosses hops + 1 channels. The tolerance covers flits in the network at the edges of the
    # window.
    assert result["flit_hops"] == pytest.approx(result["flits_delivered"] * (result["hops_mean"] + 1), rel=0.02)
    for what in ("network", "generation"):
        parts = [result[f"{what}_latency_{part}_ns"] for part in ("p50", "p95", "p99", "max")]
        assert parts == sorted(parts)
    assert result["packet_latency_mean_ns"] == result["network_latency_mean_ns"] <= result["generation_latency_mean_ns"]
    assert result["histogram_relative_error"] == 1 / 128
    after = Simulation.statistics(sim)
    sim.run(1000)
    assert sim.statistics() == after  # the window is closed


def test_the_validated_configuration_is_complete_and_gives_the_same_simulation() -> None:
    jobs = {"jobs": [{"name": "one", "motif": "halo3d", "ranks": 8, "iterations": 2}, {"motif": "lqcd", "ranks": 16}]}
    lattice = {"topology": {"name": "hyperx", "widths": [3, 4]}, "routing": "dimension_order", "traffic": "uniform"}
    damaged = {**lattice, "routing": "ugal", "failures": {"links": ["0-1"]}, "seed": 3}
    for asked in (lattice, damaged, {**lattice, "traffic": None, "workload": jobs}):
        one = Simulation({key: value for key, value in asked.items() if value is not None})
        known = one.configuration()
        assert known["topology"] == {"name": "hyperx", "widths": [3, 4], "links": [1], **known["topology"]}
        assert set(known["topology"]) == {"name", *registered("topology")["hyperx"]["params"]}
        # A routing may have further parameters on other topologies.
        assert set(known["routing"]) <= {"name", *registered("routing")[known["routing"]["name"]]["params"]}
        assert all(isinstance(item, int) for item in known["topology"]["widths"])
        again = Simulation(json.loads(json.dumps(known)))
        assert again.configuration() == known
        one.run(400)
        again.run(400)
        assert one.state_hash() == again.state_hash()
    first, second = known["workload"]["jobs"]
    assert (first["name"], first["ranks"], first["iterations"], first["scale"]) == ("one", 8, 2, 1.0)
    assert second["lattice"] == registered("motif")["lqcd"]["params"]["lattice"]["default"]


def test_series_and_channels_add_up() -> None:
    sim = Simulation(config("par", traffic("uniform", 0.4)))
    sim.set_series_interval(sim.cycles(1000))
    sim.begin_window()
    sim.run_ns(10000)
    result, series, channels = sim.statistics(), sim.series(), sim.channels()
    assert series["packets"].sum() == result["packets_delivered"]
    assert len(series["time_ns"]) == 10
    assert np.average(series["latency_mean_ns"][1:], weights=series["packets"][1:]) > 300
    assert channels["flits"].sum() == result["flit_hops"]
    assert len(channels["flits"]) == sim.facts()["channels"] == 36 * (2 + 3 + 2)
    assert channels["utilisation"].max() <= 1
    assert (channels["stall_ns"] >= 0).all()
    local = channels["kind"] == 1
    assert (channels["router"][local] // 4 == channels["peer_router"][local] // 4).all()


def test_views_share_memory() -> None:
    sim = Simulation(config("q_adaptive", traffic("uniform", 0.3)))
    sim.run(2000)
    one, two = sim.arrays(), sim.arrays()
    for name, array in one.items():
        if array.size == 0:
            continue
        assert array.__array_interface__["data"][0] == two[name].__array_interface__["data"][0], name
    table, same = sim.q_table, sim.memory("q_table")
    assert table is not None
    assert table.shape == (36, 16, 5)
    assert np.shares_memory(table, same)
    table[3, 2, 1] = 123
    assert sim.q_table[3, 2, 1] == 123
    assert (same == 123).sum() == 1
    # Writes by the core are visible in an old view.
    before = table.copy()
    sim.run(5000)
    assert (table != before).any()
    # Values that Python writes affect the decisions of the core.
    sim.q_frozen = True
    fork = sim.fork()
    fork.q_table[...] = 1.0
    assert sim.q_table[0, 0, 0] != 1.0
    assert fork.state_hash() != sim.state_hash()


def test_view_keeps_the_simulation_alive() -> None:
    sim = Simulation(config("q_adaptive", traffic("uniform", 0.3)))
    table, ports = sim.q_table, sim.arrays()["ports"]
    copy = table.copy()
    del sim
    gc.collect()
    _ = [np.full(table.shape, 7.0, np.float32) for _ in range(50)]  # would overwrite freed memory
    np.testing.assert_array_equal(table, copy)
    assert ports["flits"].sum() == 0


def test_table_view_survives_a_restore() -> None:
    sim = Simulation(config("q_adaptive", traffic("uniform", 0.3)))
    bytes_then = sim.snapshot()
    table = sim.q_table
    sim.run(5000)
    sim.restore(bytes_then)
    assert table.__array_interface__["data"][0] == sim.q_table.__array_interface__["data"][0]


def test_kept_arrays_are_listed() -> None:
    par = Simulation(config("par", BUSY))
    par.run(500)
    (told,) = par.memories().items()
    pool = par.memory("intermediate").shape
    assert told[0] == "intermediate"
    assert {"per": "packet", "shape": pool, "type": "uint32", "learned": False}.items() <= told[1].items()
    assert pool[0] > 50
    assert (par.memory("intermediate") < par.facts()["routers"]).all()
    assert par.q_table is None
    assert Simulation(config("minimal")).memories() == {}
    learning = Simulation(config("q_adaptive", BUSY))
    assert learning.memories()["q_table"]["shape"] == learning.q_table.shape
    assert learning.memories()["q_table"]["meaning"] == learning.facts()["table_layout"]


def test_arrays_of_packets_are_copies() -> None:
    par = Simulation(config("par", BUSY))
    par.run(500)
    before, seen = par.state_hash(), par.memory("intermediate")
    seen[...] = 0
    assert par.state_hash() == before
    assert par.memory("intermediate").any()


def test_gil_is_released_while_running() -> None:
    sim = Simulation(config(topology=SYSTEM, traffic=traffic("uniform", 0.6)))
    ticks, done = 0, threading.Event()

    def run() -> None:
        sim.run(12000)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    assert ticks > 20


def test_ctrl_c_ends_a_run() -> None:
    sim = Simulation(config(topology=SYSTEM, traffic=traffic("uniform", 0.6)))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sim.run(100_000_000)
    assert time.monotonic() - begin < 10
    sim.check_conservation()  # intact and able to continue
    sim.run(10)


def test_hundred_thousand_terminals() -> None:
    begin = time.process_time()
    sim = Simulation(
        config(
            topology=dragonfly(16, 32, 16, 196),
            router=router("input_queued", input_buffer_flits=16),
            traffic=traffic("uniform", 0.05),
        )
    )
    assert time.process_time() - begin < 10
    assert sim.facts()["terminals"] == 100_352
    sim.begin_window()
    sim.run(150)
    assert sim.statistics()["packets_delivered"] > 1000
    assert sim.facts()["memory_bytes"] < 1e9
