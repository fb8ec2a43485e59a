"""Draws bandwidths by pairs of nodes and times against the baseline, and takes the compared numbers."""

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


class Way(NamedTuple):
    """What is compared: a topology, what routes on it, and where the ranks are."""

    topology: str
    routing: str  # or the engine of a table
    placement: str


BASELINE = Way("fat_tree", "ftree", "linear")
LINEAR = Way("hyperx", "dfsssp", "linear")
# In the order of the figure: the five of the study, and five that its machine did not have.
WAYS = {
    BASELINE: "fat tree\nftree, linear",
    Way("fat_tree", "sssp", "fragmented"): "fat tree\nSSSP, clustered",
    LINEAR: "HyperX\nDFSSSP, linear",
    Way("hyperx", "dfsssp", "random"): "HyperX\nDFSSSP, random",
    Way("hyperx", "parx", "fragmented"): "HyperX\nPARX, clustered",
    Way("hyperx", "ugal", "linear"): "HyperX\nUGAL, linear",
    Way("hyperx", "dim_war", "linear"): "HyperX\nDimWAR, linear",
    Way("hyperx", "omni_war", "linear"): "HyperX\nOmniWAR, linear",
    Way("hyperx", "q_adaptive", "linear"): "HyperX\nQ-adaptive, linear",
    Way("hyperx", "policy", "linear"): "HyperX\nagent (DQN), linear",
}
_OF_STUDY = 5


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """Above a heat map per way for the nodes of a rack and for all; below bisection bandwidth and relative times.

    Raises:
        ValueError: a way has no row for a job.
    """
    figure = Figure(figsize=(19, 12.5), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[1, 1.3])[:, 0]
    draw_maps(above, rows)
    bars, times = below.subfigures(1, 2, squeeze=False, width_ratios=[1.15, 4.4])[0]
    draw_bisection(bars.subplots(), rows)
    draw_times(times, rows)
    return figure


def draw_maps(figure: SubFigure, rows: Sequence[Row]) -> None:
    """Bandwidth of every pair: a column per way, a row per number of nodes."""
    nodes = sorted({ranks_of(row) for row in rows if kind_of(row) == "mpigraph"})
    panels = figure.subplots(len(nodes), len(WAYS), squeeze=False)
    norm = Normalize(0, 4 * _GIB_PER_GB)
    for line, count in zip(panels, nodes, strict=True):
        for ax, way in zip(line, WAYS, strict=True):
            chosen = rows_of(rows, way, "mpigraph", count)
            values = np.mean([gib_per_s(row) for row in chosen], axis=0)
            image = ax.imshow(values, norm=norm, cmap="viridis", extent=(0, count, count, 0), interpolation="nearest")
            ax.set_xlabel(f"mean {mean_gib_per_s(rows, way, count):.2f} GiB/s", fontsize=9)
            ax.set_xticks([])
            ax.set_yticks([])
        line[0].set_ylabel(f"mpiGraph, {count} nodes\nfrom node (down), to node (across)", fontsize=9)
    for ax, (way, label) in zip(panels[0], WAYS.items(), strict=True):
        ax.set_title(label, fontsize=9, fontweight="bold" if way == BASELINE else "normal")
    figure.colorbar(image, ax=panels, label="bandwidth of a pair (GiB/s)", shrink=0.8, pad=0.01)


def draw_bisection(ax: Axes, rows: Sequence[Row]) -> None:
    """Effective bisection bandwidth, a bar per way; where there are tables, what is counted in them as a mark."""
    ways = list(WAYS)
    values = [effective_bisection(rows, way) for way in ways]
    colors = ["#0072B2" if k < _OF_STUDY else "#009E73" for k in range(len(ways))]
    ax.barh(range(len(ways)), values, 0.72, color=colors)
    counted = [counted_bisection(rows, way) for way in ways]
    ax.plot(
        [np.nan if value is None else value for value in counted], range(len(ways)), linestyle="none", marker="D",
        markersize=8, markerfacecolor="none", markeredgecolor="k", label="counted in its tables",
    )  # fmt: skip
    for k, value in enumerate(values):
        ax.annotate(f"{value:.2f}", (1.02, k), va="center", fontsize=9)
    ax.set_yticks(range(len(ways)), [label.replace("\n", " ") for label in WAYS.values()], fontsize=9)
    ax.set_ylim(len(ways) - 0.5, -0.5)
    ax.set_xlim(0, 1.18)
    ax.set_title("effective bisection bandwidth", fontsize=10, fontweight="bold", pad=22)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 0.995), frameon=False, fontsize=9)
    ax.set_xlabel("simulated, over that of a pair alone")
    polish(ax)
    ax.grid(False, axis="y")


