"""`flitgym evaluate measure=regret`: its statistics of labels, the command, and its errors."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from flitgym.experiments.evaluation.cells import Cell, tidy
from flitgym.experiments.evaluation.regret import cells_of, columns_of, means_of, pairs_of
from flitgym.experiments.results.rows import read_rows

NAN = np.nan
# Runs of milliseconds.
SHORT = ("run.warmup_ns=1000", "regret.decisions=30", "regret.sample_fraction=0.1", "regret.horizon_ns=600")


def labels() -> dict[str, Any]:
    """Three decisions by hand: the best of two candidates, the worst of three, and the middle of three."""
    cost = np.array([[0.0, 40.0, NAN], [-30.0, -60.0, 0.0], [-10.0, 0.0, 20.0]])
    mask = np.isfinite(cost)
    return {
        "cost_ns": cost,
        "mask": mask,
        "taken": np.array([0, 2, 1], np.uint32),
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


def test_cells_by_hop_add_up() -> None:
    cells = cells_of({("uniform", 0.1, "a"): [columns_of(labels())]}, 0.95)

    def only(metric: str, hop: int | None) -> Cell:
        (cell,) = (cell for cell in cells if (cell.metric, cell.point["hop"]) == (metric, hop))
        return cell

    assert [only("decisions", hop).mean.value for hop in (None, 0, 1)] == [3, 1, 2]
    assert only("candidates", None).mean.value == pytest.approx(8 / 3)
    assert only("regret_ns", 1).mean.value == pytest.approx(35)
    assert only("relative", 1).mean.value == pytest.approx(70 / (30 + 10 + 10 / 3))
    assert only("best_taken", 0).mean.value == 1
    row = tidy([only("regret_ns", 1)])[0]
    assert (row["hop"], row["mean"]) == (1, pytest.approx(35))


def test_a_study(command: Command, tmp_path: Path) -> None:
    routings = "routing=[par,{name: eager, routing: par, params: {threshold: 0.5}}%s]"
    words = ("measure=regret", "traffic=uniform", "seed=1", "study=regret", *SHORT)
    done = command("evaluate", routings % ",minimal", *words, "traffic.load=0.2")
    assert done.returncode == 1  # minimal has no choices, so its run fails; the other policies have results
    assert "Traceback" not in done.stderr
    assert "minimal, pattern uniform (load 0.2 seed 1): marginal cost: routing.minimal " in done.stderr
    folder = tmp_path / "results" / "regret"
    names = {"rows.parquet", "regret.csv", "regret.md", "regret.png", "regret.svg"}
    assert {path.name for path in folder.iterdir() if path.is_file()} == names
    rows = read_rows(folder / "rows.parquet")
    assert {(row["policy"], row["kind"]) for row in rows} == {("par", "regret"), ("eager", "regret")}
    with (folder / "regret.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))

    def numbers(policy: str, metric: str, hop: bool) -> list[float]:
        own = (line for line in lines if (line["policy"], line["metric"], bool(line["hop"])) == (policy, metric, hop))
        return [float(line["mean"]) for line in own]

    for row in rows:
        # Stretches differ in length.
        assert numbers(row["policy"], "regret_ns", False) == pytest.approx([row["regret_mean_ns"]], rel=0.2)
        assert sum(numbers(row["policy"], "decisions", True)) == numbers(row["policy"], "decisions", False)[0] == 30

    wrong = command("evaluate", "routing=par", "traffic=uniform", "seed=1", "study=regret", *SHORT[:1])
    assert wrong.returncode == 2
    assert "has the rows of another measure or command" in wrong.stderr

    # A larger study runs only the new runs. Labels of other decisions belong to another run.
    again = command("evaluate", routings % "", *words, "traffic.load=0.2,0.3")
    assert again.returncode == 0, again.stderr
    assert "4 runs, 2 finished before" in again.stderr
    other = command("evaluate", "routing=par", *words, "loads=[0.2]", "regret.other_packets=routed")
    assert "1 runs, 0 finished before" in other.stderr
