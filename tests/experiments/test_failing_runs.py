"""Runs, sweeps, evaluations and trainings on damaged networks, and their results."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, Command
from flitgym.configs import compose, core_failures
from flitgym.experiments.report.again import simulate_again
from flitgym.experiments.results.files import read_columns
from flitgym.experiments.results.rows import row
from flitgym.experiments.running.one_run import execute, obtain
from flitgym.experiments.running.plan import expand
from flitgym.experiments.terminal.progress import no_report
from flitgym.experiments.train import train
from training_scenes import composed


def test_a_result_carries_its_failures(tmp_path: Path) -> None:
    words = [*SMALL, "failures.links=0.05", "failures.terminals=[0,5]", "failures.events=[0-1@600-900]"]
    config = compose([*words, "run.channels=true", "run.drain=true", "run.series_interval_ns=100"])
    result = execute(config, tmp_path, no_report)
    flat = row(result, tmp_path)
    assert (flat["failures.links"], flat["failures.terminals"]) == (0.05, [0, 5])
    assert flat["failures.events"] == ["0-1@600-900"]
    assert flat["failures.routers"] is None
    assert result["facts"]["terminals"] == 70
    assert result["drained"]
    assert sum(flat["series.packets"]) >= result["packets_injected"]  # the series includes the warm-up
    channels = read_columns(result, tmp_path, "channels")
    assert channels is not None
    # Five of 90 cables of two channels each are missing, and two terminals.
    assert len(channels["port"]) == 2 * (90 - 5) + 70
    assert channels["peer_name"][channels["terminal"] == 0] == ["1"]
    # The report's command reproduces the run.
    again = simulate_again(json.loads((tmp_path / "result.json").read_text())["config"])
    assert again is not None
    assert all(word in again for word in ("failures.links=0.05", "'failures.terminals=[0,5]'"))
    assert obtain(config, tmp_path, no_report)[1] is False
    assert core_failures(compose(SMALL)) == {}


def test_a_sweep_over_failures(tmp_path: Path) -> None:
    block = {"overrides": [], "sweep": {"failures.links": [None, 0, 0.02, 3, ["0-1"]]}}
    runs = expand(SMALL, [block], tmp_path)
    assert len({run.directory for run in runs}) == 5
    hashes = [execute(run.plain, run.directory, no_report)["state_hash"] for run in runs]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 4


@pytest.mark.deep
def test_an_evaluation_on_a_damaged_network(command: Command, tmp_path: Path) -> None:
    words = ["routing=[minimal,ugal,par]", "patterns=[uniform]", "loads=[0.2]", "seeds=[1]"]
    run = ["router=input_queued", "run.warmup_ns=200", "run.measure_ns=600", "workers=1", "failures.links=3"]
    done = command("evaluate", *words, *run)
    # The evaluation excludes and names policies that do not support failures, and compares the others.
    assert "left out: par, pattern uniform: routing.par: it needs the whole topology" in done.stderr
    assert done.returncode == 1
    assert "failures.links=3" in (tmp_path / "results" / "evaluation" / "evaluation.md").read_text()


def test_a_training_draws_failures(tmp_path: Path) -> None:
    def trained(name: str, vary: dict[str, Any], *words: str) -> bytes:
        # Four groups of three. The six routers of other tests form a ring, in which a failed link leaves no choices.
        groups = ("topology.routers_per_group=3", "topology.groups=4")
        config = composed("rounds=1", "agent.networks=3", *groups, *words)
        config.vary = vary
        train(config, tmp_path / name)
        policy = (tmp_path / name / "policy.safetensors").read_bytes()
        return policy[8 + int.from_bytes(policy[:8], "little") :]  # the weights without the metadata

    vary = {"failures.links": [1]}
    weights = {trained("drawn", vary), trained("fixed", vary, "failures.seed=5"), trained("whole", {})}
    assert len(weights) == 3
