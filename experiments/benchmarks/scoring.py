"""Scores from recorded measures: 0 is the reference of a task, 1 the best known policy.

Aggregates are interquartile means over tasks and seeds.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluation.oracle import NAME, gap_closed
from ..metrics import Interval, bootstrap_stratified, interquartile_mean
from ..results.copies import once
from .measures import NAMES, SCORED
from .records import Record, read_records
from .suite import SETS, Suite, Task

Values = NDArray[np.float64]

# The best known policy has the score 1. If it is less than 10 % better than the reference, 1 stands for 10 % better.
# Without this limit, a gain of 1 % in such a task could count as much as a gain of 100 % in another task.
LEAST_AHEAD = 0.1
# A run counts as at most this many times better or worse than the reference. Otherwise an accepted load of 0 would be
# infinitely worse, and means leave out infinite values.
MOST_AHEAD = 1_000.0
_CLOSE = (0.02, 0.05)


@dataclass(frozen=True)
class Played:
    """The numbers of a policy in a task. All arrays are [trainings x seeds], with NaN for a missing run."""

    task: Task
    policy: str
    measures: Mapping[str, Values]  # by name; with an oracle also `gap_closed`
    ahead: Values  # natural logarithm of the factor by which the scored measure is better than that of the reference
    best: float  # mean `ahead` of the best known policy
    best_other: float  # the same for the best known policy among all others; NaN if there is none
    copies: int = 0  # runs that repeat another seed bit by bit, like the reference; they have no score
    trainings: int = 1

    @property
    def scores(self) -> Values:
        """0 is the reference, 1 the best known policy."""
        scores: Values = self.ahead / max(self.best, np.log1p(LEAST_AHEAD))
        return scores

    @property
    def missing(self) -> int:
        """Number of runs without a value of the scored measure."""
        return int(np.isnan(self.measures[SCORED[self.task.kind][0]]).sum())

    @property
    def unscored(self) -> int:
        """Number of runs with a value but no score, because the reference has no value for their seeds."""
        return int(np.isnan(self.ahead).sum()) - self.missing - self.copies


@dataclass(frozen=True)
class Summary:
    """The aggregates of a policy over all tasks."""

    policy: str
    played: int  # tasks in which every run has a value
    of: int  # all tasks
    unscored: int  # tasks with runs that have no score, because the reference has no value for their seeds
    by: Mapping[str, Mapping[Any, Interval]]  # interquartile means of scores by `set`, `network`, `kind`, `transfer`
    trainings: tuple[float, ...]  # the scores on the held-out tasks of each training of a policy, if there are several
    # Fractions of the held-out tasks in which the scored measure is at most 2 % and 5 % worse than that of the best
    # known policy among all others, and the task with the largest factor.
    within: tuple[float, ...]
    worst: tuple[Task, float] | None
    # Geometric mean over the tasks below saturation and with changes: the policy's mean latency divided by that of the
    # best known policy.
    latency_to_best: float
    gap: Interval  # interquartile mean of the shares of the gap to the oracle

    @property
    def complete(self) -> bool:
        """Whether the policy played every task."""
        return self.played == self.of


def policy_of(name: str) -> str:
    """The name of the policy of a training: x of x#1."""
    return name.partition("#")[0]


