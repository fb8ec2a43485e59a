"""Scores from measures: 0 is the reference of a task, 1 the best known policy; aggregates are interquartile means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..metrics import Interval, bootstrap_stratified, interquartile_mean
from ..results.copies import once
from .measures import NAMES, SCORED
from .suite import SETS, Kind, Set, Task

Values = NDArray[np.float64]

# The best known policy has the score 1. If it is less than 10 % better than the reference, 1 stands for 10 % better.
# Without this limit, a gain of 1 % in such a task could count as much as a gain of 100 % in another task.
LEAST_AHEAD = 0.1
# A run counts as at most this many times better or worse than the reference. Otherwise an accepted load of 0 would be
# infinitely worse, and means leave out infinite values.
MOST_AHEAD = 1_000.0


@dataclass(frozen=True)
class Bootstrap:
    """Settings of the bootstrap that gives the intervals."""

    confidence: float
    resamples: int


@dataclass(frozen=True)
class Cell:
    """The numbers of a policy in a task. All arrays are [seeds], with NaN for a missing run.

    Args:
        task: The task.
        policy: The name of the policy.
        measures: The measures of the task, by name.
        scores: 0 is the reference, 1 the best known policy.
        behind: Natural logarithm of the factor by which the scored measure is worse than that of the best known policy;
            negative if better.
        ahead: Natural logarithm of the factor by which it is better than that of the reference.
        behind_others: As `behind`, for the best known policy among all others; NaN if there is none.
        copies: Number of runs that repeat another seed bit by bit, like the reference. They have no score.
    """

    task: Task
    policy: str
    measures: Mapping[str, Values]
    scores: Values
    behind: Values
    ahead: Values
    behind_others: Values
    copies: int = 0

    @property
    def missing(self) -> int:
        """Number of runs without a value of the scored measure."""
        return int(np.isnan(self.measures[SCORED[self.task.kind][0]]).sum())

    @property
    def unscored(self) -> int:
        """Number of runs with a value but no score, because the reference has no value for their seeds."""
        valued = np.isfinite(self.measures[SCORED[self.task.kind][0]])
        return int((valued & np.isnan(self.scores)).sum()) - self.copies


@dataclass(frozen=True)
class Summary:
    """The aggregates of a policy over all tasks.

    Args:
        policy: The name of the policy.
        recorded: Whether its numbers come from recorded results.
        played: Number of tasks in which every run has a value.
        of: Number of all tasks.
        unscored: Number of tasks with runs that have no score, because the reference has no value for their seeds.
        by_set: Interquartile mean of the scores, by set.
        by_network: The same by network.
        by_kind: The same by kind of task.
        worst: The task with the lowest mean score, and that score.
        latency_to_reference: Ratio of the policy's mean latency to the reference's; geometric mean over the tasks below
            saturation and with changes.
        latency_to_best: The same ratio to the best known policy.
        worst_to_best: The task with the largest ratio to the best known policy, and that ratio.
        latency_to_others: The same ratio to the best known policy among all others; below 1, this policy is the best.
    """

    policy: str
    recorded: bool
    played: int
    of: int
    unscored: int
    by_set: Mapping[Set, Interval]
    by_network: Mapping[str, Interval]
    by_kind: Mapping[Kind, Interval]
    worst: tuple[Task, float] | None
    latency_to_reference: float
    latency_to_best: float
    worst_to_best: tuple[Task, float] | None
    latency_to_others: float

    @property
    def complete(self) -> bool:
        """Whether the policy played every task."""
        return self.played == self.of


def advantage(values: Values, reference: Values, more_is_better: bool) -> Values:
    """The natural logarithm of the factor by which each run is better than the reference's run with the same seed.

    The factor is limited to the range from 1 / `MOST_AHEAD` to `MOST_AHEAD`. The result is NaN if either value is NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(values == reference, 1.0, values / reference)  # 0 / 0 counts as 1
        logarithm: Values = np.clip(np.log(ratio), -np.log(MOST_AHEAD), np.log(MOST_AHEAD))
    return logarithm if more_is_better else -logarithm


def score(
    values: Mapping[str, Values], baselines: Sequence[str], reference: str, more_is_better: bool
) -> dict[str, tuple[Values, Values, Values]]:
    """Scores of every policy in one task.

    Args:
        values: The scored measure by policy, [seeds].
        baselines: The policies, including the reference, of which the best is the best known policy.
        reference: The policy whose score is 0.
        more_is_better: Whether a larger measure is better.

    Returns:
        By policy the scores, and `Cell.behind` and `Cell.ahead`; each [seeds]. Seeds without a value of the reference
        have NaN, and are ignored in the choice of the best known policy.
    """
    there = np.isfinite(values[reference]) if reference in values else np.zeros(0, dtype=bool)
    if not there.any():
        nothing = {name: np.full(own.shape, np.nan) for name, own in values.items()}
        return {name: (own, own, own) for name, own in nothing.items()}
    ahead = {name: advantage(own, values[reference], more_is_better) for name, own in values.items()}
    best = _best([ahead[name] for name in baselines if name in ahead], there)
    unit = max(best, np.log1p(LEAST_AHEAD))
    return {name: (own / unit, best - own, own) for name, own in ahead.items()}


