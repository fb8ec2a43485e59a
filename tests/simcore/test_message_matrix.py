"""Bytes and times of messages by pairs of ranks: closed forms on a link, mpiGraph and bisections on four switches."""

from typing import Any

import numpy as np
import pytest
from core_scenes import config, router
from flitgym.simcore import RECEIVE, SEND, Program, Simulation
from numpy.typing import NDArray

# The hosts take no time. A flit of 128 bytes takes a cycle of 1 ns on every link.
FREE = {"host": "loggops", "loggops_o_ns": 0.0, "loggops_g_ns": 0.0, "loggops_S_bytes": 1 << 30, "placement": "linear"}
FLIT = 128
MATRICES = ("message_bytes", "message_count", "message_time_ns", "message_busy_ns")


def switches(count: int | list[int], terminals: int, jobs: list[dict[str, Any]], **parameters: Any) -> Simulation:
    """Jobs on a HyperX with `count` switches per dimension and `terminals` per switch; links are single."""
    widths = [count] if isinstance(count, int) else count
    topology = {"name": "hyperx", "widths": widths, "links": [1] * len(widths), "terminals_per_router": terminals}
    workload = {"jobs": jobs, **FREE, "message_matrix": True, **parameters}
    return Simulation(config("minimal", None, topology=topology, router=router("input_queued"), workload=workload))


def finish(sim: Simulation) -> Simulation:
    sim.begin_window()
    assert sim.run_workload(10_000_000), sim.waiting()
    sim.end_window()
    return sim


def messages(ranks: int, *sent: tuple[int, int, int]) -> Program:
    """Messages (from, to, bytes), all sent at once."""
    source, destination, size = (np.array(values) for values in zip(*sent, strict=True))
    kinds = np.repeat([SEND, RECEIVE], len(sent))
    return Program(
        ranks,
        op_rank=np.concatenate([source, destination]),
        op_kind=kinds,
        op_size=np.concatenate([size, size]),
        op_peer=np.concatenate([destination, source]),
    )


def matrices(sim: Simulation, job: int = 0) -> tuple[NDArray[Any], ...]:
    found = tuple(sim.memory(name)[job] for name in MATRICES)
    assert (sim.memory("message_open") == 0).all()
    return found


def alone(flits: int) -> float:
    """The time in ns of a message of this many flits from one switch to the next."""
    sim = finish(switches(2, 2, [{"name": "one", "program": messages(4, (0, 2, flits * FLIT))}]))
    size, count, time, busy = matrices(sim)
    expected = np.zeros((4, 4))
    expected[0, 2] = 1
    np.testing.assert_array_equal(count, expected)
    np.testing.assert_array_equal(size, expected * flits * FLIT)
    np.testing.assert_array_equal(time, busy)
    assert time.sum() == time[0, 2] == pytest.approx(sim.jobs()[0]["message_latency_mean_ns"])
    return float(time[0, 2])


def test_one_message_takes_its_path_and_its_flits() -> None:
    # The head takes 1 ns on the link to the switch, 10 between switches and 1 to the terminal.
    # Each output latency adds 1 ns, and each further flit one cycle.
    assert alone(512) - alone(256) == 256
    assert 12 <= alone(256) - 256 <= 20


def test_two_messages_share_a_link() -> None:
    flits = 512
    pair = messages(4, (0, 2, flits * FLIT), (1, 3, flits * FLIT))
    _, count, time, busy = matrices(finish(switches(2, 2, [{"name": "two", "program": pair}])))
    assert count[0, 2] == count[1, 3] == 1
    # Whether flits or packets alternate, both messages have arrived when the link has carried twice the flits.
    assert time[[0, 1], [2, 3]] == pytest.approx(alone(flits) + flits, rel=0.02)
    np.testing.assert_array_equal(time, busy)


def test_back_to_back_messages_count_busy_time_once() -> None:
    flits = 512
    three = messages(4, *[(0, 2, flits * FLIT)] * 3)
    _, count, time, busy = matrices(finish(switches(2, 2, [{"name": "three", "program": three}])))
    latency = alone(flits)
    assert count[0, 2] == 3
    assert busy[0, 2] == pytest.approx(latency + 2 * flits, abs=2)
    assert time[0, 2] == pytest.approx(3 * latency + (1 + 2) * flits, abs=6)


def test_loggops_without_a_network() -> None:
    values = {"network": "none", "loggops_o_ns": 1500.0, "loggops_g_ns": 1000.0, "loggops_S_bytes": 65535}
    one = [{"name": "one", "program": messages(2, (0, 1, 1000))}]
    _, _, time, busy = matrices(finish(switches(2, 2, one, **values)))
    assert time[0, 1] == busy[0, 1] == 1500 + 2500 + 1500 + 999 * 6


