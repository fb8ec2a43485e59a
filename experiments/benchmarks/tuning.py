"""The tuning of the baselines that `policies.yaml` lists, on the training tasks of the suite `quick`.

    python -m flitgym.experiments.benchmarks.tuning

Every combination of the values plays the training tasks of which the policy is a baseline, with other seeds than the
suite's. tuning.csv records all combinations, and all suites take the fastest one.
"""

import argparse
import itertools
import json
import sys
from pathlib import Path

import numpy as np

from ...simcore import __version__
from ..evaluation.plan import Policy, Trial, plan, play
from ..results.rows import row
from ..terminal.commandline import CommandError, run_command
from ..terminal.tables import write_csv
from .measures import SCORED, measures
from .suite import POLICIES, TUNING, Suite, Task, load_suite

COMMAND = "python -m flitgym.experiments.benchmarks.tuning"
SEEDS = (1, 2, 3)


def tune(suite: Suite, directory: Path) -> Path:
    """Play all candidates, in folders below `directory`, and write the table."""
    found: list[tuple[str, str, Task, Trial]] = []
    for task in (task for task in suite.tasks if task.set == "train"):
        for baseline in task.baselines:
            grid = POLICIES.get(baseline.name, {}).get("tune", {})
            for values in itertools.product(*grid.values()) if grid else ():
                params = dict(zip(grid, values, strict=True))
                settings = {f"routing.{key}": value for key, value in params.items()}
                policy = Policy(f"{baseline.name} {params}", baseline.routing, settings)
                trials = plan([policy], [task.scenario], task.overrides, task.loads, SEEDS, directory)
                found += [(baseline.name, json.dumps(params), task, trial) for trial in trials]
    results, failures = play([trial for *_, trial in found], COMMAND, suite.id, None, silent=("saturated",))
    if failures:
        raise CommandError("\n".join(failures))
    times: dict[tuple[str, str], list[float]] = {}
    for name, text, task, trial in found:
        at = trial.run.directory
        value = measures(task.kind, row(results[at], at))[SCORED[task.kind][0]]
        times.setdefault((name, text), []).append(np.log(value))
    rows = [
        {"policy": name, "params": params, "mean_ns": round(float(np.exp(np.mean(of))), 1), "runs": len(of),
         "version": __version__} for (name, params), of in times.items()
    ]  # fmt: skip
    write_csv(TUNING, sorted(rows, key=lambda line: (line["policy"], line["mean_ns"])), tuple(rows[0]))
    return TUNING


if __name__ == "__main__":
    argparse.ArgumentParser(prog=COMMAND, description="Tune the baselines of all suites on `quick`.").parse_args()
    sys.exit(run_command(COMMAND, lambda: print(tune(load_suite("quick"), Path("results") / "tuning_of_suites"))))
