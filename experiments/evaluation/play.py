"""Runs the planned trials, and collects their results and their failures."""

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..running.launcher import HERE, Launcher
from ..running.sweep import PlannedRun, RunFailedError, collect, run_all
from .plan import Trial, refused


def play(
    trials: Sequence[Trial],
    command: str,
    description: str,
    workers: int | None,
    launcher: Launcher = HERE,
    silent: Collection[str] = (),
) -> tuple[dict[Path, dict[str, Any]], list[str]]:
    """Run the trials that have no result yet. A trial that is refused or fails does not stop the others.

    The arguments are those of `run_all`, and the command's name, with which messages begin.

    Returns:
        The results by directory, and the failures: one line for all runs of a policy with the same message.
    """
    failures = refused(trials)
    for pair, message in failures.items():
        # Printed before the other runs, which may take long.
        print(f"{command}: left out: {pair}: {message}", file=sys.stderr, flush=True)
    # Two names may stand for the same policy, whose runs are the same.
    runs: dict[Path, PlannedRun] = {t.run.directory: t.run for t in trials if t.pair not in failures}
    failed: dict[Path, str] = {}
    try:
        run_all(list(runs.values()), description, workers, keep_going=True, launcher=launcher, silent=silent)
    except RunFailedError as error:
        failed = error.failures
    results = {path: result for path, result in collect(runs.values()).items() if path not in failed}
    return results, [f"{pair}: {message}" for pair, message in failures.items()] + _alike(trials, failed)


def _alike(trials: Sequence[Trial], failed: Mapping[Path, str]) -> list[str]:
    """The messages of failed runs: one line for the same message of a policy in a scenario, with loads and seeds."""
    points: dict[tuple[str, str], list[str]] = {}
    for trial in trials:
        if trial.run.directory in failed:
            config = trial.run.config
            load = f"load {config.traffic.load:g} " if trial.scenario.kind == "pattern" else ""
            points.setdefault((trial.pair, failed[trial.run.directory]), []).append(f"{load}seed {config.seed}")
    return [f"{pair} ({', '.join(where)}): {message}" for (pair, message), where in points.items()]
