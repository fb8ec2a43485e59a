"""Matrices of messages from the run's folder to the columns of a row."""

from pathlib import Path

import numpy as np
import pytest
from flitgym.configs import compose
from flitgym.experiments.results.files import DamagedError, read_arrays
from flitgym.experiments.results.message_matrix import block_means, pair_columns
from flitgym.experiments.results.rows import row
from flitgym.experiments.running.one_run import obtain
from flitgym.experiments.terminal.progress import no_report

JOBS = (
    "workload.jobs=[{name: all, motif: mpigraph, ranks: 6, bytes: 4096}, {name: noise, motif: ur, ranks: 9, "
    "iterations: 2, bytes: 300}, {name: wide, motif: mpigraph, ranks: 96, bytes: 600, shift_step: 5}]"
)


def test_from_a_run_to_its_row(tmp_path: Path) -> None:
    config = compose(["topology=hyperx_672", "router=qdr", "routing=dim_war", "workload=jobs", JOBS,
                      "workload.packet_bytes=2048", "workload.message_matrix=true"])  # fmt: skip
    result, _ = obtain(config, tmp_path, no_report)
    arrays = read_arrays(result, tmp_path, "messages")
    assert arrays is not None
    assert arrays["all.bytes"].shape == (6, 6)
    assert arrays["wide.time_ns"].shape == (96, 96)
    for name, job in result["jobs"].items():
        assert arrays[f"{name}.bytes"].sum() == job["bytes_received"]
    # Messages without bytes, from mpiGraph's barriers, are not counted.
    assert arrays["all.messages"].sum() == 30 < result["jobs"]["all"]["messages"]
    assert arrays["noise.messages"].sum() == result["jobs"]["noise"]["messages"] == 18

    flat = row(result, tmp_path)
    pairs = np.array(flat["messages.all.gb_per_s"], dtype=float)
    assert np.isnan(np.diag(pairs)).all()
    others = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(pairs[others], (arrays["all.bytes"] / np.maximum(arrays["all.busy_ns"], 1))[others])
    assert flat["messages.all.mean_gb_per_s"] == pytest.approx(pairs[others].mean())
    assert 0 < np.nanmax(pairs) <= 4  # GB/s of a link
    assert np.shape(flat["messages.wide.gb_per_s"]) == (48, 48)

    (tmp_path / "messages.npz").write_bytes(b"PK")
    with pytest.raises(DamagedError, match=r"messages\.npz"):
        row(result, tmp_path)
    (tmp_path / "messages.npz").unlink()
    assert "messages.all.gb_per_s" not in row(result, tmp_path)


def test_means_of_blocks() -> None:
    values = np.arange(36.0).reshape(6, 6)
    np.testing.assert_array_equal(block_means(values, 3)[1], values[2:4].reshape(2, 3, 2).mean(axis=(0, 2)))
    values[:2, :2] = np.nan
    values[2, 2:4] = [7, np.nan]
    found = block_means(values, 3)
    assert np.isnan(found[0, 0])
    assert found[1, 1] == pytest.approx((7 + values[3, 2] + values[3, 3]) / 3)
    # Five rows in two parts: three and two.
    np.testing.assert_array_equal(block_means(np.arange(25.0).reshape(5, 5), 2), [[6, 8.5], [18.5, 21]])


def test_a_job_that_sent_nothing_has_no_bandwidth() -> None:
    none = np.zeros((2, 2))
    columns = pair_columns({"idle.bytes": none, "idle.busy_ns": none})
    assert columns == {"messages.idle.gb_per_s": [[None, None]] * 2, "messages.idle.mean_gb_per_s": None}