def draw_times(figure: SubFigure, rows: Sequence[Row]) -> None:
    """Times of the jobs as tables of factors of the baseline's, by message size and nodes."""
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
        ax.set_yticks(range(len(WAYS)), [label.replace("\n", " ") for label in WAYS.values()], fontsize=9)
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
    bar = figure.colorbar(image, ax=panels, label="time / baseline's (blue: faster)", shrink=0.6, pad=0.01,
                          ticks=[0.25, 0.5, 1, 2, 4], format="%g")  # fmt: skip
    bar.ax.minorticks_off()


def relative_times(rows: Sequence[Row], kind: str, scales: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Times over the baseline's, [ways, scales], a scale being bytes and nodes."""
    times = np.array([[time_us(rows, way, kind, nodes, size) for size, nodes in scales] for way in WAYS])
    relative: NDArray[np.float64] = times / times[list(WAYS).index(BASELINE)]
    return relative


def way_of(row: Row) -> Way:
    """What a row is of."""
    routing = row["routing.engine"] if row["routing.name"] == "table" else row["routing.name"]
    return Way(row["topology.name"], routing, row["workload.placement"])


def kind_of(row: Row) -> str:
    """The row's job: allreduce, halo, mpigraph or bisection; "table" of a forwarding table."""
    jobs = row.get("workload.jobs")
    return str(jobs[0]["name"]) if jobs else "table"


def ranks_of(row: Row) -> int:
    """Nodes of the row's job."""
    return int(row["workload.jobs"][0]["ranks"])


def bytes_of(row: Row) -> int:
    """Bytes of a message of the row's job."""
    return int(row["workload.jobs"][0]["bytes"])


def rows_of(rows: Sequence[Row], way: Way, kind: str, nodes: int, size: int | None = None) -> list[Row]:
    """The rows of a way's job, of all placements.

    Raises:
        ValueError: there is none; a figure is not drawn with a part missing.
    """
    chosen = [
        row
        for row in rows
        if kind_of(row) == kind and (way_of(row), ranks_of(row)) == (way, nodes) and size in (None, bytes_of(row))
    ]
    if not chosen:
        what = f"{kind} of {nodes} nodes" + (f" and {size} bytes" if size else "")
        raise ValueError(f"no row for {what} on {way.topology} with {way.routing}, {way.placement}")
    return chosen


def time_us(rows: Sequence[Row], way: Way, kind: str, nodes: int, size: int) -> float:
    """Until the last rank is done, in microseconds, the mean over placements."""
    return float(np.mean([row[f"jobs.{kind}.finish_ns"] for row in rows_of(rows, way, kind, nodes, size)])) / 1e3


def gib_per_s(row: Row) -> NDArray[np.float64]:
    """Bandwidth from node (or block of nodes) to node in GiB/s, NaN where nothing was sent."""
    return np.array(row["messages.mpigraph.gb_per_s"], dtype=float) * _GIB_PER_GB


def mean_gib_per_s(rows: Sequence[Row], way: Way, nodes: int) -> float:
    """Mean bandwidth of a pair in mpiGraph, GiB/s."""
    chosen = rows_of(rows, way, "mpigraph", nodes)
    return float(np.mean([row["messages.mpigraph.mean_gb_per_s"] for row in chosen])) * _GIB_PER_GB


def effective_bisection(rows: Sequence[Row], way: Way) -> float:
    """Mean bandwidth of a pair in random bisections of all nodes, over that of a pair that is alone."""
    all_nodes = max(ranks_of(row) for row in rows if kind_of(row) == "bisection")
    mean = [
        float(np.mean([row["messages.bisection.mean_gb_per_s"] for row in rows_of(rows, way, "bisection", nodes)]))
        for nodes in (all_nodes, 2)
    ]
    return mean[0] / mean[1]


def counted_bisection(rows: Sequence[Row], way: Way) -> float | None:
    """The same as it is counted in a way's forwarding tables; None where there are none, or several routes per pair."""
    if list(WAYS).index(way) >= _OF_STUDY or way.routing == "parx":
        return None
    return table_of(rows, way.topology, way.routing)["ebb_mean"]  # type: ignore[no-any-return]


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
    """The highest mean bandwidth of mpiGraph among the ways that route adaptively."""
    return max(mean_gib_per_s(rows, way, nodes) for way in list(WAYS)[_OF_STUDY:])


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """Our number for every entry of `expected.yaml`."""
    rack = {way: mean_gib_per_s(rows, way, 28) for way in WAYS}
    bandwidth = 4 * _GIB_PER_GB
    scales = sorted({(bytes_of(row), ranks_of(row)) for row in rows if kind_of(row) == "allreduce"})
    ways = list(WAYS)
    means = {kind: np.exp(np.log(relative_times(rows, kind, scales)).mean(axis=1)) for kind in _TIMED}
    return {
        "mpigraph_hyperx": rack[LINEAR],
        "mpigraph_fat_tree": rack[BASELINE],
        "mpigraph_ratio": rack[BASELINE] / rack[LINEAR],
        "mpigraph_model": rack[LINEAR] / bandwidth,
        "mpigraph_parx": rack[Way("hyperx", "parx", "fragmented")] / rack[LINEAR],
        "mpigraph_adaptive": best_adaptive(rows, 28) / rack[LINEAR],
        "ebb_dor": table_of(rows, "hyperx", "dor")["ebb_mean"],
        "ebb_hyperx": effective_bisection(rows, LINEAR),
        "ebb_fat_tree": effective_bisection(rows, BASELINE),
        "ebb_adaptive": max(effective_bisection(rows, way) for way in ways[_OF_STUDY:])
        / max(effective_bisection(rows, way) for way in ways[2:_OF_STUDY]),
        "allreduce_hyperx": float(means["allreduce"][ways.index(LINEAR)]),
        "halo_hyperx": float(means["halo"][ways.index(LINEAR)]),
        "halo_adaptive": float(means["halo"][_OF_STUDY:].min()),
    }


def size_text(size: int) -> str:
    """1 KiB and so on."""
    for unit, word in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {word}"
    return f"{size} B"


def summary(rows: Sequence[Row]) -> str:
    """Markdown tables of bandwidths and times of every way."""
    nodes = sorted({ranks_of(row) for row in rows if kind_of(row) == "mpigraph"})
    lines = [
        "## Bandwidth\n",
        f"| | {' | '.join(f'mpiGraph, {n} nodes, GiB/s' for n in nodes)} | effective bisection bandwidth | counted |",
        "|---" * (3 + len(nodes)) + "|",
    ]
    for way, label in WAYS.items():
        cells = [f"{mean_gib_per_s(rows, way, n):.2f}" for n in nodes] + [f"{effective_bisection(rows, way):.3f}"]
        counted = counted_bisection(rows, way)
        cells.append("-" if counted is None else f"{counted:.3f}")
        lines.append(f"| {label.replace(chr(10), ', ')} | {' | '.join(cells)} |")
    for kind, title in _TIMED.items():
        scales = sorted({(bytes_of(row), ranks_of(row)) for row in rows if kind_of(row) == kind})
        names = [f"{size_text(size)}, {n}" for size, n in scales]
        lines += [f"\n## {title}: µs by message size and nodes\n", f"| | {' | '.join(names)} |"]
        lines.append("|---" * (1 + len(scales)) + "|")
        for way, label in WAYS.items():
            cells = [f"{time_us(rows, way, kind, n, size):.1f}" for size, n in scales]
            lines.append(f"| {label.replace(chr(10), ', ')} | {' | '.join(cells)} |")
    seconds = sum(row.get("cpu_seconds") or 0 for row in rows)
    lines.append(f"\nAll {len(rows)} runs and tables took {seconds:,.0f} CPU seconds.")
    return "\n".join(lines) + "\n"
