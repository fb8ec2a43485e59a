"""Draws bandwidths by pairs of nodes, and times relative to the baseline, and computes the compared numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from ...plotting.drawing import Row
from ...plotting.markdown import cost, section
from ...plotting.panels import draw_bars
from ...plotting.runs import Runs

_GIB_PER_GB = 1e9 / 2**30
_TIMED = {"allreduce": "all-reduce", "halo": "halo exchange"}


class Setup(NamedTuple):
    """One of the compared setups: a topology, a routing and a placement of ranks."""

    topology: str
    routing: str  # name of a routing, or of the engine that makes a table
    placement: str

    def __str__(self) -> str:
        return f"on {self.topology} with {self.routing}, {self.placement}"


BASELINE = Setup("fat_tree", "ftree", "linear")
LINEAR = Setup("hyperx", "dfsssp", "linear")
# In the order of the figure: the five setups of the study, then five that its machine did not have.
SETUPS = {
    BASELINE: "fat tree, ftree, linear",
    Setup("fat_tree", "sssp", "fragmented"): "fat tree, SSSP, clustered",
    LINEAR: "HyperX, DFSSSP, linear",
    Setup("hyperx", "dfsssp", "random"): "HyperX, DFSSSP, random",
    Setup("hyperx", "parx", "fragmented"): "HyperX, PARX, clustered",
    Setup("hyperx", "ugal", "linear"): "HyperX, UGAL, linear",
    Setup("hyperx", "dim_war", "linear"): "HyperX, DimWAR, linear",
    Setup("hyperx", "omni_war", "linear"): "HyperX, OmniWAR, linear",
    Setup("hyperx", "q_adaptive", "linear"): "HyperX, Q-adaptive, linear",
    Setup("hyperx", "policy", "linear"): "HyperX, agent (DQN), linear",
}
_OF_STUDY = 5
_LABELS = list(SETUPS.values())


class Study:
    """The rows of the figure: forwarding tables, and jobs by setup, number of nodes and bytes of a message."""

    def __init__(self, rows: Sequence[Row]) -> None:
        tables = (row for row in rows if not row.get("workload.jobs"))
        self.tables = Runs(tables, topology="topology.name", engine="engine.name")
        self.runs = Runs(
            (row for row in rows if row.get("workload.jobs")),
            job=lambda row: row["workload.jobs"][0]["name"],
            setup=_setup,
            nodes=lambda row: row["workload.jobs"][0]["ranks"],
            bytes=lambda row: row["workload.jobs"][0]["bytes"],
        )

    def mean_gib_per_s(self, setup: Setup, nodes: int, job: str = "mpigraph") -> float:
        """The mean bandwidth of a pair of nodes, in GiB/s."""
        return self.runs.mean(f"messages.{job}.mean_gb_per_s", job=job, setup=setup, nodes=nodes) * _GIB_PER_GB

    def nodes(self, job: str) -> list[int]:
        """The numbers of nodes of a job."""
        return sorted({nodes for _, nodes in self.scales(job)})

    def scales(self, *jobs: str) -> list[tuple[int, int]]:
        """The bytes of a message and the numbers of nodes of jobs."""
        own = [row["workload.jobs"][0] for job in jobs for row in self.runs.at(job=job)]
        return sorted({(job["bytes"], job["ranks"]) for job in own})

    def times_us(self, job: str, scales: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """The times until the last rank is done, as means over placements, [setups, scales]."""

        def time(setup: Setup, size: int, nodes: int) -> float:
            return self.runs.mean(f"jobs.{job}.finish_ns", job=job, setup=setup, nodes=nodes, bytes=size) / 1e3

        return np.array([[time(setup, *scale) for scale in scales] for setup in SETUPS])

    def relative_times(self, job: str, scales: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """The times relative to the baseline, [setups, scales]."""
        times = self.times_us(job, scales)
        return times / times[list(SETUPS).index(BASELINE)]  # type: ignore[no-any-return]

    def effective_bisection(self, setup: Setup) -> float:
        """The ratio of a pair's mean bandwidth in random bisections of all nodes to that of a single pair."""
        single, *_, every = self.nodes("bisection")
        return self.mean_gib_per_s(setup, every, "bisection") / self.mean_gib_per_s(setup, single, "bisection")

    def counted(self, topology: str, engine: str) -> float:
        """The same ratio counted in a forwarding table."""
        return float(self.tables.at(topology=topology, engine=engine)[0]["ebb_mean"])

    def counted_bisection(self, setup: Setup) -> float:
        """The same ratio counted in forwarding tables; NaN without tables, or with several routes per pair."""
        adaptive = list(SETUPS).index(setup) >= _OF_STUDY
        return np.nan if adaptive or setup.routing == "parx" else self.counted(setup.topology, setup.routing)


