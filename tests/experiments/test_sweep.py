"""Sweeps in processes of their own: expanded, run, resumed, and stopped by the first failure."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from flitgym.experiments.sweep import RunFailedError, expand, run_all


def test_expand_crosses_groups_and_keys(small: Sequence[str], tmp_path: Path) -> None:
    block = {"overrides": ["seed=5"], "sweep": {"routing": ["minimal", "par"], "traffic.load": [0.1, 0.2, 0.3]}}
    runs = expand(small, [block], tmp_path)
    found = [(run.config.routing.name, run.config.traffic.load, run.config.seed) for run in runs]
    assert found == [(name, load, 5) for name in ("minimal", "par") for load in (0.1, 0.2, 0.3)]


def test_runs_keep_their_order_and_are_not_run_twice(small: Sequence[str], tmp_path: Path) -> None:
    runs = expand(small, [{"overrides": [], "sweep": {"traffic.load": [0.1, 0.4, 0.2]}}], tmp_path)
    results = run_all(runs, "test", workers=2)
    assert [result["config"]["traffic"]["load"] for result in results] == [0.1, 0.4, 0.2]
    stamps = [(run.directory / "result.json").stat().st_mtime_ns for run in runs]
    assert run_all(runs, "test", workers=2) == results
    assert [(run.directory / "result.json").stat().st_mtime_ns for run in runs] == stamps


def test_a_run_that_fails_is_named(small: Sequence[str], tmp_path: Path) -> None:
    runs = expand(small, [{"overrides": [], "sweep": {"traffic.load": [0.1, 7.0]}}], tmp_path)
    with pytest.raises(RunFailedError, match=r"load7_seed1.*load.*7"):
        run_all(runs, "test", workers=1)
