"""Sweeps in worker processes: they expand, run, resume, and stop at the first failure."""

from collections.abc import Sequence
from pathlib import Path

from flitgym.experiments.running.plan import expand
from flitgym.experiments.running.sweep import run_all


def test_expand_crosses_groups_and_keys(small: Sequence[str], tmp_path: Path) -> None:
    block = {"overrides": ["seed=5"], "sweep": {"routing": ["minimal", "par"], "traffic.load": [0.1, 0.2, 0.3]}}
    runs = expand(small, [block], tmp_path)
    found = [(run.plain["routing"]["name"], run.plain["traffic"]["load"], run.plain["seed"]) for run in runs]
    assert found == [(name, load, 5) for name in ("minimal", "par") for load in (0.1, 0.2, 0.3)]


def test_overwrite_repeats_finished_runs(small: Sequence[str], tmp_path: Path) -> None:
    stamps = []
    for words in ([], ["run.overwrite=true"]):
        (run,) = expand([*small, *words], [{"overrides": [], "sweep": {"seed": [1]}}], tmp_path)
        run_all([run], "test", workers=1)
        stamps.append((run.directory / "result.json").stat().st_mtime_ns)
    assert stamps[0] < stamps[1]


def test_runs_of_jobs_are_ordered_by_their_bytes(tmp_path: Path) -> None:
    overrides = ["topology=dragonfly_72", "workload=pair", "workload.scale=0.1"]
    sweep = {"workload.target": ["cosmoflow", "halo3d"], "workload.background": ["none", "ur"]}
    runs = expand(overrides, [{"overrides": [], "sweep": sweep}], tmp_path)
    alone, beside_ur, halo, halo_beside_ur = (run.cost for run in runs)
    # One allreduce: messages up and down a tree of 36 ranks.
    assert alone == 1 + 2 * 35 * 1_126_000
    assert alone < beside_ur < halo < halo_beside_ur