def advantage(values: Values, reference: Values, more_is_better: bool) -> Values:
    """The natural logarithm of the factor by which each run is better than the reference's run with the same seed.

    The factor is limited to the range from 1 / `MOST_AHEAD` to `MOST_AHEAD`. The result is NaN if either value is NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(values == reference, 1.0, values / reference)  # 0 / 0 counts as 1
        logarithm: Values = np.clip(np.log(ratio), -np.log(MOST_AHEAD), np.log(MOST_AHEAD))
    return logarithm if more_is_better else -logarithm


def played_of(
    suite: Suite,
    policies: Sequence[str],
    shown: Iterable[Record],
    known: Iterable[Record],
    gap_from: Collection[str] = (),
) -> list[Played]:
    """The numbers of all policies, by task and then by policy. A policy without any run in a task has none.

    The records `known` of the reference and of the other baselines define the scale. A policy that is shown may have
    the name of a recorded one. If an oracle is shown, the gap begins at the best baseline among `gap_from`.
    """
    own, scale = _by_policy(shown), _by_policy(known)
    found = []
    for task in suite.tasks:
        measure, more = SCORED[task.kind]
        runs, baselines = own.get(task.id, {}), scale.get(task.id, {})
        reference = _values(baselines.get(task.reference, {}), suite, measure)
        there = np.isfinite(reference)
        ahead = {name: advantage(_values(of, suite, measure), reference, more) for name, of in baselines.items()}
        # The best known policy has the highest mean among those with a value for every seed of the reference.
        full = {name: own[there] for name, own in ahead.items() if there.any() and np.isfinite(own[there]).all()}
        means = {name: float(np.mean(own)) for name, own in full.items()}
        below = {name: -own for name, own in ahead.items() if name in gap_from}
        oracle = -advantage(_values(runs.get(NAME, {}), suite, measure), reference, more)
        for name in dict.fromkeys(policy_of(one) for one in policies if one in runs):
            own_runs = [runs.get(one, {}) for one in policies if policy_of(one) == name]
            number, measured = len(own_runs), dict.fromkeys((measure, *NAMES))
            values = {key: np.concatenate([_values(one, suite, key) for one in own_runs]) for key in measured}
            values = {key: v for key, v in values.items() if key == measure or np.isfinite(v).any()}
            mine = advantage(values[measure], np.tile(reference, number), more)
            copied = np.isfinite(mine)
            states = [state for one in own_runs for state in _states(one, suite)]
            copied[once(states, number * _states(runs.get(task.reference, {}), suite))] = False
            others = [mean for other, mean in means.items() if policy_of(other) != policy_of(name)]
            scored, best = np.where(copied, np.nan, mine), max(means.values(), default=np.nan)
            if NAME in runs and name not in gap_from:
                values["gap_closed"] = gap_closed(-mine.reshape(number, -1), below, oracle).ravel()
            found.append(
                Played(task, name, values, scored, best, max(others, default=np.nan), int(copied.sum()), number)
            )
    return found


def summarise(
    played: Sequence[Played],
    tasks: Sequence[Task],
    policies: Sequence[str],
    confidence: float = 0.95,
    resamples: int = 2000,
) -> list[Summary]:
    """A summary per policy. Policies that played all tasks come first; both parts are ordered by score.

    The intervals come from `resamples` resamples of a bootstrap. The runs of all trainings of a policy count alike.
    """
    keys = ("network", "kind", "transfer")
    groups = {key: list(dict.fromkeys(getattr(task, key) for task in tasks)) for key in keys}
    summaries = []
    for name in dict.fromkeys(map(policy_of, policies)):
        own = [one for one in played if one.policy == name]
        scored = [one for one in own if np.isfinite(one.ahead).any()]
        by: dict[str, dict[Any, Interval]] = {}
        for key, values in {"set": list(SETS), **groups}.items():
            strata = {value: [one.scores for one in scored if getattr(one.task, key) == value] for value in values}
            by[key] = {
                value: bootstrap_stratified(of, interquartile_mean, confidence, resamples)
                for value, of in strata.items()
            }
        below = [one for one in scored if one.task.kind in ("below", "changing")]
        gaps = [one.measures["gap_closed"] for one in own if "gap_closed" in one.measures]
        held_out = [one for one in scored if one.task.set == "held_out" and np.isfinite(one.best_other)]
        behind = [(one.task, _ratio([one.best_other - one.ahead])) for one in held_out]
        close = [np.mean([ratio <= 1 + part for _, ratio in behind]) if behind else np.nan for part in _CLOSE]
        summaries.append(
            Summary(
                policy=name,
                played=sum(not one.missing for one in own),
                of=len(tasks),
                unscored=sum(one.unscored > 0 for one in own),
                by=by,
                trainings=_of_trainings([one for one in scored if one.task.set == "held_out"]),
                within=tuple(map(float, close)),
                worst=max(behind, key=itemgetter(1), default=None),
                latency_to_best=_ratio([one.best - one.ahead for one in below]),
                gap=bootstrap_stratified(gaps, interquartile_mean, confidence, resamples),
            )
        )
    return sorted(summaries, key=_rank)


def _of_trainings(held_out: Sequence[Played]) -> tuple[float, ...]:
    """The score of each training, if a policy has several."""
    if not held_out or held_out[0].trainings == 1:
        return ()
    of = np.concatenate([one.scores.reshape(one.trainings, -1) for one in held_out], axis=1)
    return tuple(interquartile_mean(own[np.isfinite(own)]) for own in of)


def _ratio(behind: Sequence[Values]) -> float:
    """The geometric mean of the factors by which runs are worse, from the logarithms of each task."""
    return float(np.exp(np.mean([np.nanmean(one) for one in behind]))) if behind else np.nan


def standing_of(suite: Suite) -> list[Summary]:
    """The summaries of a suite's recorded results, without a run: the tables of `docs/benchmarks`."""
    records = [record for record in read_records(suite.results) if record.suite == suite.id]
    names = list(dict.fromkeys(record.policy for record in records))
    return summarise(played_of(suite, names, records, records), suite.tasks, names)


def profile(played: Sequence[Played], at: Values) -> Values:
    """The fraction of all runs whose score exceeds each value (a performance profile), [values]."""
    scores = np.concatenate([one.scores for one in played])
    scores = scores[np.isfinite(scores)]
    return np.array([np.mean(scores > value) for value in at])


def _rank(summary: Summary) -> tuple[bool, bool, float]:
    held_out, train = (summary.by["set"][which].value for which in ("held_out", "train"))
    value = held_out if np.isfinite(held_out) else train
    return not summary.complete, bool(np.isnan(value)), -value


def _by_policy(records: Iterable[Record]) -> dict[str, dict[str, dict[int, Record]]]:
    """The records by task, policy and seed."""
    found: dict[str, dict[str, dict[int, Record]]] = {}
    for record in records:
        found.setdefault(record.task, {}).setdefault(record.policy, {})[record.seed] = record
    return found


def _values(runs: Mapping[int, Record], suite: Suite, measure: str) -> Values:
    return np.array([runs[seed].measures.get(measure, np.nan) if seed in runs else np.nan for seed in suite.seeds])


def _states(runs: Mapping[int, Record], suite: Suite) -> list[dict[str, Any] | None]:
    return [{"state_hash": runs[seed].state_hash or None} if seed in runs else None for seed in suite.seeds]