def _setup(row: Row) -> Setup:
    routing = row["routing.engine"] if row["routing.name"] == "table" else row["routing.name"]
    return Setup(row["topology.name"], routing, row["workload.placement"])


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """Heat maps per setup for the nodes of a rack and for all nodes, then bisection bandwidths and relative times."""
    study = Study(rows)
    figure = Figure(figsize=(19, 12.5), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[1, 1.3])[:, 0]
    draw_maps(above, study)
    bars, times = below.subfigures(1, 2, squeeze=False, width_ratios=[1.15, 4.4])[0]
    draw_bisection(bars.subplots(), study)
    draw_times(times, study)
    return figure


def draw_maps(figure: SubFigure, study: Study) -> None:
    """Draw the bandwidth of every pair, with a column per setup and a row per number of nodes."""
    nodes = study.nodes("mpigraph")
    panels = figure.subplots(len(nodes), len(SETUPS), squeeze=False)
    norm = Normalize(0, 4 * _GIB_PER_GB)
    for line, count in zip(panels, nodes, strict=True):
        for ax, setup in zip(line, SETUPS, strict=True):
            chosen = study.runs.at(job="mpigraph", setup=setup, nodes=count)
            # NaN for a pair of nodes, or of blocks of nodes, without a message.
            values = np.mean([np.array(row["messages.mpigraph.gb_per_s"], dtype=float) for row in chosen], axis=0)
            image = ax.imshow(values * _GIB_PER_GB, norm=norm, cmap="viridis", extent=(0, count, count, 0),
                              interpolation="nearest")  # fmt: skip
            ax.set(xticks=[], yticks=[])
            ax.set_xlabel(f"mean {study.mean_gib_per_s(setup, count):.2f} GiB/s", fontsize=9)
        line[0].set_ylabel(f"mpiGraph, {count} nodes\nsource (rows), destination (columns)", fontsize=9)
    for ax, (setup, label) in zip(panels[0], SETUPS.items(), strict=True):
        weight = "bold" if setup == BASELINE else "normal"
        ax.set_title(label.replace(", ", "\n", 1), fontsize=9, fontweight=weight)
    figure.colorbar(image, ax=panels, label="bandwidth of a pair (GiB/s)", shrink=0.8, pad=0.01)


def draw_bisection(ax: Axes, study: Study) -> None:
    """Draw the effective bisection bandwidth: bars for simulations, marks for values counted in forwarding tables."""
    values = [study.effective_bisection(setup) for setup in SETUPS]
    colors = ["#0072B2"] * _OF_STUDY + ["#009E73"] * (len(SETUPS) - _OF_STUDY)
    draw_bars(ax, [values], [colors], _LABELS, along="y")
    counted = [study.counted_bisection(setup) for setup in SETUPS]
    ax.plot(counted, range(len(SETUPS)), linestyle="none", marker="D", markersize=8, markerfacecolor="none",
            markeredgecolor="k", label="counted in the tables")  # fmt: skip
    for k, value in enumerate(values):
        ax.annotate(f"{value:.2f}", (1.02, k), va="center", fontsize=9)
    ax.set(xlim=(0, 1.18), ylim=(len(SETUPS) - 0.5, -0.5))
    ax.tick_params(axis="y", labelsize=9)
    ax.set_title("effective bisection bandwidth", fontsize=10, fontweight="bold", pad=22)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 0.995), frameon=False, fontsize=9)
    ax.set_xlabel("simulated, relative to a single pair")


