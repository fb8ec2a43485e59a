"""`flitgym export`, and the options of `plot` and `compare` for papers."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import TINY, call_command
from flitgym.experiments.export import paper_table
from flitgym.experiments.results.rows import read_rows
from PIL import Image


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("export")
    sweep = ("routing=minimal,par", "traffic.load=0.1,0.4", "seed=1,2,3", "plot.format=[]", "study=see")
    assert call_command(where, "simulate", "-m", *TINY, *sweep).returncode == 0
    return where


def test_chosen_columns_and_rows(folder: Path) -> None:
    for name in ("x.csv", "x.parquet"):
        words = ("study=see", f"out={name}", "columns=routing,latency,load", "filter=load<0.2,routing!=par")
        assert call_command(folder, "export", *words).returncode == 0
    rows = [row for row in read_rows(folder / "results/see/rows.parquet") if row["traffic.load"] == 0.1]
    own = [row["packet_latency_mean_ns"] for row in rows if row["routing.name"] == "minimal"]
    found = list(csv.DictReader((folder / "x.csv").open()))
    assert [(row["routing"], float(row["packet_latency_mean_ns"])) for row in found] == [("minimal", x) for x in own]
    assert pq.read_table(folder / "x.parquet").to_pydict()["packet_latency_mean_ns"] == own


def test_a_table_has_digits_by_interval_and_the_best_in_bold() -> None:
    # Half widths of the 95 % intervals of three seeds: 4.303 / sqrt(3) times the standard deviation.
    latencies = {
        "minimal": (100, 101, 102),
        "par": (200, 200.1, 200.2),
        "ugal_l": (95, 100, 105),
        "valiant": (9, 9.5, 10),
    }
    rows = [
        {"routing.name": name, "seed": seed, "latency_ns": value, "warnings.saturated": name == "valiant" or None}
        | {"accepted_load": 0.1 if name == "valiant" else 0.5, "offered_load": 0.5}
        for name, values in latencies.items()
        for seed, value in enumerate(values)
    ]
    lines = [line.removesuffix(r" \\") for line in paper_table(rows, ["latency_ns"], latex=True).splitlines()]
    assert lines[2:-2] == [
        "routing & latency (ns)",
        r"\midrule",
        r"minimal & \textbf{101 $\pm$ 2}",  # 100, the best mean, is in its interval 98.5 to 103.5
        r"valiant & 9.5 $\pm$ 1.2$^*$",
        r"ugal\_l & \textbf{100 $\pm$ 12}",
        r"par & 200.1 $\pm$ 0.2",
    ]


def test_an_artifact_runs_again_and_finds_a_changed_number(folder: Path) -> None:
    assert call_command(folder, "export", "study=see", "format=artifact", "filter=load<0.2").returncode == 0
    artifact = folder / "results/see/artifact"
    check = [sys.executable, str(artifact / "check.py")]
    done = subprocess.run(check, capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stdout.count("equal: ")) == (0, 6), done.stderr
    runs = json.loads((artifact / "runs.json").read_text())
    runs[2]["numbers"]["hops_mean"] += 1e-9
    (artifact / "runs.json").write_text(json.dumps(runs))
    done = subprocess.run(check, capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("DIFFERENT: ")) == (1, 1)
    assert "hops_mean: " in done.stdout


def test_figures_for_a_paper_have_its_size_and_embedded_fonts(folder: Path) -> None:
    words = ("results/see", "y=latency", "style=one_column", "height=2", "title=Mine", "format=png,pdf", "out=fig")
    assert call_command(folder, "plot", *words).returncode == 0
    assert np.allclose(Image.open(folder / "fig.png").size, (3.4 * 160, 2 * 160), atol=1)
    assert b"/FontFile2" in (folder / "fig.pdf").read_bytes()


def test_a_comparison_has_the_format_of_its_file(folder: Path) -> None:
    for name in ("c.csv", "c.tex"):
        assert call_command(folder, "compare", "results/see", "by=routing", f"out={name}").returncode == 0
    row = next(csv.DictReader((folder / "c.csv").open()))
    assert float(row["mean_of_second"]) - float(row["mean_of_first"]) == pytest.approx(float(row["difference"]))
    assert (folder / "c.tex").read_text().startswith(r"\begin{tabular}{lrrrrrrrr}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export", "study=see", "format=latx"], "format: unknown format 'latx'; did you mean 'latex'?"),
        (["export", "study=see", "out=x.xlsx"], "out=x.xlsx: unknown format '.xlsx'"),
        (
            ["export", "study=see", "columns=load"],
            "out: name a file, because rows.parquet of the folder holds all rows",
        ),
        (
            ["export", "study=see", "format=csv", "columns=latancy"],
            "columns: unknown column 'latancy'; did you mean 'latency'?",
        ),
        (["export", "study=see", "format=latex", "columns=routing"], "the column 'routing' has no numbers"),
        (["export", "study=see", "format=csv", "filter=load<x"], "filter: 'load<x' does not compare numbers"),
        (["export", "study=see", "format=csv", "filter=load"], "filter: 'load' is no condition; write for example"),
        (["export", "study=see", "format=csv", "filter=load>1"], "no finished run"),
        (["plot", "results/see", "style=three"], "style: unknown style 'three'"),
        (["plot", "results/see", "width=0"], "width=0: write a number from 1 to 100, in inches"),
        (
            ["compare", "results/see", "by=routing", "out=c.txt"],
            "out=c.txt: write a name that ends in .md, .csv or .tex",
        ),
    ],
)
def test_errors_name_the_key(folder: Path, words: list[str], message: str) -> None:
    done = call_command(folder, *words)
    assert done.returncode == 2
    assert message in done.stderr
