"""Many runs over all cores or a cluster: resumable, interruptible, with progress and the time left."""

import functools
import itertools
import multiprocessing
import operator
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ...configs import check_resources, config_hash, explain, has_workload, run_id
from ...configs.assembly import SIMULATION, TABLE, Assembly
from ...configs.routes import route_hash, route_id
from ...simcore import ConfigError, CoreError, __version__, results_version
from ..results.cautions import say_cautions
from ..results.files import finished, read_result
from ..table_quality.one_table import obtain as obtain_table
from ..terminal.progress import SweepProgress
from ..workload.run import bytes_of_jobs, require_finished
from .cores import CORES, share_cores
from .launcher import HERE, Launcher, Pool
from .memory import bytes_of, that_fit
from .one_run import execute
from .parent import end_with

WORKERS = CORES

_REPORT_EVERY_SECONDS = 0.3
_COST_OF_TABLE = 5_000.0  # about that of so many ns of a simulation


@dataclass(frozen=True)
class PlannedRun:
    """A run that a sweep wants: its configuration, and where its result belongs.

    It is a simulation, or a forwarding table where the configuration is one of `flitgym-route`.
    """

    plain: dict[str, Any]  # the resolved configuration; runs share sections that are alike
    directory: Path
    cost: float  # what it will take, in arbitrary units, for the order of the runs and the time left

    @functools.cached_property
    def config(self) -> DictConfig:
        """The configuration, as the process that runs it has it."""
        return OmegaConf.create(self.plain)


class Assemblies:
    """What the configurations of a sweep are put together from, of simulations and of forwarding tables."""

    def __init__(self) -> None:
        self.simulations, self.tables = Assembly(SIMULATION), Assembly(TABLE)


@dataclass(frozen=True)
class _Wanted:
    assembly: Assembly
    words: tuple[str, ...]
    values: Mapping[str, Any]


class RunFailedError(Exception):
    """Runs of a sweep ended with an error; the message names both.

    Args:
        failures: What each said, by the run's directory.
    """

    def __init__(self, failures: Mapping[Path, str]) -> None:
        super().__init__("\n".join(f"{directory.name}: {text}" for directory, text in failures.items()))
        self.failures = dict(failures)


def expand(
    common: Sequence[str],
    blocks: Iterable[Mapping[str, Any]],
    directory: Path,
    assemblies: Assemblies | None = None,
) -> list[PlannedRun]:
    """Every run of a sweep.

    Args:
        common: Hydra overrides of every run.
        blocks: Each with `overrides` (more of them) and `sweep`, a mapping from a key to its values. Each
            combination of values is a run. Keys that change together come in `together`, a list of axes; a value of
            such an axis is a mapping from keys to their values. With `command: route` they are forwarding tables, and
            `common` is not theirs.
        directory: Where the runs' own folders go.
        assemblies: Of several calls, which then read every option but once.

    Raises:
        hydra.errors.HydraException, omegaconf.errors.OmegaConfBaseException: unknown option, key or type.
        ConfigError: the jobs of a workload do not fit the network, or a run may not be given what it asks for.
    """
    made_of = assemblies or Assemblies()
    wanted = [run for block in blocks for run in _wanted(common, block, made_of)]
    for assembly in (made_of.simulations, made_of.tables):
        assembly.expect(run.words for run in wanted if run.assembly is assembly)
    planned = []
    for run in wanted:
        plain = run.assembly.resolved(run.words, run.values)
        if is_table(plain):
            planned.append(PlannedRun(plain, directory / route_id(_root_=plain), _COST_OF_TABLE))
        else:
            check_resources(plain)
            planned.append(PlannedRun(plain, directory / run_id(_root_=plain), _cost(plain)))
    return planned


