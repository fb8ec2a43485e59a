"""Workloads on the command line: the files of a run of jobs, and jobs that do not end."""

from pathlib import Path

import pytest
from conftest import Command, results
from flitgym.experiments.results.rows import read_rows

GOAL = Path(__file__).parents[1] / "data" / "goal"
SMALL = ("topology=dragonfly_72", "router=sc22", "routing=par")
# Two jobs of 36 ranks each, done in 0.1 ms.
PAIR = (
    *SMALL,
    *("workload=pair", "workload.target=fft3d", "workload.target_params.n=40", "workload.scale=0.1"),
    *("workload.background=halo3d", "workload.background_params={bytes: 20000}"),
)
# Both ranks receive before they send.
DEADLOCK = "num_ranks 2\n" + "".join(
    f"rank {rank} {{\nr: recv 8b from {1 - rank}\ns: send 8b to {1 - rank}\ns requires r\n}}\n" for rank in (0, 1)
)


def halo3d_messages(x: int, y: int, z: int) -> int:
    # Two per pair of neighbours in a box without wrap-around.
    return 2 * ((x - 1) * y * z + x * (y - 1) * z + x * y * (z - 1))


def test_pair(command: Command, tmp_path: Path) -> None:
    done = command("simulate", *PAIR)
    assert done.returncode == 0, done.stderr
    assert "halo3d: 36 ranks, communication" in done.stdout
    (result,) = results(tmp_path)
    assert result["workload_finished"] is True
    assert result["stuck"] is None
    assert result["system_throughput_gb_per_ms"] > 0
    assert list(result["jobs"]) == ["fft3d", "halo3d"]
    for job in result["jobs"].values():
        assert job["ranks"] == job["ranks_finished"] == 36
        assert 0 < job["comm_time_mean_ns"] <= job["comm_time_max_ns"] <= job["finish_ns"]
        assert job["injection_rate_gb_per_s"] == pytest.approx(job["bytes"] / job["finish_ns"])
    halo3d = result["jobs"]["halo3d"]
    # 3 x 3 x 4 ranks, 3 of 30 iterations.
    assert halo3d["messages"] == 3 * halo3d_messages(3, 3, 4)
    assert halo3d["bytes"] == halo3d["bytes_received"] == 20_000 * halo3d["messages"]
    assert result["blame"]["jobs"] == ["fft3d", "halo3d"]
    assert min(min(row) for row in result["blame"]["wait_ns_per_packet"]) > 0


