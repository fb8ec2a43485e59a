"""Pairs two sets of runs by their common keys, and computes their differences with intervals over seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...configs import unknown
from ...simcore import ConfigError
from ..metrics import NO_TEST, Interval, Test, difference_interval, paired_test
from ..plotting.lines import TRAFFIC, times_of_jobs
from ..plotting.swept import SECTIONS, Row, column_of, configuration, is_of_jobs, named, swept, value_of
from ..plotting.words import value_label
from ..results.copies import once, state_of

_PLACEMENT = "workload.placement_seed"  # distinguishes the runs of a pair, as the seed does
EXCEEDS, WITHIN = "exceeds noise", "within noise"
EQUAL, NO_SPREAD, NO_SEED = "equal", "one run or no variation, no interval", "no seed in common, no interval"


class Difference(NamedTuple):
    """One result of a pair."""

    column: str
    first: float  # mean over the seeds
    second: float  # mean over the seeds on the other side
    change: Interval  # `second - first` with its 95 % interval over paired seeds; NaN without an interval
    verdict: str  # whether the difference exceeds noise
    test: Test = NO_TEST  # of the paired seeds


@dataclass(frozen=True)
class Pair:
    """Runs of both sides with the same values of the keys in `common`."""

    common: Mapping[str, Any]
    seeds: Sequence[Any]  # seeds and placements that both sides have, without those that repeat another one bit by bit
    identical: bool  # whether the final states are equal bit by bit for all these seeds
    differences: Sequence[Difference]  # one per result that both sides have
    saturated: bool = False  # whether the network was saturated in one of the runs

    @property
    def name(self) -> str:
        """The values of the common keys in words; empty without common keys."""
        return ", ".join(value_label(key, value) for key, value in self.common.items())


class Comparison(NamedTuple):
    """The comparison of two sets of runs."""

    # The keys of the configuration that differ between paired runs, with the values of both sides.
    settings: Mapping[str, tuple[str, str]]
    pairs: Sequence[Pair]  # in the order of the first side
    alone: tuple[Sequence[str], Sequence[str]]  # the runs of each side without a partner, in words


def compare(first: Sequence[Row], second: Sequence[Row]) -> Comparison:
    """Pair the runs of two studies and take the differences of their results.

    Runs are paired by the swept keys that have a value in common on both sides. A key without a common value must have
    one value per side; it is the setting that is compared.
    """
    rows = named([*first, *second])
    sides = rows[: len(first)], rows[len(first) :]
    common = []
    for key in swept(rows):
        if key == _PLACEMENT:
            continue
        values = [{value_of(row, key) for row in side} for side in sides]
        if values[0] & values[1]:
            common.append(key)
        elif max(map(len, values)) > 1:
            listed = [", ".join(sorted(map(str, one))) for one in values]
            raise ConfigError(
                f"the two differ in {key}, which has several values on one side ({listed[0]} and {listed[1]}), so "
                f"runs cannot be paired; compare runs with one value of {key} each"
            )
    groups = [_groups(side, common) for side in sides]
    both = [key for key in groups[0] if key in groups[1]]
    pairs = [_pair(dict(zip(common, key, strict=True)), groups[0][key], groups[1][key]) for key in both]
    matched: list[tuple[Row, Row]] = []
    for mine, theirs in ((groups[0][key], groups[1][key]) for key in both):
        same = [(mine[seed], theirs[seed]) for seed in mine if seed in theirs]
        matched += same or [(next(iter(mine.values())), next(iter(theirs.values())))]
    alone = [
        [", ".join(map(value_label, common, key)) for key in one if key not in other]
        for one, other in (groups, reversed(groups))
    ]
    return Comparison(_settings(matched), pairs, (alone[0], alone[1]))


def within(
    rows: Sequence[Row], by: str, reference: str | None = None
) -> tuple[dict[tuple[str, str], Comparison], list[str]]:
    """The comparisons of one study, by the names of the reference and of another value of a key.

    The second result is a sentence for each value whose runs cannot be paired with those of the reference.

    Args:
        rows: Rows of the study.
        by: The key of the configuration, such as `routing`, or a unique end of its name; or `policy`.
        reference: The value with which the others are compared; None: that of the first row.
    """
    rows = named(rows)
    column = column_of(rows, by, "by")
    settings = {"policy", *SECTIONS, *(key for row in rows for key in configuration(row))} - {_PLACEMENT}
    if column not in settings:
        raise ConfigError(
            f"by={by}: {column} is no setting of a run; name a key of the configuration that differs, such as routing, "
            "topology or load, and neither a seed nor a result"
        )
    sides: dict[str, list[Row]] = {}
    for row in rows:
        sides.setdefault(_text(value_of(row, column)), []).append(row)
    if reference is not None and reference not in sides:
        raise ConfigError(unknown("reference", reference, sides, "value"))
    first = next(iter(sides)) if reference is None else reference
    if len(sides) == 1:
        raise ConfigError(f"by={by}: all runs have the value {first}; name a key that differs")
    found, refused = {}, []
    for name in sides:
        if name == first:
            continue
        try:
            found[first, name] = compare(sides[first], sides[name])
        except ConfigError as error:
            refused.append(f"left out: {first} and {name}: {error}")
    return found, refused


def difference(column: str, first: Mapping[Any, float], second: Mapping[Any, float]) -> Difference:
    """The difference of one result, whose values by seed are not empty. Seeds of both sides are paired.

    The difference exceeds noise if its 95 % interval excludes 0.
    """
    seeds = [seed for seed in first if seed in second]
    before, after = (np.array([side[seed] for seed in seeds or side]) for side in (first, second))
    means = float(np.mean(before)), float(np.mean(after))
    if not seeds:
        return Difference(column, *means, Interval(means[1] - means[0], math.nan, math.nan), NO_SEED)
    if not (after - before).any():
        return Difference(column, *means, Interval(0.0, 0.0, 0.0), EQUAL)
    interval = difference_interval(after, before)
    if math.isnan(interval.low):
        return Difference(column, *means, interval, NO_SPREAD)
    verdict = WITHIN if interval.low <= 0 <= interval.high else EXCEEDS
    return Difference(column, *means, interval, verdict, paired_test(after, before))


def _groups(rows: Sequence[Row], keys: Sequence[str]) -> dict[tuple[Any, ...], dict[Any, Row]]:
    """The runs by the values of the keys, and then by seed and placement."""
    groups: dict[tuple[Any, ...], dict[Any, Row]] = {}
    for row in rows:
        groups.setdefault(tuple(value_of(row, key) for key in keys), {})[row.get("seed"), row.get(_PLACEMENT)] = row
    return groups


def _pair(common: Mapping[str, Any], first: Mapping[Any, Row], second: Mapping[Any, Row]) -> Pair:
    seeds = [seed for seed in first if seed in second]
    seeds = [seeds[k] for k in once(*([side[seed] for seed in seeds] for side in (first, second)))]
    states = [(state_of(first[seed]), state_of(second[seed])) for seed in seeds]
    identical = bool(states) and all(a is not None and a == b for a, b in states)
    sides = [{seed: side[seed] for seed in seeds} or side for side in (first, second)]
    found = []
    # Latencies, accepted load and hops, or the communication times of jobs.
    runs = [*first.values(), *second.values()]
    for column in times_of_jobs(runs) if any(map(is_of_jobs, runs)) else TRAFFIC:
        values = [
            {seed: float(row[column]) for seed, row in side.items() if row.get(column) is not None} for side in sides
        ]
        if all(values):
            found.append(difference(column, *values))
    saturated = any(row.get("warnings.saturated") for side in sides for row in side.values())
    return Pair(common, seeds, identical, found, saturated)


def _settings(pairs: Sequence[tuple[Row, Row]]) -> dict[str, tuple[str, str]]:
    """The keys in which pairs differ, with the values of both sides."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for pair in pairs:
        known = [{**configuration(row), "version": row.get("version")} for row in pair]
        for key in dict.fromkeys([*known[0], *known[1]]):
            if known[0].get(key) != known[1].get(key):
                for side, one in zip(found.setdefault(key, ({}, {})), known, strict=True):
                    side[_text(one.get(key))] = None
    return {key: (", ".join(a), ", ".join(b)) for key, (a, b) in found.items()}


def _text(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
