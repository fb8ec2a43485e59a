"""Figs 10 to 13: six jobs that fill the machine."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ...metrics import mean_interval
from ...plotting.drawing import Row, paper_style
from ...terminal.tables import interval_text
from .runs import MIXED, Jobs, bars, comm_time, job_title, legend, over_time

_NS_PER_MS = 1e6
_LINK_BYTES_PER_NS = 25.0  # 25 GB/s, the study's 25 MB/ms
_COLORS = "magma_r"


def communication_times(jobs: Jobs) -> Figure:
    """Fig 10: the mean over ranks and placements of each job, with the intervals of `comm_time`."""
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    ax = figure.subplots()
    heights = [[comm_time(jobs.mixed(name), job) for name in jobs.names] for job in MIXED]
    bars(ax, heights, jobs.names, list(map(job_title, MIXED)))
    ax.set_ylabel("communication time (ms)")
    legend(figure, jobs.names)
    return figure


def stall_times(jobs: Jobs) -> Figure:
    """Fig 11: the time in which a link had packets but no credits, for the links in each group and each global link.

    Bars have 95 % intervals over the placements.
    """
    figure = Figure(figsize=(13, 5.6), layout="constrained")
    panels = figure.subplots(2, len(jobs.names), squeeze=False, height_ratios=[1, 1.9])
    maps, tallest = {}, 0.0
    for (above, below), name in zip(panels.T, jobs.names, strict=True):
        runs, style = jobs.mixed(name), paper_style(name)
        stalls = np.array([run["groups.local_stall_ns"] for run in runs]) / _NS_PER_MS
        local = np.array([mean_interval(of_group) for of_group in stalls.T])
        errors = np.abs(local[:, 1:] - local[:, :1]).T if np.isfinite(local).all() else None
        look = {"elinewidth": 0.8, "ecolor": "#333333"}
        above.bar(range(len(local)), local[:, 0], color=style.color, yerr=errors, error_kw=look)
        above.set(title=style.label, xlabel="group")
        above.grid(False, axis="x")
        tallest = max(tallest, float(np.nanmax(local)))
        joined = np.array([run["groups.global_links"] for run in runs]) > 0
        between = np.array([run["groups.global_stall_ns"] for run in runs], dtype=float) / _NS_PER_MS
        maps[below] = np.where(joined, between, np.nan).mean(axis=0)
    for ax in panels[0]:
        ax.set_ylim(0, tallest * 1.05 or 1)
    panels[0, 0].set_ylabel("stall time of all\nlocal links (ms)")
    _heat_maps(figure, maps, "stall time of a global link (ms)", shrink=0.9)
    return figure


def congestion_index(jobs: Jobs) -> Figure:
    """Fig 12: bytes sent / (time x links x 25 GB/s). The diagonal has the local links, other cells the global links."""
    figure = Figure(figsize=(13, 3.9), layout="constrained")
    maps = {}
    for ax, name in zip(figure.subplots(1, len(jobs.names), squeeze=False)[0], jobs.names, strict=True):
        of_runs = [index_of(run) for run in jobs.mixed(name)]
        maps[ax] = np.mean(of_runs, axis=0)
        mean = mean_interval([np.nanmean(own) for own in of_runs])
        ax.set_title(f"{paper_style(name).label}\nmean {interval_text(mean, '{:.3f}')}")
    _heat_maps(figure, maps, "congestion index", shrink=0.85)
    return figure


def latency_and_throughput(jobs: Jobs) -> Figure:
    """Fig 13: the latency of all packets, and the throughput of all jobs over time."""
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.5])
    which = ("mean", "p95", "p99")
    keys = [f"packet_latency_{key}_ns" for key in which]
    heights = [[mean_interval([run[key] / 1e3 for run in jobs.mixed(name)]) for name in jobs.names] for key in keys]
    bars(left, heights, jobs.names, which)
    left.set_ylabel("packet latency (µs)")
    for name in jobs.names:
        time, (mean, low, high) = over_time(jobs.mixed(name), *(f"{job}.gb_per_ms" for job in MIXED))
        right.fill_between(time, low, high, color=paper_style(name).color, alpha=0.2, linewidth=0)
        right.plot(time, mean, color=paper_style(name).color, linewidth=1.5)
    right.set(xlabel="time (ms)", ylabel="system throughput (GB/ms)")
    right.set_xlim(left=0)
    right.set_ylim(bottom=0)
    legend(figure, jobs.names)
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


def _heat_maps(figure: Figure, maps: Mapping[Axes, NDArray[np.float64]], label: str, shrink: float) -> None:
    highest = max(float(np.nanmax(values)) for values in maps.values())
    scale = Normalize(0, highest or 1)
    for ax, values in maps.items():
        ax.imshow(values, cmap=_COLORS, norm=scale, interpolation="nearest")
        ax.grid(False)
        ax.set_facecolor("#dddddd")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_xlabel("to group")
        ax.spines[:].set_visible(False)
    next(iter(maps)).set_ylabel("from group")
    figure.colorbar(ScalarMappable(scale, _COLORS), ax=list(maps), label=label, shrink=shrink, pad=0.01)