def _wanted(common: Sequence[str], block: Mapping[str, Any], assemblies: Assemblies) -> Iterator[_Wanted]:
    tables = block.get("command") == "route"
    assembly = assemblies.tables if tables else assemblies.simulations
    first = [*(() if tables else common), *block["overrides"]]
    sweep: Mapping[str, Sequence[Any]] = block["sweep"]
    if not tables:  # by group first
        sweep = {key: sweep[key] for key in sorted(sweep, key=lambda key: key not in assembly.groups)}
    for values, *joint in itertools.product(_product(sweep), *block.get("together", ())):
        chosen = functools.reduce(operator.or_, joint, values)
        groups = (f"{key}={value}" for key, value in chosen.items() if key in assembly.groups)
        own = {key: value for key, value in chosen.items() if key not in assembly.groups}
        yield _Wanted(assembly, (*first, *groups), own)


def run_all(
    runs: Sequence[PlannedRun],
    description: str,
    workers: int | None = None,
    keep_going: bool = False,
    launcher: Launcher = HERE,
) -> list[dict[str, Any]]:
    """Results of all runs, in their order. What is finished already is only read, unless `run.overwrite` is set.

    Args:
        runs: What to run.
        description: Shown beside the progress bar.
        workers: Runs at the same time, each in its own process, so that each row's peak memory is its own; None: one
            per core of this machine, or as many as a cluster has room for. Fewer where memory is short.
        keep_going: Whether the others still run after one has failed.
        launcher: Where they run.

    Raises:
        RunFailedError: a run failed; the others are stopped, or done with `keep_going`, which lists all that failed.
            Finished runs stay and are not run again.
        KeyboardInterrupt: Ctrl-C; the same holds.
        ConfigError, CommandError: there is no such cluster, or no way to it; nothing was run.
    """
    # The same run may be wanted twice: two files of one policy.
    distinct = {run.directory: run for run in runs}.values()
    known = {run.directory: None if _overwrite(run) else _finished(run) for run in distinct}
    todo = [run for run in distinct if known[run.directory] is None]
    elsewhere = sum(result is not None and result["version"] != __version__ for result in known.values())
    # Long runs first, so that the cores finish together.
    todo.sort(key=lambda run: run.cost, reverse=True)
    needs = bytes_of(todo)
    most = workers or WORKERS
    if not launcher.kind:
        most = that_fit(list(needs.values()), most)
    text = f"{description}: {len(runs)} runs, {len(runs) - len(todo)} finished before"
    if elsewhere:
        text += f" ({elsewhere} by another commit, whose recorded results are the same)"
    if workers or not launcher.kind:
        text += f", {most} at a time"
    if todo:
        text += f", up to {max(needs.values()) / 1e9:.2g} GB each"
    if most < (workers or WORKERS):
        text += f" (memory has no room for {workers or WORKERS})"
    print(text, file=sys.stderr, flush=True)
    if todo:
        pool = launcher.pool(workers, todo[0].directory.parent, description, needs)
        if pool is None:
            pool = _Processes(most, len(todo))
        _run_in_pool(todo, description, pool, keep_going)
    results = [result for run in runs if (result := read_result(run.directory)) is not None]
    say_cautions(description, results)
    return results


def collect(runs: Iterable[PlannedRun]) -> dict[Path, dict[str, Any]]:
    """The results of those runs that are finished, by directory."""
    return {run.directory: result for run in runs if (result := _finished(run)) is not None}


class _Processes:
    """A `Pool` of processes of this machine, one per run; progress and errors come back through a pipe each.

    Args:
        workers: At the same time.
        runs: How many there will be.
    """

    def __init__(self, workers: int, runs: int) -> None:
        self._most, self._workers = workers, min(workers, runs)
        # Forked from a server that has imported everything: a start takes milliseconds, and nothing is shared.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["flitgym.experiments.running.sweep"])
        self._active: dict[Connection, tuple[ForkServerProcess, PlannedRun]] = {}

    def __len__(self) -> int:
        return len(self._active)

    @property
    def room(self) -> int:
        return self._most - len(self)

    def start(self, runs: Sequence[PlannedRun]) -> None:
        for run in runs:
            receiver, sender = self._context.Pipe(duplex=False)
            process = self._context.Process(target=_work, args=(run.plain, run.directory, sender, self._workers))
            process.start()
            sender.close()
            self._active[receiver] = (process, run)

    def news(self) -> list[tuple[PlannedRun, float | str]]:
        ready = wait(list(self._active))
        heard: list[tuple[PlannedRun, float | str]] = []
        for receiver, (process, run) in [item for item in self._active.items() if item[0] in ready]:
            try:
                message = receiver.recv()
            except EOFError:
                # The worker's end is closed: it finished, or died without a word (killed, out of memory).
                process.join()
                del self._active[receiver]
                if process.exitcode:
                    heard.append((run, f"its process ended with status {process.exitcode}"))
                message = 1.0
            heard.append((run, message))
        return heard

    def stop(self) -> None:
        for process, _ in self._active.values():
            process.terminate()
        for process, _ in self._active.values():
            process.join()


