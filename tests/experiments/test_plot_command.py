"""`flitgym plot`: the drawn columns and the written files."""

from pathlib import Path

import pytest
from flitgym.experiments import plot
from flitgym.experiments.plotting import sweeps
from flitgym.experiments.results.rows import ROWS_FILE, rows_below, write_rows
from matplotlib.axes import Axes


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Axes]:
    """The axes that the command draws."""
    axes: list[Axes] = []
    real = sweeps.curves

    def remembered(*arguments: object) -> Axes:
        axes.append(real(*arguments))  # type: ignore[arg-type]
        return axes[-1]

    monkeypatch.setattr(sweeps, "curves", remembered)
    return axes


def test_a_column_against_another(study: Path, drawn: list[Axes], capsys: pytest.CaptureFixture[str]) -> None:
    plot.command([str(study), "x=traffic.load", "y=accepted_load", "by=routing"])
    names = [f"accepted_load_against_traffic.load.{kind}" for kind in ("png", "svg")]
    assert capsys.readouterr().out.split() == [str(study / name) for name in names]
    assert (study / names[0]).read_bytes().startswith(b"\x89PNG")
    rows = rows_below(study)[0]
    for line, name in zip(drawn[0].get_lines(), ("minimal", "par"), strict=False):
        own = sorted((row["traffic.load"], row["accepted_load"]) for row in rows if row["routing.name"] == name)
        assert [tuple(point) for point in line.get_xydata()] == own  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["out=a.pdf"], ["a.pdf"]),
        (["out=a"], ["a.png", "a.svg"]),
        (["out=a.png", "format=svg,pdf"], ["a.pdf", "a.svg"]),
    ],
)
def test_the_file_can_be_named(
    study: Path, words: list[str], names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plot.command([str(study), "y=hops", *words])
    plot.command([str(study), *words])  # the figure of the sweep
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == names


def test_without_keys_it_draws_the_figure_of_a_sweep(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot.command([str(study), "format=pdf"])
    written = [study / name for name in ("rows.parquet", "sweep.pdf", "report.html")]
    assert capsys.readouterr().out.split() == list(map(str, written))
    assert all(path.is_file() for path in written)


def test_a_table_alone_is_enough(study: Path, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    write_rows(tmp_path / "table" / ROWS_FILE, rows_below(study)[0])
    plot.command([str(tmp_path / "table"), "x=routing", "y=p99"])
    assert (tmp_path / "table" / "packet_latency_p99_ns_against_routing.png").exists()


def test_help_lists_the_columns(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot.command([str(study), "--help"])
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    listed = {line[0]: line[1] for line in lines}
    assert listed["traffic.load"] == "0.1 to 0.4"
    assert listed["routing"] == "minimal, par"
    assert {"accepted_load", "packet_latency_mean_ns", "router.vcs", "seed"} <= set(listed)
