"""Draws bandwidths by pairs of nodes, and times relative to the baseline, and computes the compared numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from ...plotting.drawing import Row, polish

_GIB_PER_GB = 1e9 / 2**30
_TIMED = {"allreduce": "all-reduce", "halo": "halo exchange"}


class Setup(NamedTuple):
    """One of the compared setups: a topology, a routing and a placement of ranks."""

    topology: str
    routing: str  # name of a routing, or of the engine that makes a table
    placement: str


BASELINE = Setup("fat_tree", "ftree", "linear")
LINEAR = Setup("hyperx", "dfsssp", "linear")
# In the order of the figure: the five setups of the study, then five that its machine did not have.
SETUPS = {
    BASELINE: "fat tree\nftree, linear",
    Setup("fat_tree", "sssp", "fragmented"): "fat tree\nSSSP, clustered",
    LINEAR: "HyperX\nDFSSSP, linear",
    Setup("hyperx", "dfsssp", "random"): "HyperX\nDFSSSP, random",
    Setup("hyperx", "parx", "fragmented"): "HyperX\nPARX, clustered",
    Setup("hyperx", "ugal", "linear"): "HyperX\nUGAL, linear",
    Setup("hyperx", "dim_war", "linear"): "HyperX\nDimWAR, linear",
    Setup("hyperx", "omni_war", "linear"): "HyperX\nOmniWAR, linear",
    Setup("hyperx", "q_adaptive", "linear"): "HyperX\nQ-adaptive, linear",
    Setup("hyperx", "policy", "linear"): "HyperX\nagent (DQN), linear",
}
_OF_STUDY = 5


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """Heat maps per setup for the nodes of a rack and for all nodes, then bisection bandwidths and relative times.

    Raises:
        ValueError: a setup has no row for a job.
    """
    figure = Figure(figsize=(19, 12.5), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[1, 1.3])[:, 0]
    draw_maps(above, rows)
    bars, times = below.subfigures(1, 2, squeeze=False, width_ratios=[1.15, 4.4])[0]
    draw_bisection(bars.subplots(), rows)
    draw_times(times, rows)
    return figure


def draw_maps(figure: SubFigure, rows: Sequence[Row]) -> None:
    """Draw the bandwidth of every pair, with a column per setup and a row per number of nodes."""
    nodes = sorted({ranks_of(row) for row in rows if kind_of(row) == "mpigraph"})
    panels = figure.subplots(len(nodes), len(SETUPS), squeeze=False)
    norm = Normalize(0, 4 * _GIB_PER_GB)
    for line, count in zip(panels, nodes, strict=True):
        for ax, setup in zip(line, SETUPS, strict=True):
            chosen = rows_of(rows, setup, "mpigraph", count)
            values = np.mean([gib_per_s(row) for row in chosen], axis=0)
            image = ax.imshow(values, norm=norm, cmap="viridis", extent=(0, count, count, 0), interpolation="nearest")
            ax.set_xlabel(f"mean {mean_gib_per_s(rows, setup, count):.2f} GiB/s", fontsize=9)
            ax.set_xticks([])
            ax.set_yticks([])
        line[0].set_ylabel(f"mpiGraph, {count} nodes\nsource (rows), destination (columns)", fontsize=9)
    for ax, (setup, label) in zip(panels[0], SETUPS.items(), strict=True):
        ax.set_title(label, fontsize=9, fontweight="bold" if setup == BASELINE else "normal")
    figure.colorbar(image, ax=panels, label="bandwidth of a pair (GiB/s)", shrink=0.8, pad=0.01)


def draw_bisection(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw the effective bisection bandwidth: bars for simulations, marks for values counted in forwarding tables."""
    setups = list(SETUPS)
    values = [effective_bisection(rows, setup) for setup in setups]
    colors = ["#0072B2" if k < _OF_STUDY else "#009E73" for k in range(len(setups))]
    ax.barh(range(len(setups)), values, 0.72, color=colors)
    counted = [counted_bisection(rows, setup) for setup in setups]
    ax.plot(
        [np.nan if value is None else value for value in counted], range(len(setups)), linestyle="none", marker="D",
        markersize=8, markerfacecolor="none", markeredgecolor="k", label="counted in the tables",
    )  # fmt: skip
    for k, value in enumerate(values):
        ax.annotate(f"{value:.2f}", (1.02, k), va="center", fontsize=9)
    ax.set_yticks(range(len(setups)), [label.replace("\n", " ") for label in SETUPS.values()], fontsize=9)
    ax.set_ylim(len(setups) - 0.5, -0.5)
    ax.set_xlim(0, 1.18)
    ax.set_title("effective bisection bandwidth", fontsize=10, fontweight="bold", pad=22)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 0.995), frameon=False, fontsize=9)
    ax.set_xlabel("simulated, relative to a single pair")
    polish(ax)
    ax.grid(False, axis="y")


