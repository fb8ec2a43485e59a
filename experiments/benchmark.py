"""`flitgym benchmark suite=<name> routing=<list>`: policies on a suite of versioned tasks, scored against baselines.

A suite is a plan of runs (`benchmarks/suites/*.yaml`) with recorded results of its baselines. Runs are executed,
reported and resumed as in `flitgym evaluate`.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import MISSING, OmegaConf
from yaml import YAMLError

from ..configs import config_hash, unknown
from ..simcore import ConfigError, __version__
from ..simcore._files import atomic_path
from .benchmarks.measures import Measures, check_windows, measures
from .benchmarks.records import Record, merged, read_records, sources_of, write_records
from .benchmarks.scoring import Bootstrap, Cell, Summary, cells_of, summarise
from .benchmarks.suite import Suite, Task, available, chosen, load_suite
from .benchmarks.text import About, markdown, print_tables, write_numbers
from .evaluation.plan import Policy, Trial, plan, policies_of
from .evaluation.play import play
from .evaluation.study import as_list, check_numbers, conclude, require_results
from .results.files import require_writable
from .results.rows import ROWS_FILE, row, write_rows
from .running.launcher import HERE, Launcher, launcher_of
from .running.sweep import WORKERS, Composers
from .terminal.commandline import CommandError, run_command
from .terminal.tables import console

NAME = "benchmark"  # of the files
COMMAND = "flitgym benchmark"
_BASELINES = ("recorded", "run")
_WIDTH_OF_FILES = 150  # columns of tables that do not go to a terminal
_LISTED = 3  # items that a note names


@dataclass
class Options:
    """The keys of the command; `_usage` explains them."""

    suite: str = MISSING
    routing: list[Any] = field(default_factory=list)
    tasks: list[str] | None = None
    baselines: str = "recorded"
    record: str | None = None
    results: str = "results"
    workers: int | None = None
    confidence: float = 0.95
    resamples: int = 2000


@dataclass(frozen=True)
class Play:
    """A run of a task by a requested policy or by a baseline."""

    task: Task
    trial: Trial
    asked: bool

    @property
    def key(self) -> tuple[str, str, int]:
        """The key of its record."""
        return self.task.id, self.trial.policy.name, self.trial.run.plain["seed"]


def benchmark(options: Options, command: str, launcher: Launcher = HERE) -> None:
    """Run what is missing, print the scores, and write tables, figure and rows into `<results>/benchmark_<suite>/`.

    Args:
        options: The options of the command.
        command: The command line, for `benchmark.md`.
        launcher: Runs the simulations.

    Raises:
        ConfigError, CommandError: the options name something that does not exist, and nothing ran; or every run was
            refused or failed.
        CoreError: some runs failed. The files hold the others.
        DamagedError: the file of recorded results is damaged.
        OSError: a file cannot be read or written.
    """
    whole, policies = _asked(options)
    suite = chosen(whole, options.tasks)
    recorded = read_records(whole.results)
    if options.record:
        read_records(Path(options.record))  # an existing file must hold records
    directory = Path(options.results) / f"benchmark_{suite.name}"
    plays = _plan(suite, policies, directory)
    notes, kept = _checked(recorded, plays, suite, options)
    wanted = [p for p in plays if p.asked or options.baselines == "run"]
    if not wanted and not kept:
        stale = any(r.suite == suite.id and r.task in {task.id for task in suite.tasks} for r in recorded)
        why = (
            f"the results recorded for these tasks of {suite.id} are stale, because their configurations have changed"
            if stale
            else f"nothing is recorded for {suite.id}"
        )
        raise CommandError(f"{why}; give routing=..., or baselines=run to measure the baselines")
    require_writable(directory)
    for note in notes:
        print(f"{COMMAND}: {note}", file=sys.stderr, flush=True)

    results: dict[Path, dict[str, Any]] = {}
    failures: list[str] = []
    if wanted:
        results, failures = play([p.trial for p in wanted], COMMAND, suite.id, options.workers, launcher, ["saturated"])
        require_results(results, failures)
    done = [p for p in wanted if p.trial.run.directory in results]
    rows = {p.key: row(results[p.trial.run.directory], p.trial.run.directory) for p in done}
    own = {p.key: measures(p.task.kind, rows[p.key]) for p in done}

    states = {r.key[1:]: r.state_hash for r in kept} | {key: str(one["state_hash"]) for key, one in rows.items()}
    cells, summaries = _scored(suite, policies, options, plays, kept, own, states)
    tasks, all_tasks = len(suite.tasks), len(whole.tasks)
    about = About(
        suite.id, suite.about, command, __version__, tasks, all_tasks, len(suite.seeds), options.confidence, notes,
        sum(cell.copies for cell in cells),
    )  # fmt: skip
    written = _write(cells, summaries, about, failures, directory)
    if rows:
        labels = {
            p.key: {**p.trial.labels, "task": p.task.id, "set": p.task.set, "task_kind": p.task.kind} for p in done
        }
        write_rows(directory / ROWS_FILE, [rows[key] | labels[key] for key in rows], "labelled")
        written.append(directory / ROWS_FILE)
    if options.record:
        write_records(Path(options.record), _recorded(whole, Path(options.record), done, results, own))
        written.append(Path(options.record))
    print_tables(console(_WIDTH_OF_FILES), summaries, about)
    conclude(written, failures)


def standing_of(suite: Suite, bootstrap: Bootstrap) -> list[Summary]:
    """The summaries of a suite's recorded results, without a run: the tables of `docs/benchmarks`."""
    kept = [record for record in read_records(suite.results) if record.suite == suite.id]
    records = {r.key[1:]: r.measures for r in kept}
    states = {r.key[1:]: r.state_hash for r in kept}
    names = dict.fromkeys((name for _, name, _ in records), True)
    references = {task.id: place.reference for place in suite.places for task in place.tasks.values()}
    cells = cells_of(suite.tasks, records, list(names), references, records, suite.seeds, states)
    return summarise(cells, suite.tasks, names, bootstrap)


