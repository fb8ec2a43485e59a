"""`flitgym.simulate` and `flitgym.configuration`: the results of the command, without its files."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path

import flitgym
import hydra
import numpy as np
import pytest
from conftest import Command
from hydra import initialize_config_dir, version
from hydra.core.global_hydra import GlobalHydra
from packaging.version import Version

SHORT = {"run.warmup_ns": 500, "run.measure_ns": 1000}


def test_a_run_equals_that_of_the_command(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("topology=dragonfly_72", "router=sc22", "routing=ugal_l", "traffic=mixed", "traffic.load=0.05", "seed=7")
    assert command("simulate", *words, "run.warmup_ns=500", "run.measure_ns=1000").returncode == 0
    (path,) = (tmp_path / "results" / "default").glob("*/result.json")
    monkeypatch.chdir(tmp_path)
    own = flitgym.simulate(*words, **SHORT)
    fields = json.loads(path.read_text())
    assert own["state_hash"] == fields["state_hash"]
    assert own["packet_latency_mean_ns"] == fields["packet_latency_mean_ns"]
    assert {*fields} - {*own} <= {"checksum", "checksums"}
    # The call finds the run in the command's results folder and does not run it again.
    found = flitgym.simulate(*words, results="results", **SHORT)
    assert found.directory is not None
    assert found.directory.resolve() == path.parent
    assert found["wall_seconds"] == fields["wall_seconds"]


def test_it_runs_inside_another_program_of_hydra(small: Sequence[str], tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("x: 1\n")
    with initialize_config_dir(str(tmp_path), version_base="1.2"):
        outer = GlobalHydra.instance()
        assert flitgym.simulate(*small)["packets_delivered"] > 0
        assert GlobalHydra.instance() is outer
        assert version.getbase() == Version("1.2")
        assert hydra.compose("config", ["x=2"]) == {"x": 2}


def test_it_leaves_no_files(small: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    result = flitgym.simulate(*small, **{"run.series_interval_ns": 100, "run.channels": True})
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]
    assert result.directory is None
    assert len(result.columns("series")["time_ns"]) >= 10
    assert result.columns("channels")["flits"].sum() == result["flit_hops"]
    with pytest.raises(flitgym.ConfigError, match=r"q_table: the run did not keep this table; run.series_interval_ns"):
        result.columns("q_table")


def test_it_writes_into_the_given_folder(small: Sequence[str], tmp_path: Path) -> None:
    result = flitgym.simulate(*small, directory=tmp_path / "mine", **{"run.series_interval_ns": 100})
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {"result.json", "series.parquet"}
    assert len(result.columns("series")["time_ns"]) >= 10
    with pytest.raises(flitgym.ConfigError, match=r"directory: a and results: b; give one"):
        flitgym.simulate(*small, directory="a", results="b")
    with pytest.raises(flitgym.ConfigError, match=r"run\.save_q_table: the run leaves no files"):
        flitgym.simulate(*small, routing="q_adaptive", **{"run.save_q_table": True})


def test_sections_belong_to_their_caller() -> None:
    first = flitgym.configuration("topology=torus_512")
    assert sorted(first) == ["router", "routing", "seed", "topology", "traffic"]
    first["topology"]["sizes"].append(9)
    assert flitgym.configuration("topology=torus_512")["topology"]["sizes"] == [8, 8, 8]
    with pytest.raises(flitgym.ConfigError, match="did you mean 'minimal'"):
        flitgym.configuration("routing=minimall")


def test_the_sections_of_a_command_make_its_simulation(small: Sequence[str]) -> None:
    result = flitgym.simulate(*small, "routing=ugal_l", seed=5, **{"run.measure_ns": 1000})
    simulation = flitgym.Simulation(flitgym.configuration(*small, "routing=ugal_l", seed=5))
    simulation.run_ns(500)
    simulation.begin_window()
    simulation.run_ns(1000)
    simulation.end_window()
    assert simulation.state_hash() == result["state_hash"]


def test_a_result_holds_its_configuration(small: Sequence[str]) -> None:
    result = flitgym.simulate(*small, routing="dqn", seed=3, **{"traffic.load": np.float64(0.25)})
    text = repr(result)
    for words in ("dragonfly_72 (36 routers, 72 terminals)", "dqn", "uniform at load 0.25", "seed 3"):
        assert words in text
    assert f"{result['accepted_load']:.3f} of 0.250 offered, in flits per terminal per flit time" in text
    assert f"mean {result['packet_latency_mean_ns']:,.0f} ns, p99 {result['packet_latency_p99_ns']:,.0f} ns" in text
    assert f"{result['hops_mean']:.2f}" in text
    assert "CPU time" in text
    html = result._repr_html_()
    assert html.startswith("<table>")
    assert "dqn" in html
    assert dict(result)["accepted_load"] == result["accepted_load"]
    assert result.config["seed"] == 3
    with pytest.raises(KeyError, match="'latency' is not a field of this result; valid fields: accepted_load"):
        result["latency"]


def test_the_text_shows_jobs_and_empty_windows(small: Sequence[str]) -> None:
    jobs = flitgym.simulate(
        *small[:3], "workload=pair", "workload.target=halo3d", "workload.background=none", **{"workload.scale": 0.01}
    )
    assert "jobs" in repr(jobs)
    assert "communication" in repr(jobs)
    silent = flitgym.simulate(*small, **{"traffic.load": 0})
    assert "no packet was delivered in the window" in repr(silent)


def test_warnings_of_a_result_become_python_warnings(small: Sequence[str]) -> None:
    with pytest.warns(UserWarning, match="its table was empty 500 ns before the window"):
        learned = flitgym.simulate(*small, "routing=q_adaptive")
    assert "its table was empty" in repr(learned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flitgym.simulate(*small)