def _run_in_pool(todo: Sequence[PlannedRun], description: str, pool: Pool, keep_going: bool) -> None:
    waiting = iter(todo)
    parts = dict.fromkeys((run.directory for run in todo), 0.0)
    failures: dict[Path, str] = {}
    with SweepProgress(description, [run.cost for run in todo]) as progress:
        try:
            while True:
                pool.start(list(itertools.islice(waiting, pool.room)))
                if not len(pool):
                    break
                for run, part in pool.news():
                    if isinstance(part, str):
                        # A run that says why before its process ends keeps its first word.
                        failures.setdefault(run.directory, part)
                    else:
                        parts[run.directory] = part
                if failures and not keep_going:
                    break
                progress.update([parts[run.directory] for run in todo])
        finally:
            pool.stop()
    if failures:
        raise RunFailedError(failures)


def _work(plain: dict[str, Any], directory: Path, sender: Connection, workers: int) -> None:
    """Body of a worker process: one run of so many at once; progress as numbers, an error as text."""
    share_cores(workers)
    # Ctrl-C reaches every process of the terminal and terminate() only this one; both end the run cleanly.
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    sweep = multiprocessing.parent_process()
    if sweep is not None and sweep.pid is not None:
        end_with(sweep.pid)
    try:
        run_planned(OmegaConf.create(plain), directory, sender.send)
    except BrokenPipeError:
        # Nobody listens any more: the sweep's own process was killed.
        os._exit(1)
    except (ConfigError, CoreError, OSError) as error:
        if interrupted:
            os._exit(130)
        sender.send(explain(error))
        sys.exit(1)
    except BaseException:
        # A library that is interrupted in its middle may turn that into an error of its own.
        if interrupted:
            os._exit(130)
        raise
    finally:
        sender.close()


def run_planned(config: DictConfig, directory: Path, tell: Callable[[float], object]) -> None:
    """Run what was planned, in this process.

    Args:
        config: Of a simulation or a forwarding table.
        directory: For the result.
        tell: Called now and then with the part that is done.

    Raises:
        ConfigError, CoreError, OSError: as `execute`, and where jobs were not done.
    """
    last = time.monotonic()

    def report(phase: str, part: float) -> None:
        nonlocal last
        if time.monotonic() - last > _REPORT_EVERY_SECONDS:
            last = time.monotonic()
            tell(min(part, 0.999))

    if is_table(config):
        obtain_table(config, directory, report, keep_refusals=True)
    else:
        require_finished(execute(config, directory, report))


def is_table(config: Mapping[Any, Any]) -> bool:
    """Whether a configuration is one of `flitgym-route`."""
    return "engine" in config


def _overwrite(run: PlannedRun) -> bool:
    return bool((run.plain if is_table(run.plain) else run.plain["run"])["overwrite"])


def _finished(run: PlannedRun) -> dict[str, Any] | None:
    if is_table(run.plain):
        return finished(run.directory, route_hash(run.plain), __version__)
    return finished(run.directory, config_hash(run.plain), __version__, results_version)


def _cost(config: Mapping[str, Any]) -> float:
    # Work follows what moves: the bytes of the jobs; or flits, in proportion to load and time, and a little per cycle.
    if has_workload(config):
        return float(1 + sum(bytes_of_jobs(config)))
    run = config["run"]
    return float((run["warmup_ns"] + run["measure_ns"]) * (0.1 + config["traffic"]["load"]))


def _product(axes: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))