@pytest.mark.parametrize("host", ["mpi", "loggops"])
def test_a_large_message_counts_from_its_request_on(host: str) -> None:
    jobs = [{"name": "large", "program": messages(4, (0, 2, 20_000), (2, 0, 20_000), (1, 1, 500))}]
    sim = finish(switches(2, 2, jobs, host=host, loggops_S_bytes=1000))
    size, count, time, _ = matrices(sim)
    (job,) = sim.jobs()
    assert size.sum() == job["bytes_received"] == 40_500
    assert count.sum() == job["messages_received"] == 3
    assert time.sum() / 3 == pytest.approx(job["message_latency_mean_ns"])


def test_each_job_has_its_own_matrices() -> None:
    jobs = [
        {"name": "small", "motif": "ur", "ranks": 5, "iterations": 40, "bytes": 300},
        {"name": "halo", "motif": "halo3d", "ranks": 8, "iterations": 2, "bytes": 4000},
    ]
    sim = finish(switches(4, 4, jobs, placement="random"))
    assert sim.memory("message_bytes").shape == (2, 8, 8)
    for number, job in enumerate(sim.jobs()):
        size, count, time, busy = matrices(sim, number)
        assert size.sum() == job["bytes_received"]
        assert time.sum() == pytest.approx(job["message_latency_mean_ns"] * count.sum())
        assert not size[job["ranks"] :].any()
        assert not size[:, job["ranks"] :].any()
        assert (busy <= time + 1e-6).all()
    assert ((sim.memory("message_count")[0, :5, :5]).sum(axis=1) == 40).all()


def rates(sim: Simulation) -> NDArray[Any]:
    """Bytes per ns of every pair; NaN without bytes."""
    size, _, _, busy = matrices(sim)
    return np.divide(size, busy, out=np.full(size.shape, np.nan), where=busy > 0)


def test_mpigraph_measures_every_pair() -> None:
    job = {"name": "all", "motif": "mpigraph", "ranks": 12, "bytes": 256, "window": 3, "iterations": 2}
    _, count, _, _ = matrices(finish(switches(4, 4, [job])))
    np.testing.assert_array_equal(count, 6 * (1 - np.eye(12)))
    # Only shifts by 1, 5 and 9.
    _, count, _, _ = matrices(finish(switches(4, 4, [{**job, "shift_step": 4, "barrier": False}])))
    shift = np.subtract.outer(np.arange(12), np.arange(12)) * -1 % 12
    np.testing.assert_array_equal(count, 6 * (shift % 4 == 1))


def test_mpigraph_of_28_nodes_on_four_switches() -> None:
    """The mean bandwidth of a pair is 3/7 of a link's.

    Ranks of a switch share one link if the shift maps them to the same other switch.
    """
    size = 512 * FLIT
    found = rates(finish(switches(4, 7, [{"name": "all", "motif": "mpigraph", "ranks": 28, "bytes": size}]))) / (
        size / alone(512)
    )
    rank = np.arange(28)
    load = np.empty((28, 28))
    for shift in range(1, 28):
        to = (rank + shift) % 28
        for r in rank:
            together = (rank // 7 == r // 7) & (to // 7 == to[r] // 7)
            load[r, to[r]] = 1 if to[r] // 7 == r // 7 else together.sum()
    np.fill_diagonal(load, np.nan)
    assert np.nanmean(1 / load) == pytest.approx(3 / 7)
    assert np.nanmean(found) == pytest.approx(3 / 7, rel=0.03)
    assert found[~np.isnan(load)] == pytest.approx(1 / load[~np.isnan(load)], rel=0.1)


@pytest.mark.parametrize(("ranks", "both"), [(16, False), (16, True), (7, False)])
def test_bisections_pair_every_rank_once(ranks: int, both: bool) -> None:
    job = {"name": "half", "motif": "bisection", "ranks": ranks, "bytes": 1000, "iterations": 300, "both": both}
    _, count, _, _ = matrices(finish(switches(4, 4, [job])))
    assert count.sum() == 300 * (ranks // 2) * (1 + both)
    assert (np.diag(count) == 0).all()
    assert ((count + count.T).sum(axis=1) <= 300 * (1 + both)).all()
    if both:
        np.testing.assert_array_equal(count, count.T)
    if ranks == 16:
        # Each of the 15 partners occurs 20 times on average. The bound allows four standard deviations.
        assert (count + count.T).max() <= (20 + 4 * np.sqrt(20)) * (1 + both)
        assert len(np.unique(count)) > 2


def test_bisections_within_one_switch_have_the_full_bandwidth() -> None:
    job = {"name": "half", "motif": "bisection", "ranks": 8, "bytes": 512 * FLIT, "iterations": 20}
    found = rates(finish(switches(2, 8, [job])))  # the second switch has no ranks
    assert np.nanmin(found) == pytest.approx(FLIT, rel=0.05)
