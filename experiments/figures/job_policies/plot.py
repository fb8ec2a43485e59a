"""Draws communication times of jobs relative to Q-adaptive, with intervals over placements and trainings."""

import itertools
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter
from numpy.typing import NDArray

from ...metrics import Interval, crossed_interval
from ...plotting.drawing import Row, legend_above, polish, routings, style_of
from ...plotting.jobs import BACKGROUNDS, MIXED, comm_ms, job_title, targets
from ...plotting.players import player_of

REFERENCE = "q_adaptive"
ALONE, MIX, UNSEARCHED, ALL = "alone", "mixed", "pairs not searched", "all but alone"

# The pairs of `worlds=interference`, which the search for `search_jobs` used with the mixed jobs. It used other
# placements and shorter jobs. A test compares this set with the worlds.
SEARCHED = {
    *(("fft3d", "halo3d"), ("lu", "halo3d"), ("cosmoflow", "halo3d")),
    *(("stencil5d", "fft3d"), ("lu", "dl"), ("lqcd", "dl")),
}

OVER_SEEDS = "95 % intervals over the placements, and over the trainings if there are several"
_PLACEMENT = "workload.placement_seed"
_TRAINING = re.compile(r"(?P<family>.+)_seed(?P<seed>\d+)")
_TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0)
_COARSE_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


@dataclass(frozen=True)
class Player:
    """All runs of a routing, or of all trainings of a policy.

    Args:
        name: The name of the routing or of the family of trainings.
        rows: The rows of each training by placement and case. A routing counts as one training. A case is (target,
            background) or (None, MIX).
    """

    name: str
    rows: Mapping[str, Mapping[int, Mapping[tuple[str | None, str], Row]]]

    @property
    def trainings(self) -> list[str]:
        """The names of its trainings."""
        return list(self.rows)

    @property
    def count(self) -> str:
        """The number of trainings as text; `-` for a routing."""
        first = next(iter(next(iter(next(iter(self.rows.values())).values())).values()))
        return str(len(self.rows)) if _is_trained(first) else "-"

    @cached_property
    def times(self) -> dict[str, NDArray[np.float64]]:
        """Log communication times in ms, [trainings, placements, cases], by group: a background, or the mix."""
        collected: dict[str, list[Any]] = {}
        for one in self.rows.values():
            for cases in one.values():
                found: dict[str, list[float]] = {}
                for (target, other), row in cases.items():
                    times = [np.log(comm_ms(row, job)) for job in (MIXED if target is None else (target,))]
                    found.setdefault(ALONE if other == "none" else other, []).extend(times)
                    if other not in ("none", MIX) and (target, other) not in SEARCHED:
                        found.setdefault(UNSEARCHED, []).extend(times)
                for group, values in found.items():
                    collected.setdefault(group, []).append(values)
        shape = (len(self.rows), len(next(iter(self.rows.values()))))
        by_group = {group: np.array(values).reshape(*shape, -1) for group, values in collected.items()}
        # The cases of this group are also in the groups of their backgrounds, and must count once in `ALL`.
        unsearched = {UNSEARCHED: by_group.pop(UNSEARCHED)} if UNSEARCHED in by_group else {}
        everything = np.concatenate([times for group, times in by_group.items() if group != ALONE], axis=2)
        return by_group | unsearched | {ALL: everything}

    @cached_property
    def slowdowns(self) -> NDArray[np.float64]:
        """The greatest slowdown of a target by a background, [trainings, placements]."""
        return np.array([[_greatest(cases) for cases in one.values()] for one in self.rows.values()])

    @cached_property
    def throughput(self) -> NDArray[np.float64]:
        """Log throughput of all jobs in GB/ms, [trainings, placements, runs with more than one job]."""
        return np.array(
            [
                [
                    [np.log(row["system_throughput_gb_per_ms"]) for (_, other), row in cases.items() if other != "none"]
                    for cases in one.values()
                ]
                for one in self.rows.values()
            ]
        )


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """Times relative to Q-adaptive by background, the greatest slowdown, and the system throughput.

    Raises:
        ValueError: a routing lacks a run.
    """
    players = players_of(rows)
    figure = Figure(figsize=(13, 4.8), layout="constrained")
    times, slowdowns, throughput = figure.subplots(1, 3, width_ratios=[4, 1.2, 1.2])
    _draw_times(times, players)
    reference = _reference(players)
    for k, one in enumerate(players):
        shown = [(slowdowns, crossed_interval(one.slowdowns), one.slowdowns)]
        relative = np.exp(np.mean(one.throughput - reference.throughput, axis=2))
        shown.append((throughput, throughput_of(one, reference), relative))
        for ax, interval, values in shown:
            _point(ax, k, interval, one.name)
            ax.plot(np.full(values.size, k + 0.25), values.ravel(), ".", color=style_of(one.name).color, alpha=0.5)
    slowdowns.set_title("greatest slowdown\nof a target", fontweight="bold")
    slowdowns.set_ylim(bottom=1)
    throughput.set_title(f"throughput of all jobs\n/ {style_of(REFERENCE).label}", fontweight="bold")
    throughput.axhline(1, color="#333333", linewidth=1)
    for ax in (slowdowns, throughput):
        ax.set_xticks(range(len(players)), [style_of(one.name).label for one in players], rotation=35, ha="right")
        ax.set_xlim(-0.6, len(players) - 0.4)
        polish(ax)
        ax.grid(False, axis="x")
    legend_above(figure, [one.name for one in players])
    return figure


