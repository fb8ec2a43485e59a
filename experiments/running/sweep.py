"""The engine of every sweep: `-m`, figures, studies, evaluations, benchmarks and trainings.

A sweep receives the plan of all runs and skips the finished ones before it starts a worker. It submits the rest to an
executor with the interface of `concurrent.futures`: warm processes of this machine, jobs of Slurm, or tasks of Ray.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from ...configs import explain
from ...simcore import ConfigError, CoreError, __version__
from ...simcore._cores import CORES
from ..results.cautions import say_cautions
from ..results.files import DamagedError, require_writable
from ..terminal.commandline import EXIT_RUN_FAILED, CommandError
from ..terminal.progress import SweepProgress
from .executor import Executor, WorkerDiedError
from .launcher import HERE, Launcher, warm
from .memory import most_at_once, needs_of
from .plan import Kind, PlannedRun

_LOOK_SECONDS = 0.25
_REPORT_EVERY_SECONDS = 0.3
_LISTED = 40  # largest sweep whose finished runs are listed; a larger sweep only counts them

# Receives each run with its result, and whether the run took place in this call.
Done = Callable[[PlannedRun, Mapping[str, Any], bool], object]


class RunFailedError(CommandError):
    """Runs of a sweep ended with an error. The message names the runs and their errors by directory."""

    def __init__(self, failures: Mapping[Path, Exception]) -> None:
        self.errors = dict(failures)
        self.failures = {directory: explain(error) for directory, error in failures.items()}
        super().__init__("\n".join(f"{directory.name}: {text}" for directory, text in self.failures.items()))
        if not all(isinstance(error, ConfigError) for error in failures.values()):
            self.status = EXIT_RUN_FAILED

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errors,)


def run_all(
    runs: Sequence[PlannedRun],
    description: str,
    workers: int | None = None,
    keep_going: bool = False,
    launcher: Launcher = HERE,
    done: Done = lambda run, result, now: None,
    check: bool = False,
    silent: Collection[str] = (),
) -> list[dict[str, Any]]:
    """The results of all runs, in the order of the plan. A finished run is read and not repeated, unless `overwrite`.

    Args:
        runs: The plan.
        description: The label of the progress bar.
        workers: Number of parallel runs; None: one per core of this machine, or as many as the cluster takes. Fewer
            runs are parallel if memory is short.
        keep_going: Whether to continue after a failure.
        launcher: Gives the executor of the runs.
        done: Called with each result in the order in which runs end. A large sweep does not call it for runs that were
            finished before.
        check: Whether to build every kind of network before the first run, so that a run that cannot start stops the
            sweep immediately.
        silent: Kinds of warnings that are expected in these runs, as in `say_cautions`.

    Raises:
        RunFailedError: a run failed. Without `keep_going`, the other runs are stopped. Finished runs are kept.
        KeyboardInterrupt: Ctrl-C. Finished runs are kept.
        ConfigError, CommandError: the cluster cannot be reached, or a run cannot start and `check` is set. Nothing ran.
    """
    # Two names may stand for the same policy. Their runs are then the same.
    distinct = {run.directory: run for run in runs}.values()
    known = {run.directory: None if run.plain.get("run", run.plain)["overwrite"] else finished(run) for run in distinct}
    todo = [run for run in distinct if known[run.directory] is None]
    needs, terminals = needs_of(todo, check)
    workers = workers or launcher.workers
    most = workers or CORES
    if not launcher.kind:
        most = most_at_once(list(needs.values()), min(most, len(distinct)))
    elsewhere = sum(result is not None and result.get("version") != __version__ for result in known.values())
    text = f"{description}: {len(runs)} runs, {len(known) - len(todo)} finished before"
    text += f" ({elsewhere} by another version whose results are identical)" * bool(elsewhere)
    if todo and (workers or not launcher.kind):
        text += f", {most} at a time"
    if largest := max(needs.values(), default=0):
        text += f", up to {largest / 1e9:.2g} GB each"
    if not launcher.kind and most < min(workers or CORES, len(distinct)):
        text += f" (memory is too small for {workers or CORES})"
    print(text, file=sys.stderr, flush=True)
    for run in distinct if len(runs) <= _LISTED else ():
        if (result := known[run.directory]) is not None:
            done(run, result, False)
    failures: dict[Path, Exception] = {}
    if todo:
        require_writable(todo[0].directory.parent)
        # Long runs first, so that all cores finish at about the same time.
        todo.sort(key=lambda run: run.cost * terminals[run.directory], reverse=True)
        progress = SweepProgress(description, [run.cost * terminals[run.directory] for run in todo])
        with launcher.executor(most, workers, todo[0].directory.parent, description) as executor:
            failures = _run(todo, executor, progress, keep_going, needs, done)
            if failures and not keep_going:
                raise RunFailedError(failures)
    results = [result for run in runs if (result := run.kind.read(run.directory)) is not None]
    say_cautions(description, results, silent)
    if failures:
        raise RunFailedError(failures)
    return results


def prepare(launcher: Launcher, runs: int) -> None:
    """Start the processes of this machine for a number of runs. They import while the command plans."""
    if not launcher.kind:
        with warm(min(launcher.workers or CORES, runs)) as executor:
            for _ in range(executor.most):
                executor.submit(_ready)


def _ready(report: object) -> None:
    """The first call of a process, which imports this module."""


def collect(runs: Iterable[PlannedRun]) -> dict[Path, dict[str, Any]]:
    """The results of the finished runs, by directory."""
    return {run.directory: result for run in runs if (result := finished(run)) is not None}


def finished(run: PlannedRun) -> dict[str, Any] | None:
    """The result of a run, if it is finished."""
    return run.kind.finished(run.plain, run.directory)


def do(
    kind: Kind, plain: dict[str, Any], directory: str, words: Sequence[str], send: Callable[[float], object]
) -> None:
    """Execute a run in a worker, and send its finished fraction (0..1) at intervals."""
    last = time.monotonic()

    def report(phase: str, part: float) -> None:
        nonlocal last
        if (now := time.monotonic()) - last > _REPORT_EVERY_SECONDS:
            last = now
            send(min(part, 0.999))

    kind.do(plain, Path(directory), report, words)


def _run(
    todo: Sequence[PlannedRun],
    executor: Executor,
    progress: SweepProgress,
    keep_going: bool,
    needs: Mapping[Path, float],
    done: Done,
) -> dict[Path, Exception]:
    """Execute the runs; returns the errors by directory. Without `keep_going`, the first error ends it."""
    waiting = deque(enumerate(todo))
    active: dict[Future[None], int] = {}
    tries = dict.fromkeys(range(len(todo)), executor.tries)
    failures: dict[Path, Exception] = {}
    ended = set[int]()
    with progress:
        while waiting or active:
            if waiting and len(active) < executor.most:
                with executor.batch():
                    while waiting and len(active) < executor.most:
                        k, run = waiting.popleft()
                        call = (run.kind, run.plain, str(run.directory), run.words)
                        active[executor.submit(do, *call, memory=needs[run.directory])] = k
            over, _ = wait(active, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in over:
                k = active.pop(future)
                error = future.exception()
                tries[k] -= 1
                if error is None:
                    ended.add(k)
                    if (result := todo[k].kind.read(todo[k].directory)) is not None:
                        done(todo[k], result, True)
                elif isinstance(error, WorkerDiedError) and tries[k]:
                    progress.say(f"{todo[k].directory.name}: {error}; the run starts again")
                    waiting.append((k, todo[k]))
                elif isinstance(error, (ConfigError, CoreError, DamagedError, OSError, WorkerDiedError)):
                    failures[todo[k].directory] = error
                    ended.add(k)
                else:
                    raise error
            if failures and not keep_going:
                break
            progress.update(
                ended, {active[future]: part for future, part in executor.parts().items() if future in active}
            )
    return failures
