"""The figures of the study by file name, the compared numbers, and the Markdown tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...plotting.drawing import Row, style_of
from ...plotting.markdown import cost, section
from ...plotting.panels import draw_bars
from ...plotting.players import player_of
from ...plotting.runs import Runs
from ..delays import draw_delays

NETWORKS = {
    "dragonfly": "Dragonfly",
    "hyperx": "HyperX",
    "rail_optimised": "rail-optimised fat tree",
    "dragonfly_plus": "Dragonfly+",
}
PLACEMENTS = ("random", "linear", "random_router")
# Pairs of a target and a background, in the order of the figures.
PAIRS = (
    *(("dense", "none"), ("dense", "halo3d"), ("dense", "moe"), ("moe", "none"), ("moe", "halo3d"), ("moe", "dense")),
    *(("fft3d", "none"), ("fft3d", "dense")),
)
WITH_BACKGROUND = tuple(pair for pair in PAIRS if pair[1] != "none")
TITLES = {"dense": "GPT-13B", "moe": "Mixtral 8x7B", "halo3d": "Halo3D", "fft3d": "FFT3D", "none": "alone"}
_MODELS = {"gpt_13b": "dense", "mixtral_8x7b": "moe"}


class Study:
    """The rows by network, pair of jobs, routing and placement."""

    def __init__(self, rows: Sequence[Row]) -> None:
        def pair(row: Row) -> tuple[str, str]:
            return job_of(row, "target"), job_of(row, "background")

        labels = {"network": "topology.name", "placement": "workload.placement"}
        self.runs = Runs(rows, pair=pair, routing=player_of, **labels)
        self.networks = [name for name in NETWORKS if name in self.runs.values("network")]

    def routings(self, network: str) -> list[str]:
        """The routings and policies of a network, in the order of the rows."""
        return list(dict.fromkeys(map(player_of, self.runs.at(network=network))))

    def run(self, network: str, pair: tuple[str, str], routing: str, placement: str = "random") -> Row:
        """The run of a target with a background."""
        return self.runs.at(network=network, pair=pair, routing=routing, placement=placement)[0]

    def iteration_us(self, *where: Any) -> float:
        """The time of the target from its first start to its last finish, per iteration, in us; arguments of `run`."""
        row = self.run(*where)
        job = f"jobs.{row['workload.target']}"
        iterations = row.get("workload.target_params.iterations") or 1
        return (float(row[f"{job}.finish_ns"]) - float(row[f"{job}.start_ns"])) / 1e3 / float(iterations)

    def slowdown(self, network: str, pair: tuple[str, str], *where: str) -> float:
        """The iteration time with a background, relative to the target alone under the same routing and placement."""
        return self.iteration_us(network, pair, *where) / self.iteration_us(network, (pair[0], "none"), *where)

    def slowdowns(self, network: str, placement: str = "random") -> NDArray[np.float64]:
        """The slowdowns of all pairs with a background, [routings, pairs]."""
        names = self.routings(network)
        return np.array([[self.slowdown(network, pair, name, placement) for pair in WITH_BACKGROUND] for name in names])

    def delay_ns(self, network: str, culprit: int) -> NDArray[np.float64]:
        """The delay of a target's packet by itself (0) or by the background (1), [routings, pairs]."""

        def delay(row: Row) -> float:
            # Rows and columns of the account have the order of `blame.jobs`, the target first.
            return sum(float(row[f"blame.{kind}_ns_per_packet"][0][culprit] or 0) for kind in ("wait", "stall"))

        names = self.routings(network)
        return np.array([[delay(self.run(network, pair, name)) for pair in WITH_BACKGROUND] for name in names])


def job_of(row: Row, role: str) -> str:
    """The job in a role (`target` or `background`): `dense`, `moe`, or the name of its motif."""
    motif = str(row[f"workload.{role}"])
    return _MODELS[str(row[f"workload.{role}_params.model"])] if motif == "training_step" else motif


def pair_title(pair: tuple[str, str]) -> str:
    """A pair in figures."""
    return TITLES[pair[0]] if pair[1] == "none" else f"{TITLES[pair[0]]}\nwith {TITLES[pair[1]]}"