def draw_times(figure: SubFigure, study: Study) -> None:
    """Draw the times of the jobs relative to the baseline, by message size and nodes."""
    scales = study.scales(*_TIMED)
    sizes = [size for size, _ in scales]
    panels, small = figure.subplots(1, len(_TIMED), sharey=True), 8 if len(scales) < 20 else 5
    for ax, (kind, title) in zip(panels, _TIMED.items(), strict=True):
        found = study.relative_times(kind, scales)
        image = ax.imshow(found, norm=LogNorm(1 / 4, 4), cmap="RdBu_r", aspect="auto")
        for (y, x), value in np.ndenumerate(found):
            color = "k" if 0.45 < value < 2.2 else "w"
            ax.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=small, color=color)
        ax.set_xticks(range(len(scales)), [str(nodes) for _, nodes in scales], fontsize=small, rotation=0)
        ax.set_yticks(range(len(SETUPS)), _LABELS, fontsize=9)
        ax.set_xlabel("nodes, by message size")
        ax.tick_params(length=0)
        ax.grid(False)
        ax.spines[:].set_visible(False)
        for size in dict.fromkeys(sizes):
            first, count = sizes.index(size), sizes.count(size)
            ax.annotate(size_text(size), (first + (count - 1) / 2, -0.6), ha="center", va="bottom", fontsize=9,
                        annotation_clip=False)  # fmt: skip
            if first:
                ax.axvline(first - 0.5, color="k", linewidth=1.2)
        ax.axhline(_OF_STUDY - 0.5, color="k", linewidth=1.2)
        ax.set_title(f"{title}: time / time of the baseline", fontsize=10, fontweight="bold", pad=22)
    bar = figure.colorbar(image, ax=panels, label="time / time of the baseline (blue: faster)", shrink=0.6, pad=0.01,
                          ticks=[0.25, 0.5, 1, 2, 4], format="%g")  # fmt: skip
    bar.ax.minorticks_off()


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    study, setups = Study(rows), list(SETUPS)
    rack = {setup: study.mean_gib_per_s(setup, 28) for setup in setups}
    bisections = [study.effective_bisection(setup) for setup in setups]
    scales = study.scales("allreduce")
    # Geometric means, [setups].
    allreduce, halo = (np.exp(np.log(study.relative_times(job, scales)).mean(axis=1)) for job in _TIMED)
    linear = setups.index(LINEAR)
    return {
        "mpigraph_hyperx": rack[LINEAR],
        "mpigraph_fat_tree": rack[BASELINE],
        "mpigraph_ratio": rack[BASELINE] / rack[LINEAR],
        "mpigraph_model": rack[LINEAR] / (4 * _GIB_PER_GB),
        "mpigraph_parx": rack[Setup("hyperx", "parx", "fragmented")] / rack[LINEAR],
        "mpigraph_adaptive": max(rack[setup] for setup in setups[_OF_STUDY:]) / rack[LINEAR],
        "ebb_dor": study.counted("hyperx", "dor"),
        "ebb_hyperx": bisections[linear],
        "ebb_fat_tree": bisections[setups.index(BASELINE)],
        "ebb_adaptive": max(bisections[_OF_STUDY:]) / max(bisections[2:_OF_STUDY]),
        "allreduce_hyperx": float(allreduce[linear]),
        "halo_hyperx": float(halo[linear]),
        "halo_adaptive": float(halo[_OF_STUDY:].min()),
    }


def size_text(size: int) -> str:
    """A size with its unit, such as 1 KiB."""
    exponent = 2 if size >= 2**20 else int(size >= 2**10)
    return f"{size / 2 ** (10 * exponent):g} {('B', 'KiB', 'MiB')[exponent]}"


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of the bandwidths and times of every setup."""
    study, lines = Study(rows), []
    nodes = study.nodes("mpigraph")
    for setup, label in SETUPS.items():
        counted = study.counted_bisection(setup)
        cells = [f"{study.effective_bisection(setup):.3f}", "-" if np.isnan(counted) else f"{counted:.3f}"]
        lines.append([label, *(f"{study.mean_gib_per_s(setup, n):.2f}" for n in nodes), *cells])
    heads = ["", *(f"mpiGraph, {n} nodes, GiB/s" for n in nodes), "effective bisection bandwidth", "counted"]
    parts = [section("Bandwidth", heads, lines)]
    for kind, title in _TIMED.items():
        scales = study.scales(kind)
        times = zip(_LABELS, study.times_us(kind, scales), strict=True)
        lines = [[label, *(f"{time:.1f}" for time in of)] for label, of in times]
        heads = ["", *(f"{size_text(size)}, {n}" for size, n in scales)]
        parts.append(section(f"{title}: time in µs, by message size and nodes", heads, lines))
    return "\n".join([*parts, cost(rows).replace("runs took", "runs and tables took")])
