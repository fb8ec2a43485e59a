"""The saturation loads of the tasks above saturation: the command searches for them, and records them beside the suite.

    python -m flitgym.experiments.benchmarks.saturation quick 'torus_64/*'

The searches equal those of `flitgym saturate` with the network, the pattern and the first seed of a task, and with the
windows of `run=auto`. They cover the baselines that do not learn, since the others need long warm-ups or a neural
network. Without names of tasks, the command searches for all tasks above saturation. The file keeps the records of the
other tasks.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...configs.warmup import learns
from ...simcore import __version__
from ..evaluation.plan import Trial, plan, play
from ..results.files import read_with_care
from ..saturation.study import search_of
from ..terminal.commandline import CommandError, run_command
from ..terminal.tables import write_csv
from .records import lines_of
from .suite import Suite, Task, chosen, load_suite

COMMAND = "python -m flitgym.experiments.benchmarks.saturation"
SETTINGS: Mapping[str, float] = {"precision": 0.02, "confidence": 0.95, "max_ns": 200_000.0}


class Carried(NamedTuple):
    """The result of a search: the highest carried load of a baseline in a task, and the lowest refused one."""

    task: str  # id with the version
    policy: str
    seed: int
    saturation_load: float
    refused_load: float
    version: str  # of the core


def file_of(suite: Suite) -> Path:
    """The file of the records, which need not exist."""
    return suite.path.with_name(f"{suite.path.stem}_saturation.csv")


def read_carried(suite: Suite) -> list[Carried]:
    """The records of a suite; an empty list without a file.

    Raises:
        DamagedError: the file cannot be read.
    """
    path = file_of(suite)
    with read_with_care(path):
        kinds = Carried.__annotations__.items()
        return [Carried(**{key: kind(line[key]) for key, kind in kinds}) for line in lines_of(path, Carried._fields)]


def searches(suite: Suite, directory: Path) -> list[tuple[Task, Trial]]:
    """The searches of every task above saturation; tasks that differ only in their load share them."""
    found = []
    for task in (task for task in suite.tasks if task.kind == "above"):
        common = ["run=auto", *(word for word in task.overrides if not word.startswith("run."))]
        for trial in plan(task.baselines, [task.scenario], common, [1.0], suite.seeds[:1], directory):
            if trial.run.plain["routing"]["name"] != "policy" and not learns(trial.run.plain):
                found.append((task, search_of(trial, task.network, SETTINGS)))
    return found


def record(suite: Suite, words: Sequence[str] | None, directory: Path) -> Path:
    """Search what is missing for the tasks of `chosen`, in folders below `directory`, and write the records.

    Raises:
        CommandError: a search failed.
    """
    planned = searches(chosen(suite, words), directory)
    results, failures = play([search for _, search in planned], COMMAND, suite.id, None)
    if failures:
        raise CommandError("\n".join(failures))
    kept = {(one.task, one.policy): one for one in read_carried(suite)}
    for task, search in planned:
        result, policy = results[search.run.directory], search.policy.name
        loads = (result["saturation_load"], result["refused_load"])
        kept[task.id, policy] = Carried(task.id, policy, suite.seeds[0], *loads, __version__)
    rows = [one._asdict() for task in suite.tasks for one in kept.values() if one.task == task.id]
    write_csv(file_of(suite), rows, Carried._fields)
    return file_of(suite)


def main() -> None:
    """Entry point of the command."""
    suite, *tasks = sys.argv[1:] or [""]
    directory = Path("results") / "saturation_of_suites"
    sys.exit(run_command(COMMAND, lambda: print(record(load_suite(suite), tasks or None, directory))))


if __name__ == "__main__":
    main()
