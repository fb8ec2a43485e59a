"""`flitgym.sweep` runs every combination once, finds finished runs, and shows a table, a data frame and a picture."""

import itertools
import json
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flitgym
import numpy as np
import pyarrow as pa
import pytest

SWEPT: dict[str, Any] = {"routing": ["ugal_l", "minimal"], "traffic.load": (0.1, 0.3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweep")


@pytest.fixture(scope="module")
def runs(folder: Path) -> flitgym.Runs:
    return flitgym.sweep(words(), results=folder, study="mine", seeds=2, progress=False, workers=2, **SWEPT)


def words() -> list[str]:
    return ["topology=dragonfly_72", "router=input_queued", "run.warmup_ns=200", "run.measure_ns=500"]


def test_every_combination_is_a_run(runs: flitgym.Runs, folder: Path) -> None:
    chosen = list(itertools.product(["ugal_group", "minimal"], [0.1, 0.3], [1, 2]))
    got = [(run.config["routing"]["name"], run.config["traffic"]["load"], run.config["seed"]) for run in runs]
    assert got == chosen
    assert len(runs) == 8
    assert {run["config"]["router"]["cycle_ns"] for run in runs} == {1.0}
    for run in runs:
        assert run.directory is not None
        assert run.directory.parent == folder / "mine"
        assert json.loads((run.directory / "result.json").read_text())["state_hash"] == run["state_hash"]
    left = {path.name for path in (folder / "mine").iterdir() if path.is_file()}
    assert left == {"rows.parquet", "sweep.png", "sweep.svg", "report.html"}


@pytest.mark.deep
def test_a_forked_process_runs_its_own_sweep(folder: Path) -> None:
    script = """
        import os, sys, flitgym
        def sweep(study):
            flitgym.sweep(sys.argv[2:], results=sys.argv[1], study=study, progress=False, seeds=2)
        sweep("parent")
        child = os.fork()
        sweep("child" if child == 0 else "parent_again")
        if child == 0: os._exit(0)
        sys.exit(os.waitpid(child, 0)[1])
    """
    run = [sys.executable, "-c", textwrap.dedent(script), str(folder), *words(), "topology=dragonfly_72"]
    subprocess.run(run, check=True, timeout=120)
    assert all(len(flitgym.Runs.read(folder / name)) == 2 for name in ("parent", "child", "parent_again"))


def test_a_run_of_a_sweep_equals_that_of_simulate(runs: flitgym.Runs) -> None:
    alone = flitgym.simulate(*words(), "routing=ugal_l", "traffic.load=0.3", "seed=2")
    assert runs[3]["state_hash"] == alone["state_hash"]


def test_finished_runs_are_found_and_only_new_ones_run(runs: flitgym.Runs, folder: Path) -> None:
    again = flitgym.sweep(words(), results=folder, study="mine", seeds=2, progress=False, **SWEPT)
    assert [run["wall_seconds"] for run in again] == [run["wall_seconds"] for run in runs]
    more = flitgym.sweep(words(), results=folder, study="mine", seeds=[2, 9], progress=False, **SWEPT)
    known = {run["config_hash"] for run in runs}
    assert [run["config"]["seed"] for run in more] == [2, 9] * 4
    assert [run["config_hash"] in known for run in more] == [True, False] * 4
    assert more[0]["wall_seconds"] == runs[1]["wall_seconds"]


def test_a_study_is_read_from_its_folder(runs: flitgym.Runs, folder: Path, tmp_path: Path) -> None:
    flitgym.sweep(words(), results=folder, study="other", routing="minimal", progress=False)
    read = flitgym.Runs.read(folder / "other")
    assert [run.config["routing"]["name"] for run in read] == ["minimal"]
    assert "1 runs" in repr(read)
    whole = flitgym.Runs.read(folder / "mine")
    assert repr(whole).splitlines()[1].split()[:3] == ["routing", "traffic.load", "seed"]
    assert {(row["routing"], row["traffic.load"]) for row in whole.rows()} == set(
        itertools.product(["ugal_l", "minimal"], [0.1, 0.3])
    )
    with pytest.raises(flitgym.ConfigError, match="no finished run"):
        flitgym.Runs.read(tmp_path)


def test_table_and_frame(runs: flitgym.Runs) -> None:
    table = runs.table()
    assert isinstance(table, pa.Table)
    assert table["routing"].to_pylist() == ["ugal_l"] * 4 + ["minimal"] * 4
    assert table["routing.name"].to_pylist()[0] == "ugal_group"
    assert table["accepted_load"].to_pylist() == [run["accepted_load"] for run in runs]
    pytest.importorskip("pandas")
    frame = runs.frame()
    assert list(frame["traffic.load"]) == [0.1, 0.1, 0.3, 0.3] * 2


def test_runs_are_a_sequence_with_a_table_as_text(runs: flitgym.Runs) -> None:
    assert [run["state_hash"] for run in runs[2:4]] == [runs[2]["state_hash"], runs[3]["state_hash"]]
    assert isinstance(runs[2:4], flitgym.Runs)
    lines = repr(runs).splitlines()
    assert lines[0] == "8 runs"
    assert lines[1].split()[:3] == ["routing", "traffic.load", "seed"]
    assert lines[5].split()[:3] == ["ugal_l", "0.3", "2"]
    assert f"{runs[3]['accepted_load']:,.4g}" in lines[5]
    html = runs._repr_html_()
    assert html.count("<tr>") == 9
    assert "ugal_l" in html


def test_a_picture(runs: flitgym.Runs) -> None:
    ax = runs.plot()
    loads = {tuple(line.get_xdata()) for line in ax.get_lines() if len(line.get_xdata()) == 2}
    assert (0.1, 0.3) in loads
    legend = ax.get_legend()
    assert legend is not None
    assert {"ugal_l", "minimal"} < {text.get_text() for text in legend.get_texts()}
    assert runs.plot(y="accepted_load", by="routing", ax=ax) is ax
    with pytest.raises(flitgym.ConfigError, match="accepted_lod"):
        runs.plot(y="accepted_lod")
    with pytest.raises(flitgym.ConfigError, match="x: no swept key has numbers"):
        flitgym.Runs(list(runs), [{"routing": run.config["routing"]["name"]} for run in runs]).plot()


def test_values_of_every_kind(tmp_path: Path) -> None:
    runs = flitgym.sweep(
        ["routing=minimal", "traffic=uniform", "run.warmup_ns=100", "run.measure_ns=200", "study=sizes"],
        topology="torus",
        results=tmp_path,
        progress=False,
        **{"topology.sizes": [[4, 4], [3, 3, 3]], "traffic.load": np.linspace(0.1, 0.2, 2)},
    )
    assert [run["facts"]["terminals"] for run in runs] == [16, 16, 27, 27]
    assert [run.config["traffic"]["load"] for run in runs] == [0.1, 0.2, 0.1, 0.2]
    assert runs[0].directory is not None
    assert runs[0].directory.parent.name == "sizes"


def test_progress_shows_the_number_of_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], small: Sequence[str]
) -> None:
    flitgym.sweep(small, results=tmp_path, study="said")
    assert "said: 1 run" in capfd.readouterr().err
    flitgym.sweep(small, results=tmp_path, study="said", progress=False)
    assert capfd.readouterr().err == ""


@pytest.mark.deep
def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import flitgym\n"
        f"runs = flitgym.sweep({words()!r}, routing=['minimal', 'par'], progress=False)\n"
        "print(len(runs), runs[1].directory)\n"
    )
    done = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 results/default/dragonfly_par_")
