"""Errors of `flitgym reproduce`. The tests of figures cover its output."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Command
from flitgym.experiments import reproduce
from flitgym.experiments.plotting.players import player_of
from flitgym.experiments.results.rows import ROWS_FILE, write_rows
from flitgym.experiments.terminal.commandline import CommandError


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["figure=hpdc21_convergance"], ["figure", "did you mean 'hpdc21_convergence'?"]),
        (["figure=hpdc21_convergence", "preset=quik"], ["preset", "did you mean 'quick'?"]),
        (["figur=hpdc21_convergence"], ["did you mean 'figure'?"]),
        (["preset=quick"], ["name one figure or study", "hpdc21_load_latency", "study=", "interference"]),
        (["figure=sc19_stencil", "study=interference"], ["name one figure or study"]),
        (["study=interferance"], ["study", "did you mean 'interference'?"]),
        (["study=interference", "preset=papr"], ["preset", "did you mean 'paper'?"]),
        (["hpdc21_convergence"], ["key=value"]),
        (["figure=hpdc21_convergence", "workers=0"], ["workers"]),
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


def test_incomplete_rows_are_not_drawn(tmp_path: Path) -> None:
    def redraw(**which: str) -> None:
        reproduce.reproduce(reproduce.Options(**which, results=str(tmp_path), redraw=True))

    folder = tmp_path / "first_look_quick"
    write_rows(folder / ROWS_FILE, [{"routing.name": "minimal"}])
    with pytest.raises(CommandError, match="holds 1 of 117 runs"):
        redraw(figure="first_look")
    assert [path.name for path in folder.iterdir()] == [ROWS_FILE]
    gathered = tmp_path / "interference_quick"
    write_rows(gathered / ROWS_FILE, [{"routing.name": "par"}] * 240)
    with pytest.raises(CommandError, match="gathered"):
        redraw(study="interference")


@pytest.mark.parametrize(
    "which",
    [{"figure": name} for name in reproduce.places()]
    + [{"study": name} for name in reproduce.places(reproduce.STUDIES)],
    ids=lambda which: "".join(which.values()),
)
def test_every_preset_quick_comes_to_its_runs(
    which: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = []

    def stop(runs: Sequence[object], *_: object, **__: object) -> None:
        planned.append(len(runs))
        raise CommandError("no run starts here")

    monkeypatch.setattr(reproduce, "run_all", stop)
    with pytest.raises(CommandError, match="no run starts here"):
        reproduce.reproduce(reproduce.Options(**which, results=str(tmp_path)))
    assert planned[0] > 1


def test_a_row_of_a_forwarding_table_names_no_routing() -> None:
    assert player_of({"engine": "dfsssp"}) == ""
    assert player_of({"engine": "dfsssp", "policy": "tables"}) == "tables"
    assert player_of({"routing.name": "par"}) == "par"


def test_help_lists_figures_and_studies(command: Command) -> None:
    done = command("reproduce", "--help")
    assert done.returncode == 0
    assert "hpdc21_load_latency: preset=quick|paper" in done.stdout
    assert "interference: preset=quick|paper" in done.stdout


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


def test_a_folder_that_takes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def simulate(*arguments: object) -> None:
        raise AssertionError("a run was started")

    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reproduce, "run_all", simulate)
    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(OSError, match="No space left"):
        reproduce.reproduce(reproduce.Options(figure="hpdc21_load_latency", results=str(tmp_path)))
