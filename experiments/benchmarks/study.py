"""The measure of `flitgym benchmark`: policies on the tasks of a suite, with scores against recorded results."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...configs import config_hash, refuse_unknown
from ...simcore import ConfigError, __version__
from ..evaluation import oracle
from ..evaluation.cells import Row
from ..evaluation.plan import Policy, Trial, plan
from ..evaluation.study import Conclusions, Measure, Results, Study, check_numbers
from ..evaluation.tables import footnote, tables_of
from ..running.one_run import prepare
from ..terminal.commandline import CommandError, some
from ..terminal.tables import MISSING
from .measures import check_windows, measures
from .records import Record, merged, read_records, sources_of, write_records
from .scoring import played_of, policy_of, summarise
from .suite import Suite, available, chosen, load_suite, policies_by_name
from .text import CANDIDATES, caption, footnotes, numbers, score_tables, task_cells

_BASELINES = ("recorded", "run")
_AGAIN = "baselines=run measures them again"
_LISTED = 3  # items that a note names


class Benchmark(Measure):
    """See the module."""

    name = "benchmark"
    silent = ("saturated",)

    def __init__(self, given: Mapping[str, Any], study: Study) -> None:
        if given["suite"] is None:
            raise CommandError(f"name a suite: suite={'|'.join(available())}")
        refuse_unknown("baselines", [given["baselines"]], _BASELINES, "word")
        check_numbers(given["confidence"], resamples=given["resamples"])
        self.given, self.whole = given, load_suite(given["suite"])
        self.suite, self.runs_baselines = chosen(self.whole, given["tasks"]), given["baselines"] == "run"
        self.seeds = self.suite.seeds
        self.label, policies = self.suite.id, policies_by_name(given["routings"])
        for policy in policies:
            # The scale uses the recorded results of a baseline's name.
            if any(one.name == policy.name and one != policy for task in self.whole.tasks for one in task.baselines):
                raise CommandError(
                    f"routing: '{policy.name}' is a baseline of {self.whole.id} with other parameters; give your "
                    f"policy another name: {{name: ..., routing: {policy.routing}, ...}}"
                )
        self.asked = [policy.name for policy in policies]
        self.baselines = {policy.name for task in self.suite.tasks for policy in task.baselines}
        self.planned = _plan(self.suite, policies, study.directory)
        self.trials = [trial for trial in self.planned if self.runs_baselines or trial.policy in policies]
        self.gap_from: list[str] = []  # the baselines at whose best one the gap begins
        if given["oracle"]:
            self.searches = oracle.searches_of(self.planned, given["oracle"])
            self.gap_from = oracle.baselines_of(self.planned)
        recorded = read_records(self.whole.results)
        if given["record"]:
            read_records(Path(given["record"]))  # an existing file must hold records
        self.notes, self.kept = ([], []) if self.runs_baselines else self._fitting(recorded)
        if not self.trials and not self.kept and not self.searches:
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
        played = played_of(suite, names, shown, known, self.gap_from)
        summaries = summarise(played, suite.tasks, names, confidence, given["resamples"])
        written = [Path(given["record"])] if given["record"] else []
        for path in written:
            kept = [record for record in new if record.policy != oracle.NAME]
            write_records(path, _ordered(merged(read_records(path), kept), self.whole))
        text = caption(suite, len(self.whole.tasks), played, confidence)
        marks, cells = footnotes(summaries), task_cells(played, confidence)
        scores = score_tables(summaries, costs_of(self.planned))
        return Conclusions(
            title=f"Benchmark {suite.id}",
            notes=[suite.about, f"Code {__version__}.", *self.notes, text],
            tables=[*scores, *tables_of(cells)],
            footnote="\n\n".join(filter(None, [*marks, footnote(cells)])),
            printed=scores,
            sentences=[*marks, text],
            numbers=numbers(played, summaries, confidence),
            figure=draw(played, summaries, confidence, self.asked),
            picture="Scores and performance profiles",
            written=written,
        )

    def _fitting(self, recorded: Sequence[Record]) -> tuple[list[str], list[Record]]:
        """Notes about the recorded results, and the records that fit the tasks and baselines."""
        suite, tasks = self.suite, {task.id for task in self.suite.tasks}
        runs = ((trial.marks["task"], trial.policy.name, trial.run.plain) for trial in self.planned)
        hashes = {(task, policy, plain["seed"]): config_hash(plain) for task, policy, plain in runs}
        own = {
            (record.task, record.policy, record.seed): record
            for record in recorded
            if record.suite == suite.id and record.task in tasks and record.seed in suite.seeds
        }
        # The hash is unknown if the policy is not a baseline here. Then the task's version has to match.
        stale = {key: one for key, one in own.items() if hashes.get(key) not in (None, one.config_hash)}
        kept = [record for key, record in own.items() if key not in stale]
        notes = {
            f"{{}} recorded results are of another suite than {suite.id} and left out": [
                record.suite for record in recorded if record.suite != suite.id
            ],
            f"{{}} recorded results are stale, because the configurations of these tasks of {suite.id} have changed, "
            "and are left out": [f"{policy} in {task}" for task, policy, _ in stale],
            f"no results are recorded for some baselines of {suite.id}": [
                f"{policy} in {task}"
                for task, policy, seed in hashes
                if policy not in self.asked and (task, policy, seed) not in own
            ],
            f"recorded results are of another core than this one ({__version__}), so the numbers may differ": [
                record.version for record in kept if sources_of(record.version) != sources_of(__version__)
            ],
        }
        said = ((note.format(len(items)), list(dict.fromkeys(items))) for note, items in notes.items() if items)
        return [f"{note} ({some(items, _LISTED)}); {_AGAIN}" for note, items in said], kept


def costs_of(trials: Sequence[Trial]) -> dict[str, tuple[str, str]]:
    """`router_cost` each policy, on the first network that it can play."""
    networks = {
        (policy_of(trial.policy.name), trial.marks["task"].partition("/")[0]): trial.run for trial in reversed(trials)
    }
    found: dict[str, tuple[str, str]] = {}
    for (policy, _), run in reversed(networks.items()):
        with suppress(ConfigError):  # another policy's network
            if policy not in found:
                found[policy] = router_cost(run.plain)
    return found


def router_cost(plain: Mapping[str, Any]) -> tuple[str, str]:
    """The cost of a run's routing in hardware.

    The multiplications of a decision among `CANDIDATES` candidates, and the bytes of a router's weights, tables and
    other state. `flitgym list cost` has all numbers, with the measured number of candidates.
    """
    declared = prepare(plain).hardware_cost(CANDIDATES)
    size = declared["weight_bytes"] + sum(memory["bytes"] for memory in declared["memories"])
    decision = declared["decision"]  # None: the routing declares no operations
    return MISSING if decision is None else f"{decision['multiplications']:,.0f}", f"{size:,.0f}"


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


def _ordered(records: Sequence[Record], suite: Suite) -> list[Record]:
    """The records of a suite by task, policy and seed. Those of other suites follow in their previous order."""
    order = {(suite.id, task.id): k for k, task in enumerate(suite.tasks)}
    own = [record for record in records if (record.suite, record.task) in order]
    own.sort(key=lambda record: (order[record.suite, record.task], record.policy, record.seed))
    return own + [record for record in records if (record.suite, record.task) not in order]
