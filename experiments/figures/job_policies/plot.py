"""Draws communication times of jobs relative to Q-adaptive, with intervals over placements and trainings."""

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
from ...plotting.drawing import Row, key_line, legend_of, polish, routings, style_of
from ...plotting.jobs import BACKGROUNDS, MIXED, TARGETS, comm_ms
from ...plotting.markdown import cost, section
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
_TRAINING = re.compile(r"(?P<family>.+)_seed\d+")
_TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0)
_COARSE_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)

Case = tuple[str | None, str]
"""A target and its background, or (None, MIX)."""


@dataclass(frozen=True)
class Player:
    """All runs of a routing, or of all trainings of a policy.

    Args:
        name: The name of the routing or of the family of trainings.
        rows: The rows of each training by placement and case. A routing counts as one training.
    """

    name: str
    rows: Mapping[str, Mapping[int, Mapping[Case, Row]]]

    @property
    def trained(self) -> bool:
        """Whether it is a policy."""
        cases = next(iter(next(iter(self.rows.values())).values()))
        return bool(cases[self.cases[0]]["routing.name"] == "policy")

    @property
    def cases(self) -> list[Case]:
        """The cases of every training and placement."""
        return list(next(iter(next(iter(self.rows.values())).values())))

    @cached_property
    def groups(self) -> dict[str, list[tuple[Case, str]]]:
        """The cases and jobs of each group: a background, the mix, and the groups over several of them."""
        found: dict[str, list[tuple[Case, str]]] = {}
        for target, other in self.cases:
            own = found.setdefault(ALONE if other == "none" else other, [])
            own += [((target, other), job) for job in (MIXED if target is None else (target,))]
        every = [one for group, own in found.items() if group != ALONE for one in own]
        unsearched = [(case, job) for case, job in every if case[1] != MIX and case not in SEARCHED]
        return found | ({UNSEARCHED: unsearched} if unsearched else {}) | {ALL: every}

    def times(self, group: str) -> NDArray[np.float64]:
        """Log communication times in ms, [trainings, placements, cases of the group]."""
        return self._numbers(lambda cases: [np.log(comm_ms(cases[case], job)) for case, job in self.groups[group]])

    @cached_property
    def slowdowns(self) -> NDArray[np.float64]:
        """The greatest slowdown of a target by a background, [trainings, placements]."""
        pairs = [(target, other) for target, other in self.cases if target and other != "none"]
        return self._numbers(
            lambda cases: max(comm_ms(cases[one], one[0]) / comm_ms(cases[one[0], "none"], one[0]) for one in pairs)
        )

    @cached_property
    def throughput(self) -> NDArray[np.float64]:
        """Log throughput of all jobs in GB/ms, [trainings, placements, runs with more than one job]."""
        several = [case for case in self.cases if case[1] != "none"]
        return self._numbers(lambda cases: [np.log(cases[case]["system_throughput_gb_per_ms"]) for case in several])

    def _numbers(self, number: Any) -> NDArray[np.float64]:
        return np.array([[number(cases) for cases in one.values()] for one in self.rows.values()])


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """Times relative to Q-adaptive by background, the greatest slowdown, and the system throughput."""
    players = players_of(rows)
    figure = Figure(figsize=(13, 4.8), layout="constrained")
    times, slowdowns, throughput = figure.subplots(1, 3, width_ratios=[4, 1.2, 1.2])
    _draw_times(times, players)
    reference = players[REFERENCE]
    for k, one in enumerate(players.values()):
        relative = np.exp(np.mean(one.throughput - reference.throughput, axis=2))
        shown = [(slowdowns, crossed_interval(one.slowdowns), one.slowdowns)]
        for ax, interval, values in [*shown, (throughput, throughput_of(one, reference), relative)]:
            _point(ax, k, interval, one.name)
            ax.plot(np.full(values.size, k + 0.25), values.ravel(), ".", color=style_of(one.name).color, alpha=0.5)
    slowdowns.set_title("greatest slowdown\nof a target", fontweight="bold")
    slowdowns.set_ylim(bottom=1)
    throughput.set_title(f"throughput of all jobs\n/ {REFERENCE}", fontweight="bold")
    throughput.axhline(1, color="#333333", linewidth=1)
    for ax in (slowdowns, throughput):
        ax.set_xticks(range(len(players)), list(players), rotation=35, ha="right")
        ax.set_xlim(-0.6, len(players) - 0.4)
        polish(ax)
        ax.grid(False, axis="x")
    legend_of(figure, [key_line(style_of(name)) for name in players])
    return figure


def _draw_times(ax: Axes, players: Mapping[str, Player]) -> None:
    reference = players[REFERENCE]
    groups = list(reference.groups)
    others = [one for one in players.values() if one is not reference]
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
    ax.set_ylabel(f"communication time / {REFERENCE}")
    ax.set_title("communication time of jobs, by background", fontweight="bold")
    polish(ax)
    ax.grid(False, axis="x")


