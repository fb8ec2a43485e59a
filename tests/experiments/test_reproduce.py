"""Errors of `flitgym reproduce`. The tests of figures cover its output."""

from pathlib import Path

import pytest
from conftest import Command
from flitgym.experiments.results.rows import ROWS_FILE, write_rows
from flitgym.experiments.terminal.commandline import CommandError
from plans import reproduced


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["figure=hpdc21_convergance"], ["figure", "did you mean 'hpdc21_convergence'?"]),
        (["preset=quick"], ["name one figure or study", "hpdc21_load_latency", "study=", "interference"]),
        (["hpdc21_convergence"], ["key=value"]),
        (["figure=hpdc21_convergence", "redraw=true"], ["redraw", "rows.parquet", "without redraw=true first"]),
        (["study=interference", "redraw=true", "routing=[par]"], ["routing", "redraw=true"]),
    ],
)
def test_bad_input(command: Command, arguments: list[str], parts: list[str]) -> None:
    done = command("reproduce", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


@pytest.mark.deep
def test_incomplete_rows_are_not_drawn(tmp_path: Path) -> None:
    write_rows(tmp_path / ROWS_FILE, [{"routing.name": "minimal"}])
    with pytest.raises(CommandError, match="holds 1 of 117 runs"):
        reproduced(tmp_path, "figure=first_look", "redraw=true")
    write_rows(tmp_path / ROWS_FILE, [{"routing.name": "par"}] * 240)
    with pytest.raises(CommandError, match="gathered"):
        reproduced(tmp_path, "study=interference", "redraw=true")
    assert [path.name for path in tmp_path.iterdir()] == [ROWS_FILE]


@pytest.mark.parametrize("name", ["reproduce", "evaluate", "simulate"])
def test_a_file_in_place_of_results_stops_the_command_before_any_run(
    command: Command, tmp_path: Path, name: str
) -> None:
    (tmp_path / "results").write_text("in the way")
    done = command(name, *(["figure=hpdc21_load_latency"] if name == "reproduce" else []))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "results" in line
    assert "runs" not in line  # the first words of a sweep
