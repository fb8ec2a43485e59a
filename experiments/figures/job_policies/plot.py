"""Draws communication times of jobs relative to Q-adaptive, with intervals over placements and trainings."""

import itertools
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter
from numpy.typing import NDArray

from ...metrics import Interval, crossed_interval
from ...plotting.drawing import Row, key_line, legend_of, style_of
from ...plotting.markdown import cost, section
from ...plotting.players import player_of
from ...studies.interference.runs import BACKGROUNDS, MIX, MIXED, Case, Jobs, geometric, times
from ...terminal.tables import interval_text

REFERENCE = "q_adaptive"
ALONE, UNSEARCHED, ALL = "alone", "pairs not searched", "all but alone"

# The pairs of `worlds=interference`, which the search for `search_jobs` used with the mixed jobs. It used other
# placements and shorter jobs. A test compares this set with the worlds.
SEARCHED = {
    *(("fft3d", "halo3d"), ("lu", "halo3d"), ("cosmoflow", "halo3d")),
    *(("stencil5d", "fft3d"), ("lu", "dl"), ("lqcd", "dl")),
}

OVER_SEEDS = "95 % intervals over the placements, and over the trainings if there are several"
_TRAINING = re.compile(r"(?P<family>.+)_seed\d+")
_TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0)
_COARSE_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