def draw_times(figure: SubFigure, rows: Sequence[Row]) -> None:
    """Draw the times of the jobs relative to the baseline, by message size and nodes."""
    scales = sorted({(bytes_of(row), ranks_of(row)) for row in rows if kind_of(row) in _TIMED})
    norm = LogNorm(1 / 4, 4)
    panels = figure.subplots(1, len(_TIMED), sharey=True)
    for ax, (kind, title) in zip(panels, _TIMED.items(), strict=True):
        found = relative_times(rows, kind, scales)
        image = ax.imshow(found, norm=norm, cmap="RdBu_r", aspect="auto")
        size = 8 if len(scales) < 20 else 5
        for y, x in np.ndindex(found.shape):
            dark = not 0.45 < found[y, x] < 2.2
            ax.text(x, y, f"{found[y, x]:.2f}", ha="center", va="center", fontsize=size, color="w" if dark else "k")
        ax.set_xticks(range(len(scales)), [str(nodes) for _, nodes in scales], fontsize=size, rotation=0)
        ax.set_yticks(range(len(SETUPS)), [label.replace("\n", " ") for label in SETUPS.values()], fontsize=9)
        ax.set_xlabel("nodes, by message size")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        sizes = [size for size, _ in scales]
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


def relative_times(rows: Sequence[Row], kind: str, scales: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Times relative to the baseline, [setups, scales]. A scale is a pair of bytes and nodes."""
    times = np.array([[time_us(rows, setup, kind, nodes, size) for size, nodes in scales] for setup in SETUPS])
    relative: NDArray[np.float64] = times / times[list(SETUPS).index(BASELINE)]
    return relative


def setup_of(row: Row) -> Setup:
    """The setup of a row."""
    routing = row["routing.engine"] if row["routing.name"] == "table" else row["routing.name"]
    return Setup(row["topology.name"], routing, row["workload.placement"])


def kind_of(row: Row) -> str:
    """The row's job: allreduce, halo, mpigraph or bisection; "table" for a forwarding table."""
    jobs = row.get("workload.jobs")
    return str(jobs[0]["name"]) if jobs else "table"


def ranks_of(row: Row) -> int:
    """The number of nodes of the row's job."""
    return int(row["workload.jobs"][0]["ranks"])


def bytes_of(row: Row) -> int:
    """The bytes of a message of the row's job."""
    return int(row["workload.jobs"][0]["bytes"])


def rows_of(rows: Sequence[Row], setup: Setup, kind: str, nodes: int, size: int | None = None) -> list[Row]:
    """The rows of a setup's job with all placements.

    Raises:
        ValueError: there is no such row. The figure needs every row.
    """
    chosen = [
        row
        for row in rows
        if kind_of(row) == kind and (setup_of(row), ranks_of(row)) == (setup, nodes) and size in (None, bytes_of(row))
    ]
    if not chosen:
        what = f"{kind} of {nodes} nodes" + (f" and {size} bytes" if size else "")
        raise ValueError(f"no row for {what} on {setup.topology} with {setup.routing}, {setup.placement}")
    return chosen


def time_us(rows: Sequence[Row], setup: Setup, kind: str, nodes: int, size: int) -> float:
    """The time in us until the last rank is done, as the mean over placements."""
    return float(np.mean([row[f"jobs.{kind}.finish_ns"] for row in rows_of(rows, setup, kind, nodes, size)])) / 1e3


def gib_per_s(row: Row) -> NDArray[np.float64]:
    """[senders, receivers] bandwidth between nodes, or blocks of nodes, in GiB/s. NaN if there was no message."""
    return np.array(row["messages.mpigraph.gb_per_s"], dtype=float) * _GIB_PER_GB


def mean_gib_per_s(rows: Sequence[Row], setup: Setup, nodes: int) -> float:
    """The mean bandwidth of a pair in mpiGraph, in GiB/s."""
    chosen = rows_of(rows, setup, "mpigraph", nodes)
    return float(np.mean([row["messages.mpigraph.mean_gb_per_s"] for row in chosen])) * _GIB_PER_GB


def effective_bisection(rows: Sequence[Row], setup: Setup) -> float:
    """The ratio of a pair's mean bandwidth in random bisections of all nodes to that of a single pair."""
    all_nodes = max(ranks_of(row) for row in rows if kind_of(row) == "bisection")
    mean = [
        float(np.mean([row["messages.bisection.mean_gb_per_s"] for row in rows_of(rows, setup, "bisection", nodes)]))
        for nodes in (all_nodes, 2)
    ]
    return mean[0] / mean[1]


def counted_bisection(rows: Sequence[Row], setup: Setup) -> float | None:
    """The same ratio counted in forwarding tables; None without tables, or with several routes per pair."""
    if list(SETUPS).index(setup) >= _OF_STUDY or setup.routing == "parx":
        return None
    return table_of(rows, setup.topology, setup.routing)["ebb_mean"]  # type: ignore[no-any-return]


def table_of(rows: Sequence[Row], topology: str, engine: str) -> Row:
    """The row of a forwarding table.

    Raises:
        ValueError: there is none.
    """
    for row in rows:
        if kind_of(row) == "table" and (row["topology.name"], row["engine.name"]) == (topology, engine):
            return row
    raise ValueError(f"no row for the table of {engine} on {topology}")


def best_adaptive(rows: Sequence[Row], nodes: int) -> float:
    """The highest mean bandwidth of mpiGraph among the setups with adaptive routing."""
    return max(mean_gib_per_s(rows, setup, nodes) for setup in list(SETUPS)[_OF_STUDY:])


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    rack = {setup: mean_gib_per_s(rows, setup, 28) for setup in SETUPS}
    bandwidth = 4 * _GIB_PER_GB
    scales = sorted({(bytes_of(row), ranks_of(row)) for row in rows if kind_of(row) == "allreduce"})
    setups = list(SETUPS)
    means = {kind: np.exp(np.log(relative_times(rows, kind, scales)).mean(axis=1)) for kind in _TIMED}
    return {
        "mpigraph_hyperx": rack[LINEAR],
        "mpigraph_fat_tree": rack[BASELINE],
        "mpigraph_ratio": rack[BASELINE] / rack[LINEAR],
        "mpigraph_model": rack[LINEAR] / bandwidth,
        "mpigraph_parx": rack[Setup("hyperx", "parx", "fragmented")] / rack[LINEAR],
        "mpigraph_adaptive": best_adaptive(rows, 28) / rack[LINEAR],
        "ebb_dor": table_of(rows, "hyperx", "dor")["ebb_mean"],
        "ebb_hyperx": effective_bisection(rows, LINEAR),
        "ebb_fat_tree": effective_bisection(rows, BASELINE),
        "ebb_adaptive": max(effective_bisection(rows, setup) for setup in setups[_OF_STUDY:])
        / max(effective_bisection(rows, setup) for setup in setups[2:_OF_STUDY]),
        "allreduce_hyperx": float(means["allreduce"][setups.index(LINEAR)]),
        "halo_hyperx": float(means["halo"][setups.index(LINEAR)]),
        "halo_adaptive": float(means["halo"][_OF_STUDY:].min()),
    }


def size_text(size: int) -> str:
    """A size with its unit, such as 1 KiB."""
    for unit, word in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {word}"
    return f"{size} B"


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of the bandwidths and times of every setup."""
    nodes = sorted({ranks_of(row) for row in rows if kind_of(row) == "mpigraph"})
    lines = [
        "## Bandwidth\n",
        f"| | {' | '.join(f'mpiGraph, {n} nodes, GiB/s' for n in nodes)} | effective bisection bandwidth | counted |",
        "|---" * (3 + len(nodes)) + "|",
    ]
    for setup, label in SETUPS.items():
        cells = [f"{mean_gib_per_s(rows, setup, n):.2f}" for n in nodes] + [f"{effective_bisection(rows, setup):.3f}"]
        counted = counted_bisection(rows, setup)
        cells.append("-" if counted is None else f"{counted:.3f}")
        lines.append(f"| {label.replace(chr(10), ', ')} | {' | '.join(cells)} |")
    for kind, title in _TIMED.items():
        scales = sorted({(bytes_of(row), ranks_of(row)) for row in rows if kind_of(row) == kind})
        names = [f"{size_text(size)}, {n}" for size, n in scales]
        lines += [f"\n## {title}: time in µs, by message size and nodes\n", f"| | {' | '.join(names)} |"]
        lines.append("|---" * (1 + len(scales)) + "|")
        for setup, label in SETUPS.items():
            cells = [f"{time_us(rows, setup, kind, n, size):.1f}" for size, n in scales]
            lines.append(f"| {label.replace(chr(10), ', ')} | {' | '.join(cells)} |")
    seconds = sum(row.get("cpu_seconds") or 0 for row in rows)
    lines.append(f"\nAll {len(rows)} runs and tables took {seconds:,.0f} CPU seconds.")
    return "\n".join(lines) + "\n"