def _draw_times(ax: Axes, players: Sequence[Player]) -> None:
    reference = _reference(players)
    groups = list(reference.times)
    others = [one for one in players if one is not reference]
    width = 0.8 / max(len(others), 1)
    for k, one in enumerate(others):
        for g, group in enumerate(groups):
            _point(ax, g + (k - (len(others) - 1) / 2) * width, time_of(one, reference, group), one.name)
    ax.axhline(1, color=style_of(REFERENCE).color, linewidth=1.5)
    for g in range(1, len(groups)):
        ax.axvline(g - 0.5, color="#e6e6e6", linewidth=0.7, zorder=0)
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(FixedLocator(_TICKS if high < 4 * low else _COARSE_TICKS))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks(range(len(groups)), ["\n".join(textwrap.wrap(title_of(group), 8)) for group in groups])
    ax.set_xlim(-0.5, len(groups) - 0.5)
    ax.set_ylabel(f"communication time / {style_of(REFERENCE).label}")
    ax.set_title("communication time of jobs, by background", fontweight="bold")
    polish(ax)
    ax.grid(False, axis="x")


def _point(ax: Axes, x: float, interval: Interval, name: str) -> None:
    style = style_of(name)
    ends = None
    if np.isfinite(interval.low):
        ends = [[max(interval.value - interval.low, 0)], [max(interval.high - interval.value, 0)]]
    ax.errorbar([x], [interval.value], ends, color=style.color, marker=style.marker, markersize=6, capsize=2, lw=1.2)


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    # The expected numbers are for the shipped policy, even if the rows have further policies.
    names = ("search_jobs", REFERENCE, "ugal_group")
    players = {one.name: one for one in players_of([row for row in rows if player_of(row) in names])}
    ours, reference, ugal = (players[name] for name in names)
    return {
        "search_jobs_over_q_adaptive": time_of(ours, reference, ALL).value,
        "search_jobs_on_pairs_not_searched": (
            time_of(ours, reference, UNSEARCHED).value if UNSEARCHED in ours.times else None
        ),
        "greatest_slowdown_over_q_adaptive": float(np.mean(ours.slowdowns) / np.mean(reference.slowdowns)),
        "throughput_over_q_adaptive": throughput_of(ours, reference).value,
        "ugal_group_over_q_adaptive": time_of(ugal, reference, ALL).value,
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of every policy relative to Q-adaptive, with its worst case, and of every training."""
    players = players_of(rows)
    reference = _reference(players)
    groups = list(reference.times)
    placements = len(next(iter(reference.rows.values())))
    lines = [
        f"## Communication time relative to {style_of(REFERENCE).label}\n",
        f"Geometric means over the cases, with 95 % intervals over the {placements} placements, and over "
        "trainings if there are several. For a policy with one training, the intervals describe this training. The "
        "worst case has the largest mean over placements and trainings.\n",
        f"| | trainings | {' | '.join(map(title_of, groups))} | worst case | greatest slowdown | throughput |",
        "|---" * (len(groups) + 5) + "|",
    ]
    for one in players:
        slowdown = _text(crossed_interval(one.slowdowns), 2)
        if one is reference:
            lines.append(f"| {style_of(one.name).label} | - |{' 1 |' * (len(groups) + 1)} {slowdown} | 1 |")
            continue
        cells = [_text(time_of(one, reference, group)) for group in groups]
        case, ratio = worst_case(one, reference)
        lines.append(
            f"| {style_of(one.name).label} | {one.count} | {' | '.join(cells)} | {ratio:.3f} {case} | "
            f"{slowdown} | {_text(throughput_of(one, reference))} |"
        )
    several = [(one, k) for one in players if len(one.trainings) > 1 for k in range(len(one.trainings))]
    if several:
        lines += [
            "\n## Every training\n",
            f"| | {title_of(ALL)} | worst case | greatest slowdown | throughput |",
            "|---|---|---|---|---|",
        ]
    for one, k in several:
        alone = Player(one.trainings[k], {one.trainings[k]: one.rows[one.trainings[k]]})
        case, ratio = worst_case(alone, reference)
        lines.append(
            f"| {alone.name} | {_text(time_of(alone, reference, ALL))} | {ratio:.3f} {case} | "
            f"{_text(crossed_interval(alone.slowdowns), 2)} | {_text(throughput_of(alone, reference))} |"
        )
    lines.append(f"\nAll {len(rows)} runs took {sum(row['cpu_seconds'] for row in rows):,.0f} CPU seconds.")
    return "\n".join(lines) + "\n"


def players_of(rows: Sequence[Row]) -> list[Player]:
    """The players in the rows. Several trained policies `<name>_seed<k>` are trainings of one player, `<name>`.

    Raises:
        ValueError: a player lacks a run that another player has, or two trainings have identical times.
    """
    names = routings(rows)
    if REFERENCE not in names:
        raise ValueError(f"no row of routing {REFERENCE}")
    found = {name: _by_placement([row for row in rows if player_of(row) == name]) for name in names}
    wanted = dict.fromkeys(
        (k, case) for by_placement in found.values() for k in by_placement for case in by_placement[k]
    )
    for name, by_placement in found.items():
        for placement, case in wanted:
            if case not in by_placement.get(placement, {}):
                what = "the mixed jobs" if case[0] is None else f"target {case[0]}, background {case[1]}"
                raise ValueError(f"no row for {what}, placement {placement} and routing {name}")
    families = _families({name: all(map(_is_trained, next(iter(found[name].values())).values())) for name in names})
    players = [Player(family, {name: found[name] for name in members}) for family, members in families.items()]
    for one in players:
        for (k, name), (m, other) in itertools.combinations(enumerate(one.trainings), 2):
            if np.array_equal(one.times[ALL][k], one.times[ALL][m]):
                raise ValueError(
                    f"{other} has the same times as {name} in every run, so it is the same training and must not count "
                    f"twice; leave {other} out"
                )
    return players


def _families(trained: Mapping[str, bool]) -> dict[str, list[str]]:
    """The names of each player's trainings.

    Args:
        trained: For each name, whether it is a trained policy.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    for name, is_trained in trained.items():
        match = _TRAINING.fullmatch(name) if is_trained else None
        joins = match is not None and trained.get(match["family"], True)  # False if the family is a routing
        family, seed = (match["family"], int(match["seed"])) if match and joins else (name, -1)
        found.setdefault(family, []).append((seed, name))
    # A single training keeps its own name.
    return {
        family if len(members) > 1 else members[0][1]: [name for _, name in sorted(members)]
        for family, members in found.items()
    }


def _is_trained(row: Row) -> bool:
    return bool(row["routing.name"] == "policy")


def _by_placement(rows: Sequence[Row]) -> dict[int, dict[tuple[str | None, str], Row]]:
    found: dict[int, dict[tuple[str | None, str], Row]] = {}
    pairs = [row for row in rows if row["workload.name"] == "pair"]
    for other in BACKGROUNDS:
        for target in targets(rows):
            for row in pairs:
                if (row["workload.target"], row["workload.background"]) == (target, other):
                    found.setdefault(row[_PLACEMENT], {})[target, other] = row
    for row in rows:
        if row["workload.name"] == "mixed":
            found.setdefault(row[_PLACEMENT], {})[None, MIX] = row
    return dict(sorted(found.items()))


def time_of(one: Player, reference: Player, group: str) -> Interval:
    """The communication time relative to the reference in a group, as the geometric mean over its cases."""
    return _exp(crossed_interval(np.mean(one.times[group] - reference.times[group], axis=2)))


def throughput_of(one: Player, reference: Player) -> Interval:
    """The throughput of all jobs relative to the reference, as the geometric mean over runs with several jobs."""
    return _exp(crossed_interval(np.mean(one.throughput - reference.throughput, axis=2)))


def worst_case(one: Player, reference: Player) -> tuple[str, float]:
    """The case with the largest time relative to the reference, and this ratio, from means over all runs of a case."""
    worst = ("", -np.inf)
    for group in one.times:
        if group in (ALONE, UNSEARCHED, ALL):
            continue
        means = np.mean(one.times[group] - reference.times[group], axis=(0, 1))
        k = int(np.argmax(means))
        if means[k] > worst[1]:
            cases = next(iter(next(iter(one.rows.values())).values()))
            names = [target for target, other in cases if other == group and target] if group != MIX else list(MIXED)
            worst = (f"{job_title(names[k])} {title_of(group)}", float(means[k]))
    return worst[0], float(np.exp(worst[1]))


def title_of(group: str) -> str:
    """The label of a group in tables and on axes."""
    return group if group in (ALONE, MIX, UNSEARCHED, ALL) else f"with {job_title(group)}"


def _greatest(cases: Mapping[tuple[str | None, str], Row]) -> float:
    return max(
        comm_ms(row, target) / comm_ms(cases[target, "none"], target)
        for (target, other), row in cases.items()
        if target is not None and other != "none"
    )


def _reference(players: Sequence[Player]) -> Player:
    return next(one for one in players if one.name == REFERENCE)


def _exp(interval: Interval) -> Interval:
    return Interval(*(float(np.exp(value)) for value in interval))


def _text(interval: Interval, digits: int = 3) -> str:
    if not np.isfinite(interval.low):
        return f"{interval.value:.{digits}f}"
    return f"{interval.value:.{digits}f} [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"
