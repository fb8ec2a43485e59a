"""`flitgym-benchmark suite=<name> policies=[...]`: policies on a suite of versioned tasks, scored beside the baselines.

A suite is a plan of runs (`benchmarks/suites/*.yaml`) and the results recorded of its baselines; the runs, their
progress and their resumption are those of `flitgym-evaluate`.
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
from .evaluation.study import check_numbers, conclude, require_results
from .results.files import require_writable
from .results.rows import ROWS_FILE, row, write_rows
from .running.launcher import HERE, Launcher, launcher_of
from .running.sweep import WORKERS, Composers
from .terminal.commandline import CommandError, run_command
from .terminal.tables import console

NAME = "benchmark"  # of the files written
COMMAND = "flitgym-benchmark"
_BASELINES = ("recorded", "run")
_WIDTH_OF_FILES = 150  # columns, where the output is no terminal
_LISTED = 3  # of the same notes


@dataclass
class Options:
    """What the command takes, as `key=value`; `_usage` explains it."""

    suite: str = MISSING
    policies: list[Any] = field(default_factory=list)
    tasks: list[str] | None = None
    baselines: str = "recorded"
    record: str | None = None
    results: str = "results"
    workers: int | None = None
    confidence: float = 0.95
    resamples: int = 2000


@dataclass(frozen=True)
class Play:
    """A run of a task, by a policy that was asked for or by a baseline."""

    task: Task
    trial: Trial
    asked: bool

    @property
    def key(self) -> tuple[str, str, int]:
        """As records are found."""
        return self.task.id, self.trial.policy.name, self.trial.run.plain["seed"]


def benchmark(options: Options, command: str, launcher: Launcher = HERE) -> None:
    """Run what is missing, print the scores, and write tables, figure and rows into `<results>/benchmark_<suite>/`.

    Args:
        options: The options of the command.
        command: What the user typed, for `benchmark.md`.
        launcher: Where it runs.

    Raises:
        ConfigError, CommandError: something that does not exist was asked for; nothing was run. Or no run can be made.
        CoreError: some runs failed; the others ended, and what they gave was written.
        DamagedError: the recorded results are not what was written.
        OSError: a file cannot be read or written.
    """
    whole, policies = _asked(options)
    suite = chosen(whole, options.tasks)
    recorded = read_records(whole.results)
    if options.record:
        read_records(Path(options.record))  # what is there already must be a file of records
    directory = Path(options.results) / f"benchmark_{suite.name}"
    plays = _plan(suite, policies, directory)
    notes, kept = _checked(recorded, plays, suite, options)
    wanted = [p for p in plays if p.asked or options.baselines == "run"]
    if not wanted and not kept:
        raise CommandError(f"of {suite.id} nothing is recorded; give policies=[...], or baselines=run to measure them")
    require_writable(directory)
    for note in notes:
        print(f"{COMMAND}: {note}", file=sys.stderr, flush=True)

    results: dict[Path, dict[str, Any]] = {}
    failures: list[str] = []
    if wanted:
        results, failures = play([p.trial for p in wanted], COMMAND, suite.id, options.workers, launcher)
        require_results(results, failures)
    done = [p for p in wanted if p.trial.run.directory in results]
    rows = {p.key: row(results[p.trial.run.directory], p.trial.run.directory) for p in done}
    own = {p.key: measures(p.task.kind, rows[p.key]) for p in done}

    cells, summaries, bootstrap = _scored(suite, policies, options, plays, kept, own)
    tasks, all_tasks = len(suite.tasks), len(whole.tasks)
    about = About(
        suite.id, suite.about, command, __version__, tasks, all_tasks, len(suite.seeds), options.confidence, notes
    )
    written = _write(cells, summaries, about, bootstrap, failures, directory)
    if rows:
        labels = {p.key: {**p.trial.labels, "task": p.task.id, "set": p.task.set, "kind": p.task.kind} for p in done}
        write_rows(directory / ROWS_FILE, [rows[key] | labels[key] for key in rows], "labelled")
        written.append(directory / ROWS_FILE)
    if options.record:
        write_records(Path(options.record), _recorded(whole, Path(options.record), done, results, own))
        written.append(Path(options.record))
    print_tables(console(_WIDTH_OF_FILES), summaries, about)
    conclude(written, failures)


def standing_of(suite: Suite, bootstrap: Bootstrap) -> list[Summary]:
    """The summaries of what is recorded beside a suite, without a run: the table of `docs/benchmark.md`."""
    records = {(r.task, r.policy, r.seed): r.measures for r in read_records(suite.results) if r.suite == suite.id}
    names = dict.fromkeys((name for _, name, _ in records), True)
    references = {task.id: place.reference for place in suite.places for task in place.tasks.values()}
    cells = cells_of(suite.tasks, records, list(names), references, records, suite.seeds)
    return summarise(cells, suite.tasks, names, bootstrap)


def _asked(options: Options) -> tuple[Suite, list[Policy]]:
    suite = load_suite(options.suite)
    if options.baselines not in _BASELINES:
        raise CommandError(unknown("baselines", options.baselines, _BASELINES, "word"))
    check_numbers(options.confidence, resamples=options.resamples, workers=options.workers)
    policies = policies_of(options.policies)
    # A name stands for one policy: the scale is made of those that are recorded under it.
    for policy in policies:
        for baseline in (b for place in suite.places for b in place.baselines):
            if baseline.name == policy.name and baseline != policy:
                raise CommandError(
                    f"policies: '{policy.name}' is a baseline of {suite.id} with other parameters; give yours another "
                    f"name: {{name: ..., routing: {policy.routing}, ...}}"
                )
    return suite, policies


def _plan(suite: Suite, policies: Sequence[Policy], directory: Path) -> list[Play]:
    """Every run of the policies and of the baselines; what is the same run twice is there once, as asked for."""
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
    """What is to be known of the recorded results, and those that are of the tasks and baselines as they are here."""
    if options.baselines == "run":
        return [], []
    anew = "baselines=run measures them anew"
    hashes = {p.key: config_hash(p.trial.run.plain) for p in plays}
    tasks = {task.id for task in suite.tasks}
    kept: list[Record] = []
    stale: list[Record] = []
    of_suite = [r for r in recorded if r.suite == suite.id]
    for record in (r for r in of_suite if r.task in tasks and r.seed in suite.seeds):
        # Of a policy that is no baseline here, whose file may be elsewhere, the task's version must do.
        expected = hashes.get((record.task, record.policy, record.seed))
        (kept if expected in (None, record.config_hash) else stale).append(record)
    notes = []
    if len(of_suite) < len(recorded):
        which = list(dict.fromkeys(r.suite for r in recorded if r.suite != suite.id))
        notes.append(
            f"{len(recorded) - len(of_suite)} recorded results are of another suite than {suite.id} and left out "
            f"({_some(which)}); {anew}"
        )
    if stale:
        which = list(dict.fromkeys(f"{r.policy} in {r.task}" for r in stale))
        notes.append(
            f"{len(stale)} recorded results are stale, of other configurations than these tasks have here, and left "
            f"out ({_some(which)}); {anew}"
        )
    there = {(r.task, r.policy, r.seed) for r in kept}
    absent = [f"{p.trial.policy.name} in {p.task.id}" for p in plays if not p.asked and p.key not in there]
    absent = [which for which in dict.fromkeys(absent) if which not in {f"{r.policy} in {r.task}" for r in stale}]
    if absent:
        notes.append(f"of {len(absent)} baselines no results are recorded ({_some(absent)}); {anew}")
    others = list(dict.fromkeys(r.version for r in kept if sources_of(r.version) != sources_of(__version__)))
    if others:
        notes.append(
            f"recorded results are of another core ({_some(others)}) than this one ({__version__}), whose numbers may "
            f"differ; {anew}"
        )
    return notes, kept


def _scored(
    suite: Suite,
    policies: Sequence[Policy],
    options: Options,
    plays: Sequence[Play],
    kept: Sequence[Record],
    own: Mapping[tuple[str, str, int], Measures],
) -> tuple[list[Cell], list[Summary], Bootstrap]:
    asked = [policy.name for policy in policies]
    of_baselines = {p.key for p in plays if p.trial.policy.name in {b.name for s in suite.places for b in s.baselines}}
    known: dict[tuple[str, str, int], Mapping[str, float]] = {(r.task, r.policy, r.seed): r.measures for r in kept}
    if options.baselines == "run":
        known = {key: numbers for key, numbers in own.items() if key in of_baselines}
    # What was run now is shown; on what is only recorded it has a say.
    shown = {**known, **own}
    names = dict.fromkeys(asked, False) | {
        name: options.baselines != "run" for _, name, _ in shown if name not in asked
    }
    references = {task.id: place.reference for place in suite.places for task in place.tasks.values()}
    bootstrap = Bootstrap(options.confidence, options.resamples)
    cells = cells_of(suite.tasks, shown, list(names), references, known, suite.seeds)
    return cells, summarise(cells, suite.tasks, names, bootstrap), bootstrap


def _write(
    cells: Sequence[Cell],
    summaries: Sequence[Summary],
    about: About,
    bootstrap: Bootstrap,
    failures: Sequence[str],
    directory: Path,
) -> list[Path]:
    from .benchmarks.figure import draw  # with Matplotlib, which takes long to import
    from .plotting.drawing import save_figure

    table, text = directory / f"{NAME}.csv", directory / f"{NAME}.md"
    write_numbers(table, cells, summaries, bootstrap)
    images = save_figure(draw(cells, summaries, about.confidence), directory / NAME, salt=NAME)
    with atomic_path(text) as temporary:
        temporary.write_text(markdown(cells, summaries, about, bootstrap, images[0].name, failures))
    return [table, text, *images]


def _recorded(
    suite: Suite,
    path: Path,
    done: Sequence[Play],
    results: Mapping[Path, Mapping[str, Any]],
    own: Mapping[tuple[str, str, int], Measures],
) -> list[Record]:
    """What a file of records holds after these runs: theirs in the place of older ones, and all that is of others."""
    new = []
    for p in done:
        result = results[p.trial.run.directory]
        about = (result["config_hash"], result["version"], str(result["state_hash"]))
        new.append(Record(suite.id, *p.key, *about, own[p.key]))
    order = {(suite.id, task.id): k for k, task in enumerate(suite.tasks)}

    def place(record: Record) -> tuple[int, str, int]:
        known = order.get((record.suite, record.task))
        return (len(order), "", 0) if known is None else (known, record.policy, record.seed)

    # What is not of this suite follows in the order in which it stood.
    return sorted(merged(read_records(path), new), key=place)


def _some(items: Sequence[str]) -> str:
    more = len(items) - _LISTED
    return ", ".join(items[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _usage() -> str:
    lines = [
        f"usage: {COMMAND} suite=<name> 'policies=[<policy>,...]' [<key>=<value> ...]",
        "",
        "Plays policies on a suite of tasks and scores them: 0 is a task's reference, 1 the best known.",
        "Without policies it shows what is recorded of the baselines, without a run.",
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
        "  suite=quick, suite=quick-v1   with a version: this one or none",
        "  policies=[ugal,mine/policy.safetensors,{name: eager,routing: par,params: {threshold: 0.5}}]",
        "  tasks=['dragonfly_72/*']      some of the tasks; default: all",
        "  baselines=recorded            or run: measure them anew",
        "  record=<file>.csv             add what was run to a file of recorded results",
        "  results=results               runs and tables go to <results>/benchmark_<suite>/",
        f"  workers={WORKERS}                     runs at the same time",
        "  confidence=0.95 resamples=2000  of the intervals",
        "  hydra/launcher=ray hydra.launcher.address=host:port, hydra/launcher=submitit_slurm   on a cluster",
    ]
    return "\n".join(lines)


def _options(words: Sequence[str]) -> Options:
    """What was typed.

    Raises:
        CommandError: a word that cannot be read, or no suite.
        omegaconf.errors.OmegaConfBaseException: no such key, or a value of another type.
    """
    given = OmegaConf.create()
    for word in words:
        if "=" not in word:
            raise CommandError(f"'{word}' is not of the form key=value")
        try:
            given.merge_with(OmegaConf.from_cli([word]))
        except YAMLError:
            raise CommandError(
                f"{word}: cannot be read; put names with * in quotes: \"tasks=['*/uniform/*']\""
            ) from None
    for key in ("policies", "tasks"):
        if isinstance(given.get(key), (str, int, float)):
            raise CommandError(f"{key}: a list belongs here: {key}=[{given[key]}]")
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
        benchmark(_options(own), shlex.join([COMMAND, *words]), launcher)

    sys.exit(run_command(COMMAND, command))


if __name__ == "__main__":
    main()