def _asked(options: Options) -> tuple[Suite, list[Policy]]:
    suite = load_suite(options.suite)
    if options.baselines not in _BASELINES:
        raise CommandError(unknown("baselines", options.baselines, _BASELINES, "word"))
    check_numbers(options.confidence, resamples=options.resamples, workers=options.workers)
    policies = policies_of(options.routing)
    # The scale uses the recorded results of a name, so a name must mean the same policy everywhere.
    for policy in policies:
        for baseline in (b for place in suite.places for b in place.baselines):
            if baseline.name == policy.name and baseline != policy:
                raise CommandError(
                    f"routing: '{policy.name}' is a baseline of {suite.id} with other parameters; give your policy "
                    f"another name: {{name: ..., routing: {policy.routing}, ...}}"
                )
    return suite, policies


def _plan(suite: Suite, policies: Sequence[Policy], directory: Path) -> list[Play]:
    """Every run of the policies and of the baselines. A baseline that is also a requested policy runs once."""
    plays = []
    composers = Composers()
    for place in suite.places:
        loads = [load for load in place.tasks if load is not None]
        others = [baseline for baseline in place.baselines if baseline not in policies]
        trials = plan([*policies, *others], [place.scenario], place.overrides, loads, suite.seeds, directory, composers)
        for trial in trials:
            load = None if place.scenario.kind == "workload" else trial.run.plain["traffic"]["load"]
            task = place.tasks[load]
            try:
                check_windows(task.kind, trial.run.plain)
            except ConfigError as error:
                raise ConfigError(f"{suite.path}: {task.id}: {error}") from None
            plays.append(Play(task, trial, trial.policy in policies))
    return plays


