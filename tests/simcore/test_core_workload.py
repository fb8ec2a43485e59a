"""Workloads from Python: programs from arrays and GOAL files, closed forms, and the core's statistics of jobs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from core_scenes import config, router
from flitgym.simcore import CALC, RECEIVE, SEND, Program, Simulation

GOAL = Path(__file__).parents[1] / "data" / "goal"
LOGGOPS = {"host": "loggops", "network": "none"}


def workload(jobs: list[dict[str, Any]], routing: str = "minimal", **parameters: Any) -> Simulation:
    return Simulation(config(routing, None, router=router("sc22"), workload={"jobs": jobs, **parameters}))


def finished(sim: Simulation) -> list[dict[str, Any]]:
    sim.begin_window()
    assert sim.run_workload(10_000_000), sim.waiting()
    sim.end_window()
    return sim.jobs()


def ring(ranks: int, size: int, rounds: int) -> Program:
    """Each rank sends to the next and receives from the previous one, `rounds` times, then computes for 1 us."""
    rank = np.arange(ranks)
    return Program(
        ranks,
        op_rank=np.concatenate([rank, rank, rank]),
        op_kind=np.repeat([SEND, RECEIVE, CALC], ranks),
        op_size=np.repeat([size, size, 1000], ranks),
        op_peer=np.concatenate([(rank + 1) % ranks, (rank - 1) % ranks, np.zeros_like(rank)]),
        before=np.concatenate([np.zeros(ranks, int), np.ones(ranks, int)]),
        after=np.full(2 * ranks, 2),
        dependency_rank=np.concatenate([rank, rank]),
        repeats={(int(r), 0): rounds for r in rank},
    )


def test_a_program_from_arrays_takes_the_time_of_loggops() -> None:
    (job,) = finished(workload([{"name": "ring", "program": ring(5, 1001, 4)}], **LOGGOPS))
    # A round takes o + L + o, G for each byte after the first, and the computation. The NICs are never the limit.
    assert job["rank_finish_ns"] == pytest.approx(np.full(5, 4 * (1500 + 2500 + 1500 + 6000 + 1000)))
    assert job["rank_compute_ns"] == pytest.approx(np.full(5, 4000))
    assert job["rank_comm_time_ns"] == pytest.approx(np.full(5, 4 * 11500))
    assert (job["messages"], job["bytes"], job["bytes_received"]) == (20, 20 * 1001, 20 * 1001)


def test_a_program_equals_its_goal_text() -> None:
    program = ring(5, 1001, 4)
    again = Program.goal(program.to_goal())
    direct, read = (finished(workload([{"name": "x", "program": p}]))[0] for p in (program, again))
    assert {k: v for k, v in program.totals().items() if k != "operations"} == {
        k: v for k, v in again.totals().items() if k != "operations"
    }
    assert read["bytes"] == direct["bytes"]
    assert read["finish_ns"] == pytest.approx(direct["finish_ns"], rel=0.01)


@pytest.mark.parametrize("path", sorted(GOAL.glob("*.goal")), ids=lambda path: path.stem)
def test_goal_files_run_to_their_end(path: Path) -> None:
    for parameters in ({}, LOGGOPS, {"host": "loggops"}):
        (job,) = finished(workload([{"name": "goal", "goal_file": str(path)}], **parameters))
        assert job["bytes"] == job["bytes_received"] == Program.goal(path.read_text()).totals()["bytes"]


def test_an_agent_decides_for_the_packets_of_a_job() -> None:
    motif = {"ranks": 27, "iterations": 1, "bytes": 5000}
    sim = workload([{"name": "halo", "motif": "halo3d", **motif}], routing="external")
    sim.begin_window()
    generator = np.random.default_rng(3)
    while not sim.workload_finished and sim.now < 200_000:
        if sim.collect():
            offsets = sim.requests()["offsets"]
            sim.apply((generator.random(len(offsets) - 1) * np.diff(offsets)).astype(np.uint32))
        else:
            sim.apply()
    (job,) = sim.jobs()
    assert job["ranks_finished"] == 27
    assert job["bytes_received"] == job["bytes"] == Program.motif("halo3d", motif).totals()["bytes"]
    assert job["nonminimal_fraction"] > 0.1


def test_numbers_of_jobs_are_consistent() -> None:
    sim = workload(
        [
            {"name": "halo", "motif": "halo3d", "ranks": 36, "iterations": 2, "bytes": 30000},
            {"name": "noise", "motif": "ur", "ranks": 30, "iterations": 60},
        ],
        routing="par",
    )
    sim.set_series_interval(1000)
    halo, noise = finished(sim)
    series, blame, channels = sim.job_series(), sim.blame(), sim.channels()
    for number, job in enumerate((halo, noise)):
        own = series["job"] == number
        assert series["bytes_received"][own].sum() == series["bytes_sent"][own].sum() == job["bytes"]
        assert series["packets"][own].sum() == job["packets"]
        assert job["rank_bytes_sent"].sum() == job["bytes"]
        assert job["packet_latency_p50_ns"] <= job["packet_latency_p99_ns"] <= job["packet_latency_max_ns"]
        assert job["message_latency_mean_ns"] > job["packet_latency_p50_ns"]
        assert job["peak_ingress_bytes"] <= job["bytes"]
        assert len(set(job["rank_terminal"])) == job["ranks"]
    assert not set(halo["rank_terminal"]) & set(noise["rank_terminal"])
    assert (blame["flits"].sum(axis=1) == channels["flits"]).all()
    assert (blame["stall_ns"].max(axis=1) <= channels["stall_ns"] + 1e-6).all()
    assert (blame["wait_packet_ns"] >= 0).all()
    # A channel that carried no flits of a job delayed no other job on its behalf.
    unused = blame["flits"] == 0
    assert not blame["wait_packet_ns"].swapaxes(1, 2)[unused].any()
