"""`flitgym regret`: its statistics of labels, the command, and its errors."""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from flitgym.configs import CONFIG_DIR
from flitgym.experiments.evaluation.study import Study
from flitgym.experiments.hindsight.measure import columns_of, means_of, pairs_of
from flitgym.experiments.hindsight.summary import summarise, tidy
from flitgym.experiments.hindsight.text import About, is_uneven
from flitgym.experiments.regret import main, regret
from flitgym.experiments.results.rows import read_rows
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.simcore import ConfigError
from hydra import compose as hydra_compose
from hydra import initialize_config_dir

NAN = np.nan
# Runs of milliseconds.
SHORT = ("run.warmup_ns=1000", "decisions=30", "sample_fraction=0.1", "horizon_ns=600")


def labels() -> dict[str, Any]:
    """Three decisions by hand: the best of two candidates, the worst of three, and the middle of three."""
    cost = np.array([[0.0, 40.0, NAN], [-30.0, -60.0, 0.0], [-10.0, 0.0, 20.0]])
    mask = np.isfinite(cost)
    return {
        "cost_ns": cost,
        "mask": mask,
        "taken": np.array([0, 2, 1], np.uint32),
        "settled": np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1]], bool),
        "hops": np.array([0, 1, 1], np.uint32),
        **{key: np.zeros(3, np.uint32) for key in ("cycle", "router", "came_by")},
        "candidates": mask.sum(1).astype(np.uint32),
    }


def test_columns_match_hand_computed_values() -> None:
    columns = columns_of(labels())
    np.testing.assert_allclose(columns["regret_ns"], [0, 60, 10])
    np.testing.assert_array_equal(columns["best"], [0, 1, 0])
    np.testing.assert_allclose(columns["chance_ns"], [20, 30, 10 + 10 / 3])  # mean cost less the least cost
    np.testing.assert_allclose(columns["change_ns"], [40, -45, 5])
    np.testing.assert_array_equal(columns["settled"], [1, 0, 1])
    np.testing.assert_array_equal(columns["taken_minimal"], [1, 0, 0])
    means = means_of(columns)
    assert means["regret_mean_ns"] == pytest.approx(70 / 3)
    assert means["best_taken_fraction"] == pytest.approx(1 / 3)


def test_pairs_have_the_minimal_candidate_and_one_other() -> None:
    columns = columns_of(pairs_of(labels(), np.random.default_rng(1)))
    assert (columns["candidates"] == 2).all()
    # The first decision has two candidates. The others compare the minimal one (-30, -10) with the one taken (0).
    np.testing.assert_allclose(columns["regret_ns"], [0, 30, 10])
    np.testing.assert_allclose(columns["chance_ns"], [20, 15, 5])
    # A minimal candidate that was taken meets each of the others.
    given = labels()
    given |= {
        "taken": np.zeros(3, np.uint32),
        "cost_ns": np.array([[0.0, 1.0, 2.0]] * 3),
        "mask": np.ones((3, 3), bool),
    }
    seen = {tuple(pairs_of(given, np.random.default_rng(k))["mask"][0]) for k in range(20)}
    assert seen == {(True, True, False), (True, False, True)}


def test_different_numbers_of_candidates_are_named() -> None:
    ours = columns_of(labels())
    more = {**ours, "candidates": ours["candidates"] + 2}
    lines = summarise({("a", "uniform", 0.1): [ours], ("b", "uniform", 0.1): [more]}, 0.95)
    assert is_uneven(lines)
    assert "candidates=pair" in About("", "", 0.95, 600, "kept", "own", uneven=True).caption()
    assert not is_uneven(summarise({("a", "uniform", 0.1): [ours], ("b", "uniform", 0.2): [more]}, 0.95))


def test_summary_by_hop_adds_up() -> None:
    lines = summarise({("a", "uniform", 0.1): [columns_of(labels())]}, 0.95)
    assert [(line.hops, line.decisions) for line in lines] == [(None, 3), (0, 1), (1, 2)]
    assert lines[0].candidates == pytest.approx(8 / 3)
    assert lines[2].regret_ns.value == pytest.approx(35)
    assert lines[2].relative.value == pytest.approx(70 / (30 + 10 + 10 / 3))
    assert lines[1].best_taken == 1
    row = tidy(lines)[2]
    assert row["regret_ns"] == pytest.approx(35)
    assert row["hops"] == 1