def draw(rows: Sequence[Row], expected: Any) -> dict[str, Figure]:
    """Every figure of the study, by file name: times, slowdowns, delays, and slowdowns over the placements."""
    study = Study(rows)
    times, slowdowns = _panels(len(study.networks)), _panels(len(study.networks))
    for of_times, of_slowdowns, network in zip(times.axes, slowdowns.axes, study.networks, strict=True):
        names = study.routings(network)
        heights = np.array([[study.iteration_us(network, pair, name) for pair in PAIRS] for name in names])
        _bars(of_times, heights, PAIRS, names)
        of_times.set(ylabel="iteration time (us)", title=NETWORKS[network], ylim=(0, heights.max() * 1.22))
        heights = study.slowdowns(network)
        _draw_slowdowns(of_slowdowns, heights, names, NETWORKS[network], heights)
    of = {name: {row["workload.placement"] for row in study.runs.at(network=name)} for name in study.networks}
    several = max(study.networks, key=lambda name: len(of[name]))
    shown = {placement: study.slowdowns(several, placement) for placement in PLACEMENTS if placement in of[several]}
    placements = _panels(len(shown))
    for ax, (placement, heights) in zip(placements.axes, shown.items(), strict=True):
        title = f"{NETWORKS[several]}, placement={placement}"
        _draw_slowdowns(ax, heights, study.routings(several), title, np.array(list(shown.values())))
    return {"iteration_times": times, "slowdowns": slowdowns, "blame": draw_blame(study), "placements": placements}


def _panels(count: int) -> Figure:
    figure = Figure(figsize=(13, 2.9 * count + 0.5), layout="constrained")
    figure.subplots(count, 1)
    return figure


def _bars(ax: Axes, heights: NDArray[np.float64], pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> None:
    draw_bars(ax, heights, [style_of(name).color for name in names], list(map(pair_title, pairs)), names, width=0.84)
    ax.tick_params(axis="x", labelsize=9)
    ax.legend(frameon=False, fontsize=8, ncols=len(names), loc="upper left")


def _draw_slowdowns(
    ax: Axes, heights: NDArray[np.float64], names: Sequence[str], title: str, every: NDArray[np.float64]
) -> None:
    """Draw the iteration time with a background / alone, on an axis that holds `every`. 1 means no interference."""
    _bars(ax, heights, WITH_BACKGROUND, names)
    ax.axhline(1, color="#333333", linewidth=1)
    # Slowdowns are close to 1, so the axis does not begin at 0. The legend needs room above the bars.
    low = min(0.9, every.min())
    ax.set(ylabel="iteration time / alone", title=title, ylim=(low, low + (max(1.05, every.max()) - low) * 1.3))


def draw_blame(study: Study) -> Figure:
    """The delay of a target's packet by the target itself and by the background, waits and stalls together."""
    figure = Figure(figsize=(13, 2.6 * len(study.networks)), layout="constrained")
    found = {}
    for (r, k), ax in np.ndenumerate(figure.subplots(len(study.networks), 2, squeeze=False)):
        network, culprit = study.networks[r], ("the target itself", "the background")[k]
        found[ax], names = study.delay_ns(network, k)[..., None], study.routings(network)
        ax.set_title(f"{NETWORKS[network]}: delay by {culprit}", fontsize=10)
        ax.set_yticks(range(len(names)), names if k == 0 else [])
        ax.set_xticks(range(len(WITH_BACKGROUND)), list(map(pair_title, WITH_BACKGROUND)), fontsize=7)
    draw_delays(figure, found, "ns per packet of the target", shrink=0.6)
    return figure


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    study = Study(rows)
    every = np.concatenate([study.slowdowns(network).ravel() for network in study.networks])
    q_adaptive, minimal = (
        _mean([study.iteration_us(study.networks[0], pair, name) for pair in WITH_BACKGROUND])
        for name in ("q_adaptive", "minimal")
    )
    return {
        "least_slowdown": float(every.min()),
        "mean_slowdown": _mean(every),
        "q_adaptive_against_minimal": q_adaptive / minimal,
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown: iteration times and slowdowns by network and routing."""
    study, parts = Study(rows), []
    for network in study.networks:
        names = study.routings(network)
        lines = []
        for pair in PAIRS:
            cells = (
                f"{study.iteration_us(network, pair, name):,.1f} ({study.slowdown(network, pair, name):.2f})"
                for name in names
            )
            lines.append([TITLES[pair[0]], TITLES[pair[1]], *cells])
        worst = study.slowdowns(network).max(axis=1)
        lines.append(["largest slowdown", "", *(f"{value:.2f}" for value in worst)])
        text = "Iteration time in us, and relative to the target alone."
        parts.append(section(NETWORKS[network], ["target", "background", *names], lines, text))
    return "\n".join([*parts, cost(rows)])


def _mean(values: Sequence[float] | NDArray[np.float64]) -> float:
    return float(np.exp(np.mean(np.log(values))))
