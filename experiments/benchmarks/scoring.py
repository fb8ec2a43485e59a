"""From measures to scores: 0 is the reference of a task, 1 the best known; aggregates are interquartile means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..metrics import Interval, bootstrap_stratified, interquartile_mean
from .measures import NAMES, SCORED
from .suite import SETS, Kind, Set, Task

Values = NDArray[np.float64]

# A score of 1 is at least this much better than the reference: where the best known is hardly ahead, a percent more or
# less is not to count as much as all that is known to be possible elsewhere.
LEAST_AHEAD = 0.1
# No run counts as more than this many times better or worse than the reference's: nothing accepted would be infinitely
# worse, and what is not finite would drop out of every mean.
MOST_AHEAD = 1_000.0


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made."""

    confidence: float
    resamples: int


@dataclass(frozen=True)
class Cell:
    """What a policy came to in a task. All arrays are [seeds], NaN where a run is missing.

    Args:
        task: Which.
        policy: Its name.
        measures: By name; those that the task has.
        scores: 0 is the reference, 1 the best known.
        behind: Natural logarithm of how much worse the scored measure is than the best known's, negative if better.
        ahead: The same of how much better it is than the reference's.
        behind_others: As `behind`, of the best known of all others; NaN where there are none.
    """

    task: Task
    policy: str
    measures: Mapping[str, Values]
    scores: Values
    behind: Values
    ahead: Values
    behind_others: Values

    @property
    def missing(self) -> int:
        """Runs without a value of the scored measure."""
        return int(np.isnan(self.measures[SCORED[self.task.kind][0]]).sum())

    @property
    def unscored(self) -> int:
        """Runs with such a value and without a score, since the reference has none with their seeds."""
        return int((np.isfinite(self.measures[SCORED[self.task.kind][0]]) & np.isnan(self.scores)).sum())


@dataclass(frozen=True)
class Summary:
    """What a policy came to in all.

    Args:
        policy: Its name.
        recorded: Whether its numbers are recorded ones; otherwise it was run now.
        played: Tasks in which every run has a value.
        of: Tasks that there are.
        unscored: Tasks in which runs of it have no score, since the reference has no value with their seeds.
        by_set: Interquartile mean of the scores.
        by_network: Likewise.
        by_kind: Likewise.
        worst: The task of its lowest mean score, and that.
        latency_to_reference: Geometric mean, over the tasks below saturation, of its mean latency over the reference's.
        latency_to_best: The same over the best known's.
        worst_to_best: The task of the largest such ratio, and that.
        latency_to_others: As `latency_to_best`, over the best known of all others: below 1 it leads.
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
        """Whether it played every task."""
        return self.played == self.of


def advantage(values: Values, reference: Values, more_is_better: bool) -> Values:
    """How much better each run is than the reference's of the same seed: the natural logarithm of their ratio.

    Between those of 1 / `MOST_AHEAD` and `MOST_AHEAD`, which a value of 0 has, too; NaN where one of both is NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(values == reference, 1.0, values / reference)  # of 0 and 0, too
        logarithm: Values = np.clip(np.log(ratio), -np.log(MOST_AHEAD), np.log(MOST_AHEAD))
    return logarithm if more_is_better else -logarithm


def score(
    values: Mapping[str, Values], baselines: Sequence[str], reference: str, more_is_better: bool
) -> dict[str, tuple[Values, Values, Values]]:
    """Scores of every policy in one task.

    Args:
        values: The scored measure by policy, [seeds].
        baselines: Those policies among which the best known is; the reference is one.
        reference: Whose score is 0.
        more_is_better: Whether the measure is better the greater it is.

    Returns:
        By policy: scores, how far behind the best known, how far ahead of the reference; [seeds]. NaN with those seeds
        with which the reference has no value; the best known is judged by the others.
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
) -> list[Cell]:
    """Every cell, by task and then policy; policies that nothing is known of in a task have none.

    Args:
        tasks: The tasks of the suite.
        found: Measures by task id, policy and seed, of all that is shown.
        policies: In the order in which they are shown.
        references: Their name by task id.
        known: Measures of the reference and all others among which the best known is.
        seeds: The seeds of all.
    """
    cells = []
    for task in tasks:
        measure, more = SCORED[task.kind]
        shown = {name: _arrays(found, task.id, name, seeds) for name in policies}
        shown = {name: arrays for name, arrays in shown.items() if arrays}
        names = dict.fromkeys(name for of, name, _ in known if of == task.id)
        scales = {name: arrays for name in names if measure in (arrays := _arrays(known, task.id, name, seeds))}
        # A policy may go by the name of one that is recorded: numbers for the scale are the recorded ones.
        values = {f"known {name}": arrays[measure] for name, arrays in scales.items()}
        nothing = np.full(len(seeds), np.nan)
        values |= {name: arrays.get(measure, nothing) for name, arrays in shown.items()}
        baselines = [f"known {name}" for name in scales]
        scored = score(values, baselines, f"known {references[task.id]}", more)
        of_known = {name: scored[f"known {name}"][2] for name in scales}
        reference = of_known.get(references[task.id], nothing)
        for name, arrays in shown.items():
            best = _best([own for other, own in of_known.items() if other != name], np.isfinite(reference))
            cells.append(Cell(task, name, {measure: nothing, **arrays}, *scored[name], best - scored[name][2]))
    return cells


def summarise(
    cells: Sequence[Cell], tasks: Sequence[Task], policies: Mapping[str, bool], bootstrap: Bootstrap
) -> list[Summary]:
    """A summary per policy: those that played everything by their score, then the others by what they played.

    Args:
        cells: All.
        tasks: The tasks of the suite.
        policies: Whether each is a recorded one, by name.
        bootstrap: How intervals are made.
    """
    summaries = []
    for name, recorded in policies.items():
        own = [cell for cell in cells if cell.policy == name]
        scored = [cell for cell in own if np.isfinite(cell.scores).any()]
        below = [cell for cell in scored if cell.task.kind == "below"]
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
    """The part of all runs with a score above each of some values (a performance profile), [values]."""
    scores = np.concatenate([cell.scores for cell in cells])
    scores = scores[np.isfinite(scores)]
    return np.array([np.mean(scores > value) for value in at])


def _best(ahead: Sequence[Values], there: NDArray[np.bool_]) -> float:
    """The mean of whoever is furthest ahead, of those that have a value with every seed that the reference has."""
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
    """Of a policy in a task: its measures over the seeds; none where there is no run."""
    runs = [found.get((task, policy, seed)) for seed in seeds]
    if all(run is None for run in runs):
        return {}
    arrays = {name: np.array([np.nan if run is None else run.get(name, np.nan) for run in runs]) for name in NAMES}
    return {name: own for name, own in arrays.items() if np.isfinite(own).any()}
