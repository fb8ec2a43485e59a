"""Planned trials played to the end: what came of each, and what went wrong, in lines for people."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..running.launcher import HERE, Launcher
from ..running.sweep import PlannedRun, RunFailedError, collect, run_all
from .plan import Trial, refused


def play(
    trials: Sequence[Trial], command: str, description: str, workers: int | None, launcher: Launcher = HERE
) -> tuple[dict[Path, dict[str, Any]], list[str]]:
    """Run what is missing of the trials. Those that are refused or fail leave the others alone.

    Args:
        trials: The trials of one study.
        command: Whose name messages begin with.
        description: Shown beside the progress bar.
        workers: Runs at the same time; None: one per core, or what a cluster has room for.
        launcher: Where they run.

    Returns:
        The results by directory, and what went wrong: a line for all runs of a policy that ended alike.
    """
    failures = refused(trials)
    for pair, message in failures.items():
        # Said at once: the other runs may take long.
        print(f"{command}: left out: {pair}: {message}", file=sys.stderr, flush=True)
    # Two policies may be the same one by two names; that is one run.
    runs: dict[Path, PlannedRun] = {t.run.directory: t.run for t in trials if t.pair not in failures}
    failed: dict[Path, str] = {}
    try:
        run_all(list(runs.values()), description, workers, keep_going=True, launcher=launcher)
    except RunFailedError as error:
        failed = error.failures
    results = {path: result for path, result in collect(runs.values()).items() if path not in failed}
    return results, [f"{pair}: {message}" for pair, message in failures.items()] + _alike(trials, failed)


def _alike(trials: Sequence[Trial], failed: Mapping[Path, str]) -> list[str]:
    """What failed runs said: a line for all of a policy and scenario that said the same, with their loads and seeds."""
    points: dict[tuple[str, str], list[str]] = {}
    for trial in trials:
        if trial.run.directory in failed:
            config = trial.run.config
            load = f"load {config.traffic.load:g} " if trial.scenario.kind == "pattern" else ""
            points.setdefault((trial.pair, failed[trial.run.directory]), []).append(f"{load}seed {config.seed}")
    return [f"{pair} ({', '.join(where)}): {message}" for (pair, message), where in points.items()]