class Study(Jobs):
    """The rows by player, placement and case. A player is a routing, or all trainings of a policy."""

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__(rows)
        self.trained = {player_of(row) for row in rows if row["routing.name"] == "policy"}
        if REFERENCE not in self.names:
            raise ValueError(f"no row for routing {REFERENCE}")
        # Several trained policies `<name>_seed<k>` are trainings of `<name>`.
        families = dict[str, list[str]]()
        for name in self.names:
            match = _TRAINING.fullmatch(name) if name in self.trained else None
            # A family is not a routing.
            family = match["family"] if match and match["family"] not in set(self.names) - self.trained else name
            families.setdefault(family, []).append(name)
        # A single training keeps its own name.
        self.players = {
            family if len(own) > 1 else own[0]: sorted(own, key=lambda name: (len(name), name))
            for family, own in families.items()
        }

    @cached_property
    def groups(self) -> dict[str, list[tuple[Case, str]]]:
        """The cases and jobs of each group: a background, the mix, and the groups over several of them."""
        found: dict[str, list[tuple[Case, str]]] = {}
        for case in self.cases:
            own = found.setdefault(ALONE if case[1] == "none" else case[1], [])
            own += [(case, job) for job in (MIXED if case == MIX else case[:1])]
        every = [one for group, own in found.items() if group != ALONE for one in own]
        unsearched = [(case, job) for case, job in every if case != MIX and case not in SEARCHED]
        return found | ({UNSEARCHED: unsearched} if unsearched else {}) | {ALL: every}

    def _relative(self, player: str, logs: Callable[[str], NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.array([logs(training) - logs(REFERENCE) for training in self.players[player]])

    def times(self, player: str, group: str) -> NDArray[np.float64]:
        """Log communication times relative to the reference, [trainings, cases of the group, placements]."""
        jobs = self.groups[group]
        return self._relative(player, lambda name: np.log([times(self.runs(case, name), job) for case, job in jobs]))

    def time_of(self, player: str, group: str) -> Interval:
        """The communication time relative to the reference in a group, as the geometric mean over its cases."""
        return geometric(crossed_interval(np.mean(self.times(player, group), axis=1)))

    def slowdowns(self, player: str) -> NDArray[np.float64]:
        """The greatest slowdown of a target by a background, [trainings, placements]."""

        def ratio(target: str, other: str, name: str) -> NDArray[np.float64]:
            together, alone = (times(self.pair(target, one, name), target) for one in (other, "none"))
            return together / alone

        pairs = list(itertools.product(self.targets, self.backgrounds))
        return np.array([np.max([ratio(*pair, name) for pair in pairs], axis=0) for name in self.players[player]])

    def throughput(self, player: str) -> NDArray[np.float64]:
        """Log throughput relative to the reference, the mean over runs with several jobs, [trainings, placements]."""
        found = self._relative(player, lambda name: np.log(self.throughputs(name)))
        return np.mean(found, axis=1)  # type: ignore[no-any-return]

    def throughput_of(self, player: str) -> Interval:
        """The throughput of all jobs relative to the reference, as the geometric mean over runs with several jobs."""
        return geometric(crossed_interval(self.throughput(player)))

    def worst_case(self, player: str) -> tuple[str, float]:
        """The case with the largest time relative to the reference, and this ratio, from means over all its runs."""
        means = np.mean(self.times(player, ALL), axis=(0, 2))
        (_, other), job = self.groups[ALL][int(np.argmax(means))]
        return f"{job} {title_of(other)}", float(np.exp(means.max()))


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """Times relative to Q-adaptive by background, the greatest slowdown, and the system throughput."""
    study = Study(rows)
    players = list(study.players)
    figure = Figure(figsize=(13, 4.8), layout="constrained")
    times, slowdowns, throughput = figure.subplots(1, 3, width_ratios=[4, 1.2, 1.2])
    _draw_times(times, study)
    for k, name in enumerate(players):
        several, relative = study.slowdowns(name), np.exp(study.throughput(name))
        shown = ((slowdowns, crossed_interval(several), several), (throughput, study.throughput_of(name), relative))
        for ax, interval, values in shown:
            _point(ax, k, interval, name)
            ax.plot(np.full(values.size, k + 0.25), values.ravel(), ".", color=style_of(name).color, alpha=0.5)
    slowdowns.set(title="greatest slowdown\nof a target")
    slowdowns.set_ylim(bottom=1)
    throughput.set(title=f"throughput of all jobs\n/ {REFERENCE}")
    throughput.axhline(1, color="#333333", linewidth=1)
    for ax in (slowdowns, throughput):
        ax.set_xticks(range(len(players)), players, rotation=35, ha="right")
        ax.set_xlim(-0.6, len(players) - 0.4)
        ax.grid(False, axis="x")
    legend_of(figure, [key_line(style_of(name)) for name in players])
    return figure


def _draw_times(ax: Axes, study: Study) -> None:
    groups = list(study.groups)
    others = [name for name in study.players if name != REFERENCE]
    width = 0.8 / max(len(others), 1)
    for (k, name), (g, group) in itertools.product(enumerate(others), enumerate(groups)):
        _point(ax, g + (k - (len(others) - 1) / 2) * width, study.time_of(name, group), name)
    ax.axhline(1, color=style_of(REFERENCE).color, linewidth=1.5)
    for g in range(1, len(groups)):
        ax.axvline(g - 0.5, color="#e6e6e6", linewidth=0.7, zorder=0)
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(FixedLocator(_TICKS if high < 4 * low else _COARSE_TICKS))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks(range(len(groups)), ["\n".join(textwrap.wrap(title_of(group), 8)) for group in groups])
    ax.set(xlim=(-0.5, len(groups) - 0.5), ylabel=f"communication time / {REFERENCE}")
    ax.set(title="communication time of jobs, by background")
    ax.grid(False, axis="x")


def _point(ax: Axes, x: float, interval: Interval, name: str) -> None:
    style = style_of(name)
    ends = np.abs(np.array([[interval.low], [interval.high]]) - interval.value)
    ax.errorbar([x], [interval.value], ends if np.isfinite(ends).all() else None, color=style.color,
                marker=style.marker, markersize=6, capsize=2, lw=1.2)  # fmt: skip


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    # The expected numbers are for the shipped policy, even if the rows have further policies.
    study = Study([row for row in rows if player_of(row) in ("search_jobs", REFERENCE, "ugal_group")])
    ours, reference = (float(np.mean(study.slowdowns(name))) for name in ("search_jobs", REFERENCE))
    return {
        "search_jobs_over_q_adaptive": study.time_of("search_jobs", ALL).value,
        "search_jobs_on_pairs_not_searched": (
            study.time_of("search_jobs", UNSEARCHED).value if UNSEARCHED in study.groups else None
        ),
        "greatest_slowdown_over_q_adaptive": ours / reference,
        "throughput_over_q_adaptive": study.throughput_of("search_jobs").value,
        "ugal_group_over_q_adaptive": study.time_of("ugal_group", ALL).value,
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of every policy relative to Q-adaptive, with its worst case, and of every training."""
    study = Study(rows)

    def cells(study: Study, name: str, groups: Sequence[str]) -> list[str]:
        case, ratio = study.worst_case(name)
        slowdown = interval_text(crossed_interval(study.slowdowns(name)), "{:.2f}")
        if name == REFERENCE:
            return [*["1"] * (len(groups) + 1), slowdown, "1"]
        times = (interval_text(study.time_of(name, group), "{:.3f}") for group in groups)
        return [*times, f"{ratio:.3f} {case}", slowdown, interval_text(study.throughput_of(name), "{:.3f}")]

    heads = ["worst case", "greatest slowdown", "throughput"]
    lines = [
        [name, str(len(own)) if own[0] in study.trained else "-", *cells(study, name, list(study.groups))]
        for name, own in study.players.items()
    ]
    note = (
        f"Geometric means over the cases, with 95 % intervals over the {len(study.placements)} placements, and over "
        "trainings if there are several. For a policy with one training, the intervals describe this training. The "
        "worst case has the largest mean over placements and trainings."
    )
    heads_of_all = ["", "trainings", *map(title_of, study.groups), *heads]
    parts = [section(f"Communication time relative to {REFERENCE}", heads_of_all, lines, note)]
    several = [name for own in study.players.values() if len(own) > 1 for name in own]
    if several:
        alone = {name: Study([row for row in rows if player_of(row) in (name, REFERENCE)]) for name in several}
        lines = [[name, *cells(one, name, [ALL])] for name, one in alone.items()]
        parts.append(section("Every training", ["", title_of(ALL), *heads], lines))
    return "\n".join([*parts, cost(rows)])


def title_of(group: str) -> str:
    """The label of a group in tables and on axes."""
    return f"with {group}" if group in BACKGROUNDS else group
