"""The measure of `flitgym benchmark`: policies on the tasks of a suite, with scores against recorded results."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...configs import config_hash, unknown
from ...simcore import ConfigError, __version__
from ..evaluation.cells import Row
from ..evaluation.plan import Policy, Trial, plan, policies_of
from ..evaluation.study import Conclusions, Measure, Results, Study, check_numbers
from ..evaluation.tables import footnote, tables_of
from ..terminal.commandline import CommandError
from .measures import check_windows, measures
from .records import Record, merged, read_records, sources_of, write_records
from .scoring import played_of, summarise
from .suite import Suite, available, chosen, load_suite
from .text import caption, footnotes, numbers, score_tables, task_cells

_BASELINES = ("recorded", "run")
_AGAIN = "baselines=run measures them again"
_LISTED = 3  # items that a note names

Key = tuple[str, str, int]


class Benchmark(Measure):
    """See the module."""

    name = "benchmark"
    silent = ("saturated",)

    def __init__(self, given: Mapping[str, Any], study: Study) -> None:
        if given["suite"] is None:
            raise CommandError(f"name a suite: suite={'|'.join(available())}")
        if given["baselines"] not in _BASELINES:
            raise CommandError(unknown("baselines", given["baselines"], _BASELINES, "word"))
        check_numbers(given["confidence"], resamples=given["resamples"])
        self.given, self.whole = given, load_suite(given["suite"])
        self.suite, self.runs_baselines = chosen(self.whole, given["tasks"]), given["baselines"] == "run"
        self.label, policies = self.suite.id, policies_of(given["routings"])
        for policy in policies:
            _refuse_other(policy, self.whole)
        self.asked = [policy.name for policy in policies]
        self.baselines = {policy.name for task in self.suite.tasks for policy in task.baselines}
        planned = _plan(self.suite, policies, study.directory)
        self.trials = [trial for trial in planned if self.runs_baselines or trial.policy in policies]
        recorded = read_records(self.whole.results)
        if given["record"]:
            read_records(Path(given["record"]))  # an existing file must hold records
        self.notes, self.kept = ([], []) if self.runs_baselines else self._fitting(recorded, planned)
        if not self.trials and not self.kept:
            raise CommandError(f"{'; '.join(self.notes)}, or give routing=...")

    def conclude(self, rows: Sequence[Row], results: Results) -> Conclusions:
        """See `Measure`. Results of this call replace recorded ones in the tables."""
        from .figure import draw

        given, suite, confidence = self.given, self.suite, self.given["confidence"]
        keys = ("task", "policy", "seed", "config_hash", "version")
        new = [
            Record(
                suite=suite.id,
                **{key: row[key] for key in keys},
                state_hash=str(row["state_hash"]),
                measures=measures(row["task_kind"], row),
            )
            for row in rows
        ]
        known = [record for record in new if record.policy in self.baselines] if self.runs_baselines else self.kept
        shown = merged(known, new)
        names = list(dict.fromkeys([*self.asked, *(record.policy for record in shown)]))
        played = played_of(suite, names, shown, known)
        summaries = summarise(played, suite.tasks, names, confidence, given["resamples"])
        written = []
        if given["record"]:
            written = [Path(given["record"])]
            write_records(written[0], _ordered(merged(read_records(written[0]), new), self.whole))
        text = caption(suite, len(self.whole.tasks), played, confidence)
        marks, scores, cells = footnotes(summaries), score_tables(summaries), task_cells(played, confidence)
        return Conclusions(
            title=f"Benchmark {suite.id}",
            notes=[suite.about, f"Code {__version__}.", *self.notes, text],
            tables=[*scores, *tables_of(cells)],
            footnote="\n\n".join(filter(None, [*marks, footnote(cells)])),
            printed=scores,
            sentences=[*marks, text],
            numbers=numbers(played, summaries, confidence),
            figure=draw(played, summaries, confidence),
            picture="Scores and performance profiles",
            written=written,
        )

    def _fitting(self, recorded: Sequence[Record], planned: Sequence[Trial]) -> tuple[list[str], list[Record]]:
        """Notes about the recorded results, and the records that fit the tasks and baselines."""
        suite, tasks = self.suite, {task.id for task in self.suite.tasks}
        hashes = {_key(trial): config_hash(trial.run.plain) for trial in planned}
        own = [r for r in recorded if r.suite == suite.id and r.task in tasks and r.seed in suite.seeds]
        kept: list[Record] = []
        stale: list[Record] = []
        there = set()
        for record in own:
            key = (record.task, record.policy, record.seed)
            there.add(key)
            # The hash is unknown if the policy is not a baseline here. Then the task's version has to match.
            (kept if hashes.get(key) in (None, record.config_hash) else stale).append(record)
        absent = [trial for trial in planned if trial.policy.name not in self.asked and _key(trial) not in there]
        others = [record.suite for record in recorded if record.suite != suite.id]
        cores = [record.version for record in kept if sources_of(record.version) != sources_of(__version__)]
        notes = {
            f"{len(others)} recorded results are of another suite than {suite.id} and left out": others,
            f"{len(stale)} recorded results are stale, because the configurations of these tasks of {suite.id} have "
            "changed, and are left out": [f"{record.policy} in {record.task}" for record in stale],
            f"no results are recorded for some baselines of {suite.id}": [
                f"{t.policy.name} in {t.marks['task']}" for t in absent
            ],
            f"recorded results are of another core than this one ({__version__}), so the numbers may differ": cores,
        }
        return [f"{note} ({_some(items)}); {_AGAIN}" for note, items in notes.items() if items], kept


def _refuse_other(policy: Policy, suite: Suite) -> None:
    """Refuse the name of a baseline for another policy: the scale uses the recorded results of this name."""
    if any(one.name == policy.name and one != policy for task in suite.tasks for one in task.baselines):
        raise CommandError(
            f"routing: '{policy.name}' is a baseline of {suite.id} with other parameters; give your policy another "
            f"name: {{name: ..., routing: {policy.routing}, ...}}"
        )


def _plan(suite: Suite, policies: Sequence[Policy], directory: Path) -> list[Trial]:
    """Every run of the policies and of the baselines. A baseline that is also a requested policy runs once."""
    trials = []
    for task in suite.tasks:
        every = [*policies, *(baseline for baseline in task.baselines if baseline not in policies)]
        axes = (task.loads, suite.seeds, directory)
        for trial in plan(every, [task.scenario], task.overrides, *axes):
            try:
                check_windows(task.kind, trial.run.plain)
            except ConfigError as error:
                raise ConfigError(f"{suite.path}: {task.id}: {error}") from None
            trials.append(replace(trial, marks={"task": task.id, "set": task.set, "task_kind": task.kind}))
    return trials


def _key(trial: Trial) -> Key:
    return trial.marks["task"], trial.policy.name, trial.run.plain["seed"]


def _ordered(records: Sequence[Record], suite: Suite) -> list[Record]:
    """The records of a suite by task, policy and seed. Those of other suites follow in their previous order."""
    order = {(suite.id, task.id): k for k, task in enumerate(suite.tasks)}

    def place(record: Record) -> tuple[int, str, int]:
        known = order.get((record.suite, record.task))
        return (len(order), "", 0) if known is None else (known, record.policy, record.seed)

    return sorted(records, key=place)


def _some(items: Sequence[str]) -> str:
    items = list(dict.fromkeys(items))
    more = len(items) - _LISTED
    return ", ".join(items[:_LISTED]) + (f" and {more} more" if more > 0 else "")