def test_tables_agree_with_the_result(command: Command, tmp_path: Path) -> None:
    assert command("simulate", *PAIR).returncode == 0
    (result,) = results(tmp_path)
    (folder,) = (path.parent for path in tmp_path.glob("results/*/*/result.json"))
    ranks, channels, series = (read_rows(folder / f"{name}.parquet") for name in ("ranks", "channels", "job_series"))
    assert [row["rank"] for row in ranks if row["job"] == "fft3d"] == list(range(36))
    assert len({row["terminal"] for row in ranks}) == 72
    for name, job in result["jobs"].items():
        own = [row for row in ranks if row["job"] == name]
        assert sum(row["bytes_sent"] for row in own) == job["bytes"]
        assert sum(row["comm_time_ns"] for row in own) / 36 == pytest.approx(job["comm_time_mean_ns"])
        assert sum(row["bytes_received"] for row in series if row["job"] == name) == job["bytes"]
        assert sum(row["packets"] for row in series if row["job"] == name) == job["packets"]
    assert len(channels) == result["facts"]["channels"]
    for row in channels:
        assert row["flits"] == row["flits.fft3d"] + row["flits.halo3d"]
        assert row["group"] == row["router"] // 4
        assert row["peer_group"] == (-1 if row["kind"] == 0 else row["peer_router"] // 4)
        assert (row["group"] == row["peer_group"]) == (row["kind"] == 1)
    waited = sum(row["wait_packet_ns.fft3d.halo3d"] for row in channels)
    assert waited / result["jobs"]["fft3d"]["packets"] == pytest.approx(result["blame"]["wait_ns_per_packet"][0][1])


def test_rows_hold_a_column_per_job_and_number(command: Command, tmp_path: Path) -> None:
    done = command("simulate", "-m", *PAIR[:-2], "workload.background=none,lu")
    assert done.returncode == 0, done.stderr
    rows = {row["workload.background"]: row for row in read_rows(tmp_path / "results" / "default" / "rows.parquet")}
    assert set(rows) == {"none", "lu"}
    assert rows["none"]["jobs.lu.comm_time_mean_ns"] is None
    assert rows["lu"]["jobs.lu.comm_time_mean_ns"] > 0
    # Without a background, the target sends the same bytes and is not slower.
    assert rows["none"]["jobs.fft3d.bytes"] == rows["lu"]["jobs.fft3d.bytes"]
    assert rows["none"]["jobs.fft3d.comm_time_mean_ns"] <= rows["lu"]["jobs.fft3d.comm_time_mean_ns"]


def test_free_jobs(command: Command, tmp_path: Path) -> None:
    halo = "{motif: halo3d, bytes: 1000, iterations: 2, terminals: [5, 3, 70, 8, 9, 10, 11, 12]}"
    ur = "{name: late, motif: ur, ranks: 8, iterations: 5, start_ns: 500}"
    ring = f"{{goal_file: {GOAL / 'ring_any_source.goal'}}}"
    done = command("simulate", *SMALL, "workload=jobs", f"workload.jobs=[{halo}, {ur}, {ring}]")
    assert done.returncode == 0, done.stderr
    (result,) = results(tmp_path)
    assert list(result["jobs"]) == ["halo3d", "late", "ring_any_source"]
    assert result["jobs"]["halo3d"]["bytes"] == 2 * 1000 * halo3d_messages(2, 2, 2)
    assert result["jobs"]["late"]["start_ns"] == 500
    (table,) = tmp_path.glob("results/*/*/ranks.parquet")
    assert [row["terminal"] for row in read_rows(table)][:8] == [5, 3, 70, 8, 9, 10, 11, 12]


@pytest.mark.deep
def test_a_mapped_placement(command: Command, tmp_path: Path) -> None:
    mapped = (*PAIR, "workload.placement=mapped", "workload.mapping=recursive", "workload.mapping_steps=20000")
    done = command("simulate", "-m", *mapped)
    assert done.returncode == 0, done.stderr
    (result,) = results(tmp_path)
    assert result["workload_finished"] is True
    mapping = result["mapping"]
    assert mapping["mapper"] == "recursive"
    assert 0 < mapping["dilation"] <= mapping["start_dilation"]
    assert 0 < mapping["mean_congestion_bytes"] <= mapping["worst_congestion_bytes"]
    (row,) = read_rows(tmp_path / "results" / "default" / "rows.parquet")
    assert row["mapping.dilation"] == mapping["dilation"]


def test_a_deadlock_is_reported(command: Command, tmp_path: Path) -> None:
    (tmp_path / "deadlock.goal").write_text(DEADLOCK)
    jobs = "workload.jobs=[{goal_file: deadlock.goal}, {motif: ur, ranks: 4, iterations: 3}]"
    arguments = (*SMALL, "workload=jobs", jobs)
    done = command("simulate", *arguments)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "job 'deadlock' rank 1" in done.stderr
    assert "receive of 8 bytes from rank 0" in done.stderr
    (result,) = results(tmp_path)
    assert result["workload_finished"] is False
    assert "job 'deadlock' rank 0" in result["stuck"]
    # The finished job has its results.
    assert result["jobs"]["deadlock"]["finish_ns"] is None
    assert result["jobs"]["ur"]["finish_ns"] > 0
    assert list(tmp_path.glob("results/*/*/ranks.parquet"))
    # The run does not count as finished.
    again = command("simulate", *arguments)
    assert again.returncode == 1
    assert "finished before" not in again.stdout
