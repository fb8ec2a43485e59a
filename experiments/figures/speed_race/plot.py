"""The time that the jobs take to simulate, next to the published times of other simulators."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ...plotting.drawing import Row
from ...plotting.markdown import section
from ...plotting.panels import draw_bars
from ...plotting.runs import Runs

TITLES = {
    "alltoall": "all-to-all, 1,024 terminals",
    "moe": "Mixtral 8x7B step, 64 GPUs",
    "dense": "GPT-13B step, 128 GPUs",
    "halo": "halo exchange, 4,096 ranks",
}


_STUDY = "Long et al., NSDI 2026, abstract"
_WORMHOLE = "packets; skips steady phases and repeated contention, error below 1 %; several threads"
# Published times of other simulators for jobs of about the same kind: job, simulator, seconds, its model, source.
PUBLISHED = (
    ("dense", "ns-3", 9 * 3600, "packets; RoCE with congestion control", _STUDY),
    ("dense", "Wormhole", 5 * 60, _WORMHOLE, _STUDY),
)


def runs_of(rows: Sequence[Row]) -> Runs:
    """The runs by the name of their only job and by the number of threads, which is 0 for all cores."""
    return Runs(rows, job=lambda row: row["workload.jobs"][0]["name"], threads="run.threads")


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A bar per job and number of threads, with marks at published times of jobs that the rows have at full size."""
    runs, looks = runs_of(rows), {1: ("#0072B2", "flitgym, one core"), 0: ("#D55E00", "flitgym, all cores")}
    counts = [count for count in looks if count in runs.values("threads")]
    colors, labels = zip(*(looks[count] for count in counts), strict=True)
    seconds = [[runs.mean("wall_seconds", job=job, threads=count) for job in TITLES] for count in counts]
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    ax = figure.subplots()
    draw_bars(ax, seconds, colors, list(TITLES.values()), labels, along="y", text=_time)
    for job, simulator, published, *_ in PUBLISHED:
        if runs.at(job=job)[0]["workload.jobs"][0].get("size_scale", 1) == 1:
            at = (published, list(TITLES).index(job))
            ax.plot(*at, marker="D", color="#333333", linestyle="none", markersize=6)
            ax.annotate(f"{simulator}\n{_time(published)}", at, xytext=(0, 9), textcoords="offset points", ha="center",
                        fontsize=8)  # fmt: skip
    ax.set_xscale("log")
    ax.set_xlabel("wall time (s)")
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    return figure


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    runs = runs_of(rows)
    return {
        "dense_minutes": float(runs.at(job="dense")[0]["cpu_seconds"]) / 60,
        "alltoall_finished": float(bool(runs.at(job="alltoall")[0]["workload_finished"])),
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown: times, packets and flit-hops of every job, and the published times with their models."""
    lines, runs = [], runs_of(rows)
    for (job, title), count in itertools.product(TITLES.items(), runs.values("threads")):
        row = runs.at(job=job, threads=count)[0]
        cpu, hops = float(row["cpu_seconds"]), float(row["flit_hops"])
        times = f"{float(row['simulated_ns']) / 1e6:,.2f}", f"{float(row['wall_seconds']):,.1f}", f"{cpu:,.1f}"
        counts = (f"{number:,.0f}" for number in (float(row["packets_delivered"]), hops, hops / cpu))
        lines.append([title, str(count or "all"), *times, *counts])
    heads = ["simulated ms", "wall s", "CPU s", "packets", "flit-hops", "flit-hops per CPU s"]
    jobs = section("Jobs", ["job", "threads", *heads], lines)
    published = [[TITLES[job], simulator, _time(seconds), *text] for job, simulator, seconds, *text in PUBLISHED]
    heads = ["job", "simulator", "time", "what it models", "source"]
    return f"{jobs}\n{section('Published times of other simulators', heads, published)}"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