def cells_of(
    tasks: Sequence[Task],
    found: Mapping[tuple[str, str, int], Mapping[str, float]],
    policies: Sequence[str],
    references: Mapping[str, str],
    known: Mapping[tuple[str, str, int], Mapping[str, float]],
    seeds: Sequence[int],
    states: Mapping[tuple[str, str, int], str],
) -> list[Cell]:
    """All cells, by task and then by policy. A policy without any run in a task has no cell.

    Args:
        tasks: The tasks of the suite.
        found: Measures of the policies that are shown, by task id, policy and seed.
        policies: Their names, in the order of the tables.
        references: The name of the reference by task id.
        known: Measures of the reference and of the other baselines, which define the scale.
        seeds: The seeds of the suite.
        states: Hashes of the final states, by task id, policy and seed. Runs that repeat another seed count once.
    """
    cells = []
    for task in tasks:
        measure, more = SCORED[task.kind]
        shown = {name: _arrays(found, task.id, name, seeds) for name in policies}
        shown = {name: arrays for name, arrays in shown.items() if arrays}
        names = dict.fromkeys(name for of, name, _ in known if of == task.id)
        scales = {name: arrays for name in names if measure in (arrays := _arrays(known, task.id, name, seeds))}
        # A policy may have the name of a recorded one. The scale uses the recorded numbers.
        values = {f"known {name}": arrays[measure] for name, arrays in scales.items()}
        nothing = np.full(len(seeds), np.nan)
        values |= {name: arrays.get(measure, nothing) for name, arrays in shown.items()}
        baselines = [f"known {name}" for name in scales]
        scored = score(values, baselines, f"known {references[task.id]}", more)
        of_known = {name: scored[f"known {name}"][2] for name in scales}
        reference = of_known.get(references[task.id], nothing)
        for name, arrays in shown.items():
            best = _best([own for other, own in of_known.items() if other != name], np.isfinite(reference))
            pair = ([{"state_hash": states.get((task.id, n, s))} for s in seeds] for n in (name, references[task.id]))
            scores, behind, ahead = scored[name]
            copied = np.isfinite(scores)
            copied[once(*pair)] = False
            own = [np.where(copied, np.nan, one) for one in (scores, behind, ahead, best - ahead)]
            cells.append(
                Cell(task, name, {measure: nothing, **arrays}, own[0], own[1], own[2], own[3], int(copied.sum()))
            )
    return cells


def summarise(
    cells: Sequence[Cell], tasks: Sequence[Task], policies: Mapping[str, bool], bootstrap: Bootstrap
) -> list[Summary]:
    """A summary per policy. Policies that played all tasks come first; both parts are ordered by score.

    Args:
        cells: All cells.
        tasks: The tasks of the suite.
        policies: For each name, whether the policy's numbers are recorded results.
        bootstrap: Settings of the intervals.
    """
    summaries = []
    for name, recorded in policies.items():
        own = [cell for cell in cells if cell.policy == name]
        scored = [cell for cell in own if np.isfinite(cell.scores).any()]
        below = [cell for cell in scored if cell.task.kind in ("below", "changing")]
        worst = min(scored, key=lambda cell: float(np.nanmean(cell.scores)), default=None)
        furthest = max(below, key=lambda cell: float(np.nanmean(cell.behind)), default=None)
        networks, kinds = (dict.fromkeys(getattr(task, key) for task in tasks) for key in ("network", "kind"))
        summaries.append(
            Summary(
                name,
                recorded,
                sum(not cell.missing for cell in own),
                len(tasks),
                sum(cell.unscored > 0 for cell in own),
                {which: _aggregate([c for c in scored if c.task.set == which], bootstrap) for which in SETS},
                {which: _aggregate([c for c in scored if c.task.network == which], bootstrap) for which in networks},
                {which: _aggregate([c for c in scored if c.task.kind == which], bootstrap) for which in kinds},
                None if worst is None else (worst.task, float(np.nanmean(worst.scores))),
                _ratio([-cell.ahead for cell in below]),
                _ratio([cell.behind for cell in below]),
                None if furthest is None else (furthest.task, float(np.exp(np.nanmean(furthest.behind)))),
                _ratio([cell.behind_others for cell in below if np.isfinite(cell.behind_others).any()]),
            )
        )
    return sorted(summaries, key=_rank)


def profile(cells: Sequence[Cell], at: Values) -> Values:
    """The fraction of all runs whose score exceeds each value (a performance profile), [values]."""
    scores = np.concatenate([cell.scores for cell in cells])
    scores = scores[np.isfinite(scores)]
    return np.array([np.mean(scores > value) for value in at])


def _best(ahead: Sequence[Values], there: NDArray[np.bool_]) -> float:
    """The highest mean among the policies that have a value for every seed of the reference."""
    known = [own[there] for own in ahead if there.any() and np.isfinite(own[there]).all()]
    return max((float(np.mean(own)) for own in known), default=np.nan)


def _rank(summary: Summary) -> tuple[bool, bool, float]:
    held_out, train = (summary.by_set[which].value for which in ("held_out", "train"))
    value = held_out if np.isfinite(held_out) else train
    return not summary.complete, bool(np.isnan(value)), -value


def _aggregate(cells: Sequence[Cell], bootstrap: Bootstrap) -> Interval:
    return bootstrap_stratified(
        [cell.scores for cell in cells], interquartile_mean, bootstrap.confidence, bootstrap.resamples
    )


def _ratio(logarithms: Sequence[Values]) -> float:
    return float(np.exp(np.mean([np.nanmean(own) for own in logarithms]))) if logarithms else np.nan


def _arrays(
    found: Mapping[tuple[str, str, int], Mapping[str, float]], task: str, policy: str, seeds: Sequence[int]
) -> dict[str, Values]:
    """The measures of a policy in a task over the seeds; empty if there is no run."""
    runs = [found.get((task, policy, seed)) for seed in seeds]
    if all(run is None for run in runs):
        return {}
    arrays = {name: np.array([np.nan if run is None else run.get(name, np.nan) for run in runs]) for name in NAMES}
    return {name: own for name, own in arrays.items() if np.isfinite(own).any()}