def _checked(
    recorded: Sequence[Record], plays: Sequence[Play], suite: Suite, options: Options
) -> tuple[list[str], list[Record]]:
    """Notes about the recorded results, and the records that fit the tasks and baselines of this suite."""
    if options.baselines == "run":
        return [], []
    again = "baselines=run measures them again"
    hashes = {p.key: config_hash(p.trial.run.plain) for p in plays}
    tasks = {task.id for task in suite.tasks}
    kept: list[Record] = []
    stale: list[Record] = []
    of_suite = [r for r in recorded if r.suite == suite.id]
    for record in (r for r in of_suite if r.task in tasks and r.seed in suite.seeds):
        # The hash is unknown if the policy is not a baseline here. Then the task's version has to match.
        expected = hashes.get((record.task, record.policy, record.seed))
        (kept if expected in (None, record.config_hash) else stale).append(record)
    notes = []
    if len(of_suite) < len(recorded):
        which = list(dict.fromkeys(r.suite for r in recorded if r.suite != suite.id))
        notes.append(
            f"{len(recorded) - len(of_suite)} recorded results are of another suite than {suite.id} and left out "
            f"({_some(which)}); {again}"
        )
    if stale:
        which = list(dict.fromkeys(f"{r.policy} in {r.task}" for r in stale))
        notes.append(
            f"{len(stale)} recorded results are stale, because the configurations of these tasks have changed, and "
            f"are left out ({_some(which)}); {again}"
        )
    there = {(r.task, r.policy, r.seed) for r in kept}
    absent = [f"{p.trial.policy.name} in {p.task.id}" for p in plays if not p.asked and p.key not in there]
    absent = [which for which in dict.fromkeys(absent) if which not in {f"{r.policy} in {r.task}" for r in stale}]
    if absent:
        notes.append(f"no results are recorded for {len(absent)} baselines ({_some(absent)}); {again}")
    others = list(dict.fromkeys(r.version for r in kept if sources_of(r.version) != sources_of(__version__)))
    if others:
        notes.append(
            f"recorded results are of another core ({_some(others)}) than this one ({__version__}), so the numbers may "
            f"differ; {again}"
        )
    return notes, kept


def _scored(
    suite: Suite,
    policies: Sequence[Policy],
    options: Options,
    plays: Sequence[Play],
    kept: Sequence[Record],
    own: Mapping[tuple[str, str, int], Measures],
    states: Mapping[tuple[str, str, int], str],
) -> tuple[list[Cell], list[Summary]]:
    asked = [policy.name for policy in policies]
    of_baselines = {p.key for p in plays if p.trial.policy.name in {b.name for s in suite.places for b in s.baselines}}
    known: dict[tuple[str, str, int], Mapping[str, float]] = {(r.task, r.policy, r.seed): r.measures for r in kept}
    if options.baselines == "run":
        known = {key: numbers for key, numbers in own.items() if key in of_baselines}
    # Results of this call replace recorded ones in the tables.
    shown = {**known, **own}
    names = dict.fromkeys(asked, False) | {
        name: options.baselines != "run" for _, name, _ in shown if name not in asked
    }
    references = {task.id: place.reference for place in suite.places for task in place.tasks.values()}
    bootstrap = Bootstrap(options.confidence, options.resamples)
    cells = cells_of(suite.tasks, shown, list(names), references, known, suite.seeds, states)
    return cells, summarise(cells, suite.tasks, names, bootstrap)


def _write(
    cells: Sequence[Cell],
    summaries: Sequence[Summary],
    about: About,
    failures: Sequence[str],
    directory: Path,
) -> list[Path]:
    from .benchmarks.figure import draw  # with Matplotlib, which takes long to import
    from .plotting.drawing import save_figure

    table, text = directory / f"{NAME}.csv", directory / f"{NAME}.md"
    write_numbers(table, cells, summaries, about.confidence)
    images = save_figure(draw(cells, summaries, about.confidence), directory / NAME, salt=NAME)
    with atomic_path(text) as temporary:
        temporary.write_text(markdown(cells, summaries, about, images[0].name, failures))
    return [table, text, *images]


