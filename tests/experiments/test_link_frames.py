"""The frames of links over time: their sums are the run's totals, and recording does not change the run."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from flitgym.configs import compose
from flitgym.experiments.running.one_run import execute
from flitgym.experiments.terminal.progress import no_report
from flitgym.simcore.pictures import frames as link_frames

# Two jobs of 36 ranks each, done in 0.1 ms.
PAIR = (
    *("topology=dragonfly_72", "router=sc22", "routing=par", "workload=pair"),
    *("workload.target=fft3d", "workload.target_params.n=40", "workload.scale=0.1"),
    *("workload.background=halo3d", "workload.background_params={bytes: 20000}"),
)
# Some terminals, and a router with its terminals, are missing. Groups then differ in links, and names differ from
# indices.
DAMAGED = (
    *("topology=dragonfly_72", "router=hpdc21", "routing=ugal", "workload=pair"),
    *("workload.target=fft3d", "workload.target_params.n=40", "workload.scale=0.1"),
    *("workload.background=halo3d", "workload.background_params={bytes: 20000}"),
    *("failures.routers=[9]", "failures.terminals=[0,5]", "failures.links=3"),
)
HYPERX = (
    *("topology=hyperx_64", "router=sc19", "routing=omni_war"),
    *("workload=jobs", "workload.jobs=[{motif: ur, ranks: 64, iterations: 20}]"),
)


def table(path: Path) -> dict[str, Any]:
    read = pq.read_table(path)
    return {name: read[name].to_numpy() for name in read.column_names}


def run(folder: Path, *overrides: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    result = execute(compose(overrides), folder, no_report)
    return result, table(folder / "links.parquet"), table(folder / "channels.parquet")


@pytest.mark.parametrize("overrides", [PAIR, DAMAGED, HYPERX], ids=["dragonfly", "damaged", "hyperx"])
def test_frames_add_up_to_the_run(tmp_path: Path, overrides: tuple[str, ...]) -> None:
    result, links, channels = run(tmp_path, *overrides)
    assert result["files"]["links"] == "links.parquet"
    bundles = np.unique(np.stack([channels[key] for key in ("group", "peer_group", "kind")]), axis=1)
    frames = np.unique(links["end_ns"])
    assert links["flits"].size == frames.size * bundles.shape[1]
    assert frames[-1] == pytest.approx(result["simulated_ns"])
    assert set(links["begin_ns"]) == {0, *frames[:-1]}
    flit_columns = [name for name in links if name.startswith("flits")]
    assert flit_columns == ["flits", *(f"flits.{job}" for job in result["jobs"])]
    link_ns = (links["end_ns"] - links["begin_ns"]) * links["links"]
    whole_ns = result["simulated_ns"]
    for bundle in bundles.T:
        here = np.all([links[key] == bundle[i] for i, key in enumerate(("group", "peer_group", "kind"))], axis=0)
        there = np.all([channels[key] == bundle[i] for i, key in enumerate(("group", "peer_group", "kind"))], axis=0)
        assert set(links["links"][here]) == {there.sum()}
        for name in flit_columns:
            assert links[name][here].sum() == channels[name][there].sum()
        stall = (links["stall_share"] * link_ns)[here].sum()
        assert stall == pytest.approx(channels["stall_ns"][there].sum(), abs=1e-6)
        busy = (links["utilisation"] * link_ns)[here].sum()
        assert busy == pytest.approx(channels["utilisation"][there].sum() * whole_ns)
    # A flit counts in the cycle in which it begins, so a frame may include part of a flit of the previous frame.
    assert links["utilisation"].min() >= 0
    assert links["utilisation"].max() <= 1.02
    assert 0 <= links["stall_share"].min() <= links["stall_share"].max() <= 1


def test_tables_hold_names_and_indices(tmp_path: Path) -> None:
    result, _, channels = run(tmp_path, *DAMAGED)
    assert result["config"]["failures"]["links"] == 3
    ranks = table(tmp_path / "ranks.parquet")
    left = [str(t) for t in range(72) if t not in (0, 5, 18, 19)]
    assert ranks["terminal_name"].tolist() == [left[t] for t in ranks["terminal"]]
    to_terminal = channels["peer_router"] < 0
    assert channels["peer_name"][to_terminal].tolist() == [left[t] for t in channels["terminal"][to_terminal]]
    assert channels["peer_name"][~to_terminal].tolist() == [str(r) for r in channels["peer_router"][~to_terminal]]
    assert channels["router_name"].tolist() == [str(r) for r in channels["router"]]
    # The core reports the groups: four routers each, whatever is missing.
    assert (channels["group"] == channels["router"] // 4).all()
    assert (channels["peer_group"][to_terminal] == -1).all()
    assert (channels["peer_group"][~to_terminal] == channels["peer_router"][~to_terminal] // 4).all()
    run(tmp_path / "whole", *PAIR)
    assert "terminal_name" not in table(tmp_path / "whole" / "ranks.parquet")
    assert "router_name" not in table(tmp_path / "whole" / "channels.parquet")


def test_recording_frames_does_not_change_the_run(tmp_path: Path) -> None:
    found = []
    for interval in (0, 2, 1000, 3000):
        folder = tmp_path / str(interval)
        result = execute(compose([*PAIR, f"workload.map_interval_ns={interval}"]), folder, no_report)
        assert (folder / "links.parquet").exists() == ("links" in result["files"]) == (interval > 0)
        found.append(
            {key: result[key] for key in ("state_hash", "cycles", "jobs", "blame", "system_throughput_gb_per_ms")}
        )
    assert all(one == found[0] for one in found)
    first = (tmp_path / "2" / "links.parquet").read_bytes()
    assert first == (tmp_path / "1000" / "links.parquet").read_bytes()  # both round up to 1,024 cycles


def test_a_long_run_has_few_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, fine, _ = run(tmp_path / "fine", *PAIR)
    monkeypatch.setattr(link_frames, "MOST_FRAMES", 8)
    _, merged, _ = run(tmp_path / "merged", *PAIR)
    ends = np.unique(merged["end_ns"])
    assert 4 <= ends.size <= 8
    assert set(ends) <= set(fine["end_ns"])
    lengths = np.diff(ends, prepend=0)
    assert lengths[:-1] == pytest.approx(lengths[0])
    for name in ("flits", "flits.fft3d", "flits.halo3d"):
        assert merged[name].sum() == fine[name].sum()
