"""Figs 10 to 13: six jobs that fill the machine."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ...metrics import mean_interval
from ...plotting.drawing import Row, paper_style, routings
from ...plotting.jobs import MIXED, job_title
from .runs import bars, comm_time, error_lengths, legend, over_time
from .runs import mixed as of

_NS_PER_MS = 1e6
_LINK_BYTES_PER_NS = 25.0  # 25 GB/s, the study's 25 MB/ms
_COLORS = "magma_r"


def communication_times(rows: Sequence[Row]) -> Figure:
    """Fig 10: the mean over ranks and placements of each job, with the intervals of `comm_time`.

    Raises:
        ValueError: a routing has no row.
    """
    names = routings(rows)
    runs = [of(rows, name) for name in names]
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    ax = figure.subplots()
    bars(ax, [[comm_time(own, job) for own in runs] for job in MIXED], names, list(map(job_title, MIXED)))
    ax.set_ylabel("communication time (ms)")
    legend(figure, names)
    return figure


def stall_times(rows: Sequence[Row]) -> Figure:
    """Fig 11: the time in which a link had packets but no credits, for the links in each group and each global link.

    Bars have 95 % intervals over the placements.

    Raises:
        ValueError: a routing has no row.
    """
    names = routings(rows)
    local = {}
    for name in names:
        stalls = np.array([run["groups.local_stall_ns"] for run in of(rows, name)]) / _NS_PER_MS
        local[name] = np.array([mean_interval(of_group) for of_group in stalls.T])
    between = {
        name: np.mean([_matrix(run, "global_stall_ns") for run in of(rows, name)], axis=0) / _NS_PER_MS
        for name in names
    }
    figure = Figure(figsize=(13, 5.6), layout="constrained")
    grid = figure.add_gridspec(2, len(names), height_ratios=[1, 1.9])
    highest = max(float(np.nanmax(values)) for values in between.values())
    tallest = max(float(np.nanmax(values)) for values in local.values())
    scale, maps = Normalize(0, highest or 1), []
    for k, name in enumerate(names):
        ax = figure.add_subplot(grid[0, k])
        errors = error_lengths(local[name]) if np.isfinite(local[name]).all() else None
        look = {"elinewidth": 0.8, "ecolor": "#333333"}
        ax.bar(range(len(local[name])), local[name][:, 0], color=paper_style(name).color, yerr=errors, error_kw=look)
        ax.set_ylim(0, tallest * 1.05 or 1)
        ax.set_title(paper_style(name).label)
        ax.set_xlabel("group")
        if k == 0:
            ax.set_ylabel("stall time of all\nlocal links (ms)")
        ax.grid(False, axis="x")
        ax = figure.add_subplot(grid[1, k])
        _heat_map(ax, between[name], scale, first=k == 0)
        maps.append(ax)
    figure.colorbar(
        ScalarMappable(scale, _COLORS), ax=maps, label="stall time of a global link (ms)", shrink=0.9, pad=0.01
    )
    return figure


def congestion_index(rows: Sequence[Row]) -> Figure:
    """Fig 12: bytes sent / (time x links x 25 GB/s). The diagonal has the local links, other cells the global links.

    Raises:
        ValueError: a routing has no row.
    """
    names = routings(rows)
    of_runs = {name: [index_of(run) for run in of(rows, name)] for name in names}
    indices = {name: np.mean(own, axis=0) for name, own in of_runs.items()}
    figure = Figure(figsize=(13, 3.9), layout="constrained")
    highest = max(float(np.nanmax(values)) for values in indices.values())
    scale, axes = Normalize(0, highest or 1), list(np.atleast_1d(figure.subplots(1, len(names))))
    for k, (ax, name) in enumerate(zip(axes, names, strict=True)):
        _heat_map(ax, indices[name], scale, first=k == 0)
        mean = mean_interval([np.nanmean(own) for own in of_runs[name]])
        interval = "" if np.isnan(mean.low) else f" [{mean.low:.3f}, {mean.high:.3f}]"
        ax.set_title(f"{paper_style(name).label}\nmean {mean.value:.3f}{interval}")
    figure.colorbar(ScalarMappable(scale, _COLORS), ax=axes, label="congestion index", shrink=0.85, pad=0.01)
    return figure


def latency_and_throughput(rows: Sequence[Row]) -> Figure:
    """Fig 13: the latency of all packets, and the throughput of all jobs over time.

    Raises:
        ValueError: a routing has no row.
    """
    names = routings(rows)
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.5])
    which = ("mean", "p95", "p99")
    keys = [f"packet_latency_{key}_ns" for key in which]
    heights = [[mean_interval([run[key] / 1e3 for run in of(rows, name)]) for name in names] for key in keys]
    bars(left, heights, names, which)
    left.set_ylabel("packet latency (µs)")
    for name in names:
        time, (mean, low, high) = over_time(of(rows, name), *(f"{job}.gb_per_ms" for job in MIXED))
        right.fill_between(time, low, high, color=paper_style(name).color, alpha=0.2, linewidth=0)
        right.plot(time, mean, color=paper_style(name).color, linewidth=1.5)
    right.set_xlabel("time (ms)")
    right.set_ylabel("system throughput (GB/ms)")
    right.set_xlim(left=0)
    right.set_ylim(bottom=0)
    legend(figure, names)
    return figure


def index_of(row: Row) -> NDArray[np.float64]:
    """The congestion index of every pair of groups, with a group's local links on the diagonal; NaN without a link."""
    capacity = row["simulated_ns"] * _LINK_BYTES_PER_NS
    links = np.array(row["groups.global_links"], dtype=float)
    sent = np.array(row["groups.global_bytes"], dtype=float)
    np.fill_diagonal(links, row["groups.local_links"])
    np.fill_diagonal(sent, row["groups.local_bytes"])
    index: NDArray[np.float64] = np.where(links > 0, sent / np.maximum(links, 1) / capacity, np.nan)
    return index


def _matrix(row: Row, quantity: str) -> NDArray[np.float64]:
    values = np.array(row[f"groups.{quantity}"], dtype=float)
    return np.where(np.array(row["groups.global_links"]) > 0, values, np.nan)


def _heat_map(ax: Axes, values: NDArray[np.float64], scale: Normalize, first: bool) -> None:
    ax.imshow(values, cmap=_COLORS, norm=scale, interpolation="nearest")
    ax.grid(False)
    ax.set_facecolor("#dddddd")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set_xlabel("to group")
    if first:
        ax.set_ylabel("from group")
    ax.spines[:].set_visible(False)
