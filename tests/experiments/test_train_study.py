"""`flitgym train -m`: a folder per configuration, finished trainings kept, others resumed, a table and curves."""

import csv
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from flitgym.configs.training import train_id
from flitgym.experiments.metrics import mean_interval
from flitgym.experiments.results.rows import read_rows
from flitgym.experiments.training.result import objective
from flitgym.experiments.training.study import gather_trainings, grouped
from training_scenes import COMPARED, OWN, SMALL, composed, quick


def sweep(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flitgym", "train", "-m", *SMALL, *OWN["dqn"], *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=500)


@pytest.mark.deep
def test_a_sweep_is_a_study_and_resumes(tmp_path: Path) -> None:
    words = ["study=rates", "rounds=4", "checkpoint_every=2", "evaluation.loads=[0.2]", *COMPARED]
    # One training of the sweep is finished, and another was interrupted in its third round.
    directory = tmp_path / "results" / "rates"
    finished, begun = (
        directory / train_id(_root_=composed(*words, f"seed={seed}", "agent.learning_rate=0.001")) for seed in (1, 2)
    )

    def interrupt(done: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    quick(finished, *words, "seed=1", "agent.learning_rate=0.001")
    with pytest.raises(KeyboardInterrupt):
        quick(begun, *words, "seed=2", "agent.learning_rate=0.001", after_round=interrupt)
    stamp = (finished / "checkpoint.pt").stat().st_mtime_ns

    done = sweep(tmp_path, *words, "seed=1,2", "agent.learning_rate=0.001,0.003")
    assert done.returncode == 0, done.stderr
    assert len([path for path in directory.iterdir() if path.is_dir()]) == 4
    assert all("dqn_dragonfly_mixed_seed" in path.name for path in directory.iterdir() if path.is_dir())
    assert (finished / "checkpoint.pt").stat().st_mtime_ns == stamp  # not repeated
    lines = [json.loads(line) for line in (begun / "progress.jsonl").read_text().splitlines()]
    assert [line["round"] for line in lines] == [1, 2, 3, 4]
    assert not (tmp_path / "multirun").exists()

    rows = read_rows(directory / "rows.parquet")
    assert sorted((row["seed"], row["agent.learning_rate"]) for row in rows) == [
        (1, 0.001), (1, 0.003), (2, 0.001), (2, 0.003)
    ]  # fmt: skip
    for row in rows:
        result = json.loads((directory / row["directory"] / "training.json").read_text())
        assert row["objective"] == result["objective"]
        assert row["last.latency_ns@0.2"] == result["last"]["latency_ns@0.2"]
        assert row["baselines.ugal_l.latency_ns@0.2"] == result["baselines"]["ugal_l"]["latency_ns@0.2"]
        assert row["progress.round"] == [1, 2, 3, 4]
    lines = {(line["trainings"], line["metric"]): line for line in csv.DictReader((directory / "trainings.csv").open())}
    assert {group for group, _ in lines} == {"agent.learning_rate=0.001", "agent.learning_rate=0.003"}
    own = [row["last.latency_ns@0.2"] for row in rows if row["agent.learning_rate"] == 0.003]
    line = lines["agent.learning_rate=0.003", "latency_ns@0.2"]
    assert float(line["mean"]) == pytest.approx(sum(own) / 2, rel=1e-5)
    assert float(line["low"]) == pytest.approx(mean_interval(own).low, rel=1e-5)
    assert "| agent.learning_rate=0.001 | 1, 2 |" in (directory / "trainings.md").read_text()
    assert (directory / "trainings.png").stat().st_size > 10_000


@pytest.mark.deep
def test_optuna_gets_the_objective(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    # Its storage keeps the trials when the study restarts.
    words = ["hydra/sweeper=optuna", "hydra/launcher=basic", "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=1",
             "hydra.sweeper.study_name=rate", "hydra.sweeper.storage=sqlite:///trials.db",
             "agent.learning_rate=tag(log, interval(0.0001, 0.01))", "study=tuned", "rounds=2",
             "evaluation.loads=[0.2]", *COMPARED]  # fmt: skip
    done = sweep(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    best = (tmp_path / "results" / "tuned" / "optimization_results.yaml").read_text()
    rows = read_rows(tmp_path / "results" / "tuned" / "rows.parquet")
    assert len(rows) == 2
    assert f"best_value: {min(row['objective'] for row in rows)}" in best


def test_groups_are_trainings_that_differ_only_in_their_seed(tmp_path: Path) -> None:
    for agent, seed in (("dqn", 1), ("dqn", 2), ("ppo", 1)):
        quick(tmp_path / "study" / f"{agent}{seed}", "rounds=2", f"seed={seed}", agent=agent)
    written = gather_trainings(tmp_path / "study")
    assert {path.name for path in written} == {
        "rows.parquet", "trainings.csv", "trainings.md", "trainings.png", "trainings.svg"
    }  # fmt: skip
    groups = grouped(read_rows(tmp_path / "study" / "rows.parquet"))
    assert {label: len(rows) for label, rows in groups.items()} == {"agent=dqn": 2, "agent=ppo": 1}
    assert gather_trainings(tmp_path / "nothing") == []


def test_objective() -> None:
    rows = [{"round": k, "reward": -float(k), "latency_ns@0.2": 500.0, "latency_ns@0.4": None} for k in range(1, 21)]
    rows[-1] |= {"latency_ns@0.2": 400.0, "latency_ns@0.4": 900.0}
    baselines = {
        "a": {"latency_ns@0.2": 800.0, "latency_ns@0.4": math.nan},
        "b": {"latency_ns@0.2": 1000.0, "latency_ns@0.4": 450.0},
    }
    assert objective(rows, baselines) == pytest.approx(math.sqrt(0.5 * 2.0))
    assert objective(rows[:-1], baselines) == math.inf  # no packet was delivered at 0.4
    # Without baselines, the objective is the negative mean reward of the last tenth of the rounds.
    assert objective(rows, {}) == pytest.approx(19.5)
    assert objective([{"round": 1, "reward": None}], {}) == math.inf
