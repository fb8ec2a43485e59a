"""The end of a sweep: its table, picture and report, made once for each set of runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import TINY, executed
from flitgym.configs import compose, config_hash, plot_formats
from flitgym.experiments.conclusion.conclude import conclude
from flitgym.experiments.results.rows import read_rows, row


def times(paths: list[Path]) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in paths}


def test_a_sweep_leaves_a_table_a_picture_and_a_report(study: Path) -> None:
    written = conclude(study)
    assert [path.name for path in written] == ["rows.parquet", "sweep.png", "sweep.svg", "report.html"]
    rows = read_rows(study / "rows.parquet")
    assert {(one["routing.name"], one["traffic.load"]) for one in rows} == {
        (routing, load) for routing in ("minimal", "par") for load in (0.1, 0.4)
    }
    assert (study / "sweep.png").read_bytes().startswith(b"\x89PNG")
    report = (study / "report.html").read_text()
    assert report.index('id="loads"') < report.index('id="headline"')
    assert "<figure>" not in report  # the curves replace the picture


@pytest.mark.deep
@pytest.mark.parametrize("change", ["run", "format"])
def test_a_changed_study_is_concluded_again(study: Path, change: str) -> None:
    before = times(conclude(study))
    assert times(conclude(study)) == before
    formats: tuple[str, ...] = ("png", "svg")
    if change == "run":
        executed(study / "further", *TINY, "routing=par", "traffic.load=0.2")
    else:
        formats = ("pdf",)
    after = times(conclude(study, formats))
    assert not set(after.items()) & set(before.items())
    assert len(read_rows(study / "rows.parquet")) == 4 + (change == "run")
    # A picture of an earlier set of runs, or in a format that is no longer selected, is removed.
    pictures = {path.suffix for path in study.glob("sweep.*")}
    assert pictures == ({".pdf"} if change == "format" else {".png", ".svg"})


# --- plot.format ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "formats"),
    [
        ("plot.format=pdf", ("pdf",)),
        ("plot.format=[pdf,png]", ("pdf", "png")),
        ("plot.format=none", ()),
        ("seed=1", ("png", "svg")),
    ],
)
def test_formats(word: str, formats: tuple[str, ...]) -> None:
    assert plot_formats(compose((word,)).plot.format) == formats


def test_the_format_does_not_change_the_hash(tiny_runs: Path) -> None:
    assert config_hash(compose((*TINY, "plot.format=pdf"))) == config_hash(compose(TINY))
    result: dict[str, Any] = json.loads((tiny_runs / "par_0.1" / "result.json").read_text())
    assert not [column for column in row(result, tiny_runs / "par_0.1") if column.startswith("plot")]