def _recorded(
    suite: Suite,
    path: Path,
    done: Sequence[Play],
    results: Mapping[Path, Mapping[str, Any]],
    own: Mapping[tuple[str, str, int], Measures],
) -> list[Record]:
    """The records of a file after these runs: their results replace older ones, and all other records stay."""
    new = []
    for p in done:
        result = results[p.trial.run.directory]
        about = (result["config_hash"], result["version"], str(result["state_hash"]))
        new.append(Record(suite.id, *p.key, *about, own[p.key]))
    order = {(suite.id, task.id): k for k, task in enumerate(suite.tasks)}

    def place(record: Record) -> tuple[int, str, int]:
        known = order.get((record.suite, record.task))
        return (len(order), "", 0) if known is None else (known, record.policy, record.seed)

    # Records of other suites follow in their previous order.
    return sorted(merged(read_records(path), new), key=place)


def _some(items: Sequence[str]) -> str:
    more = len(items) - _LISTED
    return ", ".join(items[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _usage() -> str:
    lines = [
        f"usage: {COMMAND} suite=<name> [routing=<list>] [<key>=<value> ...]",
        "",
        "Runs policies on a suite of tasks and scores them: 0 is the reference of a task, 1 the best known policy.",
        "Without routing= it shows the recorded results of the baselines and runs nothing.",
        "",
        "suites:",
    ]
    for name in available():
        suite = load_suite(name)
        lines.append(f"  {suite.id}: {len(suite.tasks)} tasks, {len(suite.seeds)} seeds. {suite.about}")
    lines += [
        "  or a file of your own, *.yaml",
        "",
        "keys:",
        "  suite=quick, suite=quick-v1   with a version: another version is refused",
        "  routing=ugal,mine/policy.safetensors   or [{name: eager,routing: par,params: {threshold: 0.5}}]",
        "  tasks=['dragonfly_72/*']      some of the tasks; default: all",
        "  baselines=recorded            or run: measure them again",
        "  record=<file>.csv             add the results to a file of recorded results",
        "  results=results               runs and tables go to <results>/benchmark_<suite>/",
        f"  workers={WORKERS}                     number of parallel runs",
        "  confidence=0.95 resamples=2000  of the intervals",
        "  hydra/launcher=ray hydra.launcher.address=host:port, hydra/launcher=submitit_slurm   on a cluster",
    ]
    return "\n".join(lines)


def _options(words: Sequence[str]) -> Options:
    """The options of a command line.

    Raises:
        CommandError: a word cannot be read, or the suite is missing.
        omegaconf.errors.OmegaConfBaseException: a key does not exist, or a value has the wrong type.
    """
    given = OmegaConf.create()
    for word in (as_list(word, {"routing": "routing", "tasks": "tasks"}) for word in words):
        if "=" not in word:
            raise CommandError(f"'{word}' is not of the form key=value")
        try:
            given.merge_with(OmegaConf.from_cli([word]))
        except YAMLError:
            raise CommandError(
                f"{word}: cannot be read; put names with * in quotes: \"tasks=['*/uniform/*']\""
            ) from None
    options: Any = OmegaConf.merge(OmegaConf.structured(Options), given)
    if OmegaConf.is_missing(options, "suite"):
        raise CommandError(f"name a suite: suite={'|'.join(available())}")
    whole: Options = OmegaConf.to_object(options)  # type: ignore[assignment]
    return whole


def main() -> None:
    """Entry point of the command."""
    words = sys.argv[1:]
    if not words or {"-h", "--help"} & set(words):
        print(_usage())
        return

    def command() -> None:
        launcher, own = launcher_of(words)
        benchmark(_options(own), f"{COMMAND} {shlex.join(words)}", launcher)

    sys.exit(run_command(COMMAND, command))