def _point(ax: Axes, x: float, interval: Interval, name: str) -> None:
    style = style_of(name)
    ends = np.abs(np.array([[interval.low], [interval.high]]) - interval.value)
    ax.errorbar([x], [interval.value], ends if np.isfinite(ends).all() else None, color=style.color,
                marker=style.marker, markersize=6, capsize=2, lw=1.2)  # fmt: skip


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    # The expected numbers are for the shipped policy, even if the rows have further policies.
    names = ("search_jobs", REFERENCE, "ugal_group")
    players = players_of([row for row in rows if player_of(row) in names])
    ours, reference, ugal = (players[name] for name in names)
    unsearched = time_of(ours, reference, UNSEARCHED).value if UNSEARCHED in ours.groups else None
    return {
        "search_jobs_over_q_adaptive": time_of(ours, reference, ALL).value,
        "search_jobs_on_pairs_not_searched": unsearched,
        "greatest_slowdown_over_q_adaptive": float(np.mean(ours.slowdowns) / np.mean(reference.slowdowns)),
        "throughput_over_q_adaptive": throughput_of(ours, reference).value,
        "ugal_group_over_q_adaptive": time_of(ugal, reference, ALL).value,
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of every policy relative to Q-adaptive, with its worst case, and of every training."""
    players = players_of(rows)
    reference = players[REFERENCE]

    def cells(one: Player, groups: Sequence[str]) -> list[str]:
        case, ratio = worst_case(one, reference)
        numbers = [f"{ratio:.3f} {case}", _text(crossed_interval(one.slowdowns), 2)]
        return [*(_text(time_of(one, reference, g)) for g in groups), *numbers, _text(throughput_of(one, reference))]

    lines = []
    for one in players.values():
        trainings = str(len(one.rows)) if one.trained else "-"
        own = cells(one, list(reference.groups))
        if one is reference:
            own = ["1"] * (len(own) - 2) + [own[-2], "1"]
        lines.append([one.name, trainings, *own])
    heads = ["worst case", "greatest slowdown", "throughput"]
    note = (
        f"Geometric means over the cases, with 95 % intervals over the {len(next(iter(reference.rows.values())))} "
        "placements, and over trainings if there are several. For a policy with one training, the intervals describe "
        "this training. The worst case has the largest mean over placements and trainings."
    )
    heads_of_all = ["", "trainings", *map(title_of, reference.groups), *heads]
    parts = [section(f"Communication time relative to {REFERENCE}", heads_of_all, lines, note)]
    several = [
        Player(name, {name: own}) for one in players.values() if len(one.rows) > 1 for name, own in one.rows.items()
    ]
    if several:
        lines = [[one.name, *cells(one, [ALL])] for one in several]
        parts.append(section("Every training", ["", title_of(ALL), *heads], lines))
    return "\n".join([*parts, cost(rows)])


def players_of(rows: Sequence[Row]) -> dict[str, Player]:
    """The players in the rows by name. Several trained policies `<name>_seed<k>` are trainings of one player, `<name>`.

    Raises:
        ValueError: a player lacks a run that another player has.
    """
    found = {name: _by_placement([row for row in rows if player_of(row) == name]) for name in routings(rows)}
    if REFERENCE not in found:
        raise ValueError(f"no row of routing {REFERENCE}")
    wanted = dict.fromkeys((k, case) for placements in found.values() for k, own in placements.items() for case in own)
    for name, placements in found.items():
        for placement, (target, other) in wanted:
            if (target, other) not in placements.get(placement, {}):
                what = "the mixed jobs" if target is None else f"target {target}, background {other}"
                raise ValueError(f"no row for {what}, placement {placement} and routing {name}")
    trained = {player_of(row) for row in rows if row["routing.name"] == "policy"}
    families: dict[str, list[str]] = {}
    for name in found:
        match = _TRAINING.fullmatch(name) if name in trained else None
        # A family is not a routing.
        family = match["family"] if match and match["family"] not in set(found) - trained else name
        families.setdefault(family, []).append(name)
    # A single training keeps its own name.
    named = ((family if len(members) > 1 else members[0], members) for family, members in families.items())
    return {
        name: Player(name, {one: found[one] for one in sorted(own, key=lambda n: (len(n), n))}) for name, own in named
    }


def _case(row: Row) -> Case:
    return (row["workload.target"], row["workload.background"]) if row["workload.name"] == "pair" else (None, MIX)


def _by_placement(rows: Sequence[Row]) -> dict[int, dict[Case, Row]]:
    order: list[Case] = [*((target, other) for other in BACKGROUNDS for target in TARGETS), (None, MIX)]
    found: dict[int, dict[Case, Row]] = {}
    for row in sorted(rows, key=lambda row: (row[_PLACEMENT], order.index(_case(row)))):
        found.setdefault(row[_PLACEMENT], {})[_case(row)] = row
    return found


def time_of(one: Player, reference: Player, group: str) -> Interval:
    """The communication time relative to the reference in a group, as the geometric mean over its cases."""
    return _ratio(one.times(group), reference.times(group))


def throughput_of(one: Player, reference: Player) -> Interval:
    """The throughput of all jobs relative to the reference, as the geometric mean over runs with several jobs."""
    return _ratio(one.throughput, reference.throughput)


def _ratio(own: NDArray[np.float64], other: NDArray[np.float64]) -> Interval:
    return Interval(*map(float, np.exp(crossed_interval(np.mean(own - other, axis=2)))))


def worst_case(one: Player, reference: Player) -> tuple[str, float]:
    """The case with the largest time relative to the reference, and this ratio, from means over all runs of a case."""
    means = np.mean(one.times(ALL) - reference.times(ALL), axis=(0, 1))
    (_, other), job = one.groups[ALL][int(np.argmax(means))]
    return f"{job} {title_of(other)}", float(np.exp(means.max()))


def title_of(group: str) -> str:
    """The label of a group in tables and on axes."""
    return group if group in (ALONE, MIX, UNSEARCHED, ALL) else f"with {group}"


def _text(interval: Interval, digits: int = 3) -> str:
    ends = f" [{interval.low:.{digits}f}, {interval.high:.{digits}f}]" if np.isfinite(interval.low) else ""
    return f"{interval.value:.{digits}f}{ends}"
