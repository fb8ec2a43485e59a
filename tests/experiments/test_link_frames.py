"""The frames of links over time: their sums are the run's totals, and recording does not change the run."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import executed
from flitgym.experiments import draw
from flitgym.simcore import Simulation
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
    result = executed(folder, *overrides)
    return result, table(folder / "links.parquet"), table(folder / "channels.parquet")


@pytest.mark.parametrize("by_group", [False, True], ids=["links", "groups"])
@pytest.mark.parametrize("overrides", [PAIR, DAMAGED, HYPERX], ids=["dragonfly", "damaged", "hyperx"])
def test_frames_add_up_to_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overrides: tuple[str, ...], by_group: bool
) -> None:
    if by_group:
        monkeypatch.setattr(link_frames, "MOST_LINKS", 0)
    result, links, channels = run(tmp_path, *overrides)
    assert result["files"]["links"] == "links.parquet"
    # The links of a router to terminals are one entry.
    channels["port"] = np.where(channels["peer_router"] < 0, -1, channels["port"].astype(int))
    keys = ("group", "peer_group", "kind", *(() if by_group else ("router", "port", "peer_router")))
    bundles = np.unique(np.stack([channels[key] for key in keys]), axis=1)
    frames = np.unique(links["end_ns"])
    assert links["flits"].size == frames.size * bundles.shape[1]
    assert frames[-1] == pytest.approx(result["simulated_ns"])
    assert set(links["begin_ns"]) == {0, *frames[:-1]}
    flit_columns = [name for name in links if name.startswith("flits")]
    assert flit_columns == ["flits", *(f"flits.{job}" for job in result["jobs"])]
    link_ns = (links["end_ns"] - links["begin_ns"]) * links["links"]
    whole_ns = result["simulated_ns"]
    assert (links["router"] >= 0).all() == (not by_group)
    for bundle in bundles.T:
        here = np.all([links[key] == bundle[i] for i, key in enumerate(keys)], axis=0)
        there = np.all([channels[key] == bundle[i] for i, key in enumerate(keys)], axis=0)
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


def test_the_flits_of_a_class_are_those_of_its_jobs(tmp_path: Path) -> None:
    _, links, _ = run(tmp_path, *PAIR, "workload.classes={fft3d: high, halo3d: bulk}")
    assert links["flits.class high"].sum() > 0
    for name, job in (("high", "fft3d"), ("bulk", "halo3d")):
        assert np.array_equal(links[f"flits.class {name}"], links[f"flits.{job}"])
    (file,) = draw.draw([f"result={tmp_path}", "color=class high", f"out={tmp_path / 'high.png'}"])
    assert file.exists()


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
        result = executed(folder, *PAIR, f"workload.map_interval_ns={interval}")
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


def test_a_window_does_not_lose_flits_of_the_warm_up(tmp_path: Path) -> None:
    """The frames of a run with windows cover it from cycle 0 on; those of the window have the counts of the window."""
    words = ("topology=dragonfly_72", "routing=minimal", "traffic.load=0.4", "run.channels=true")
    phases = ("run.warmup_ns=1503", "run.measure_ns=2001")
    _, links, channels = run(tmp_path, *words, *phases)
    cut = 1503 // 1.6 * 1.6
    assert cut == pytest.approx(links["begin_ns"][links["begin_ns"] >= 1500][0], abs=1.6)
    inside = links["begin_ns"] > 1500
    assert links["flits"][inside].sum() == channels["flits"].sum()
    assert 0 < links["flits"][~inside].sum() < channels["flits"].sum()


def test_queues_credits_and_flows_of_a_hot_link(tmp_path: Path) -> None:
    """Terminals 0 and 1 of router 0 send 1.6 flits per flit time over one link to router 1."""
    topology = {"name": "graph", "links": [0, 1], "terminals_per_router": 2}
    (tmp_path / "pairs").write_text("2 3 0 1")
    traffic = {"name": "permutation", "file": str(tmp_path / "pairs"), "load": 0.8}
    simulation = Simulation({"topology": topology, "routing": "minimal", "traffic": traffic})
    frames = link_frames.LinkFrames(simulation, 500)
    for _ in range(8):
        simulation.run(500)
        frames.look()
    table, flows = frames.table(), frames.flows()
    hot = (table["router"] == 0) & (table["peer_router"] == 1) & (table["begin_ns"] >= 2000 * simulation.cycle_ns)
    cold = (table["router"] == 1) & (table["port"] < 0)
    assert table["utilisation"][hot].mean() > 0.98
    assert table["queue"][hot].mean() > 10
    assert (table["uncredited"][hot] > 0).all()
    assert table["queue"][cold].mean() < 1
    own = (flows["router"] == 0) & (flows["peer_router"] == 1)
    assert [flows[key][own].tolist() for key in ("source_group", "destination_group", "share")] == [[0], [1], [1.0]]
    # The last sample is the state of the core.
    ports, first = simulation.arrays()["ports"], simulation.routers()["first_port"][0]
    (port,) = {int(p) for p in table["port"][hot]}
    last = hot & (table["end_ns"] == simulation.time_ns)
    assert table["uncredited"][last] == ports["load"][first + port] - ports["queued"][first + port]
