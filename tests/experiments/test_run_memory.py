"""The memory of runs is estimated before they start, and limits how many run at once."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from flitgym.experiments.running import memory
from flitgym.experiments.running.plan import expand
from flitgym.experiments.running.sweep import run_all


def test_larger_networks_and_learned_tables_take_more(tmp_path: Path) -> None:
    sweep = {"topology": ["dragonfly_72", "dragonfly_1056"], "routing": ["minimal", "q_adaptive"], "seed": [1, 2]}
    runs = expand([], [{"overrides": [], "sweep": sweep}], tmp_path)
    needs, terminals = memory.needs_of(runs, check=False)
    assert set(needs) == {run.directory for run in runs}
    assert sorted(set(terminals.values())) == [72, 1056]
    of = {(run.plain["topology"]["groups"], run.plain["routing"]["name"]): needs[run.directory] for run in runs}
    small, large = sorted({groups for groups, _ in of})
    assert of[small, "minimal"] < of[small, "q_adaptive"] < of[large, "q_adaptive"]
    assert of[small, "minimal"] < of[large, "minimal"]


def test_a_run_takes_less_memory_than_estimated(small: Sequence[str], tmp_path: Path) -> None:
    runs = expand(small, [{"overrides": [], "sweep": {"traffic.load": [0.9]}}], tmp_path)
    (need,) = memory.needs_of(runs, check=False)[0].values()
    (result,) = run_all(runs, "test", workers=1)
    assert 0 < result["peak_rss_mb"] * 2**20 < need


@pytest.mark.parametrize(
    ("free", "workers", "fits"),
    [(100, 4, 4), (100, 3, 3), (60, 4, 2), (34, 4, 1), (1, 4, 1), (1e9, 64, 64)],
)
def test_any_of_the_runs_fit_together_in_memory(
    monkeypatch: pytest.MonkeyPatch, free: float, workers: int, fits: int
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: free)
    assert memory.most_at_once([10, 30, 1, 15, 20], workers) == fits