def test_a_study(command: Command, tmp_path: Path) -> None:
    words = ("policies=[par,{name: eager, routing: par, params: {threshold: 0.5}},minimal]", "traffic=uniform", *SHORT)
    done = command("regret", *words, "traffic.load=0.2")
    assert done.returncode == 1  # minimal has no choices, so its run fails; the other policies have results
    assert "Traceback" not in done.stderr
    assert "left out: minimal, pattern uniform: marginal cost: routing.minimal " in done.stderr
    folder = tmp_path / "results" / "regret"
    names = {"rows.parquet", "regret.csv", "regret.md", "regret.png", "regret.svg"}
    assert {path.name for path in folder.iterdir() if path.is_file()} == names
    rows = read_rows(folder / "rows.parquet")
    assert {row["policy"] for row in rows} == {"par", "eager"}
    with (folder / "regret.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    for row in rows:
        (line,) = (line for line in lines if line["policy"] == row["policy"] and not line["hops"])
        assert float(line["regret_ns"]) == pytest.approx(row["regret_mean_ns"], rel=0.2)  # stretches differ in length
        hops = [line for line in lines if line["policy"] == row["policy"] and line["hops"]]
        assert sum(int(line["decisions"]) for line in hops) == int(line["decisions"]) == 30

    # A larger study runs only the new runs. Labels of other decisions belong to another run.
    again = command("regret", words[0].replace(",minimal", ""), *words[1:], "loads=[0.2,0.3]")
    assert again.returncode == 0, again.stderr
    assert "4 runs, 2 finished before" in again.stderr
    other = command("regret", "routing=par", *words[1:], "loads=[0.2]", "other_packets=routed")
    assert "1 runs, 0 finished before" in other.stderr


@pytest.mark.parametrize(
    ("words", "which"),
    [
        (["policies=[par]", "routing=ugal_l"], "routing=ugal_l and policies=[par]"),
        (["traffic=uniform", "patterns=[uniform]"], "traffic=uniform and patterns=[uniform]"),
        (["traffic.load=0.2", "loads=[0.1]"], "traffic.load=0.2 and loads=[0.1]"),
        (["seed=2", "seeds=[1]"], "seed=2 and seeds=[1]"),
    ],
)
def test_a_key_and_its_list_exclude_each_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], which: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["flitgym regret", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"flitgym regret: {which} ")


@pytest.mark.parametrize(
    ("argument", "parts"),
    [
        ("policies=[prr]", ["routing", "did you mean 'par'?"]),
        ("patterns=[unform]", ["traffic", "did you mean 'uniform'?"]),
        ("policies=[]", ["policies", "at least one"]),
        ("patterns=[]", ["patterns", "at least one"]),
        ("loads=[]", ["loads", "at least one"]),
        ("seeds=[1,1]", ["seeds", "'1' occurs twice"]),
        ("horizon_ns=0", ["horizon_ns: 0"]),
        ("horizon_ns=-5", ["horizon_ns: -5"]),
        ("decisions=0", ["decisions: 0"]),
        ("sample_fraction=0", ["sample_fraction: 0"]),
        ("slots=1", ["slots: 1"]),
        ("candidates=pairs", ["candidates", "did you mean 'pair'?"]),
        ("other_packets=keep", ["other_packets", "did you mean 'kept'?"]),
        ("threads=-1", ["threads: -1"]),
        ("confidence=95", ["confidence: 95"]),
    ],
)
def test_bad_values_are_refused_in_one_message(tmp_path: Path, argument: str, parts: list[str]) -> None:
    with initialize_config_dir(str(CONFIG_DIR), version_base="1.3"):
        config = hydra_compose("regret", overrides=[argument])
    with pytest.raises((ConfigError, CommandError)) as failure:
        regret(config, Study(tmp_path, [], "flitgym regret"))
    for part in parts:
        assert part in str(failure.value)
    assert not list(tmp_path.iterdir())
