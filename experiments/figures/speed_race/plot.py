"""The time that the jobs take to simulate, next to the published times of other simulators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from ...plotting.drawing import Row, polish

TITLES = {
    "alltoall": "all-to-all, 1,024 terminals",
    "moe": "Mixtral 8x7B step, 64 GPUs",
    "dense": "GPT-13B step, 128 GPUs",
    "halo": "halo exchange, 4,096 ranks",
}
_ONE, _ALL = "#0072B2", "#D55E00"


@dataclass(frozen=True)
class Published:
    """A published time of another simulator for a job of about the same kind."""

    job: str
    simulator: str
    seconds: float
    models: str
    source: str


PUBLISHED = (
    Published("dense", "ns-3", 9 * 3600, "packets; RoCE with congestion control", "Long et al., NSDI 2026, abstract"),
    Published(
        "dense",
        "Wormhole",
        5 * 60,
        "packets; skips steady phases and repeated contention, error below 1 %; several threads",
        "Long et al., NSDI 2026, abstract",
    ),
)


def job_of(row: Row) -> str:
    """The only job of a run, as named in `config.yaml`."""
    return str(row["workload.jobs"][0]["name"])


def run_of(rows: Sequence[Row], job: str, threads: int) -> Row:
    """The run of a job with a number of threads.

    Raises:
        ValueError: there is none, and the figure must not lack a bar.
    """
    for row in rows:
        if (job_of(row), int(row["run.threads"])) == (job, threads):
            return row
    raise ValueError(f"no row for {job} with run.threads={threads}")


def published(rows: Sequence[Row]) -> list[Published]:
    """The published times for jobs that these rows have at full size."""
    shrunken = {job_of(row) for row in rows if row["workload.jobs"][0].get("size_scale", 1) != 1}
    return [entry for entry in PUBLISHED if entry.job not in shrunken]


def threads_of(rows: Sequence[Row]) -> list[int]:
    """The numbers of threads of these rows, one first; 0 means all cores."""
    return sorted({int(row["run.threads"]) for row in rows}, key=lambda n: (n != 1, n))


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """A bar per job and number of threads, on a logarithmic axis, with marks at published times of jobs at full size.

    Raises:
        ValueError: a job has no row.
    """
    threads = threads_of(rows)
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    ax = figure.subplots()
    height = 0.8 / len(threads)
    for k, count in enumerate(threads):
        seconds = [float(run_of(rows, job, count)["wall_seconds"]) for job in TITLES]
        places = [j + (k - (len(threads) - 1) / 2) * height for j in range(len(TITLES))]
        label = "flitgym, one core" if count == 1 else "flitgym, all cores"
        ax.barh(places, seconds, height * 0.9, color=_ONE if count == 1 else _ALL, label=label)
        for place, value in zip(places, seconds, strict=True):
            ax.annotate(f" {_time(value)}", (value, place), va="center", fontsize=8)
    for entry in published(rows):
        place = list(TITLES).index(entry.job)
        ax.plot([entry.seconds], [place], marker="D", color="#333333", linestyle="none", markersize=6)
        ax.annotate(f"{entry.simulator}\n{_time(entry.seconds)}", (entry.seconds, place), xytext=(0, 9),
                    textcoords="offset points", ha="center", fontsize=8)  # fmt: skip
    ax.set_xscale("log")
    ax.set_yticks(range(len(TITLES)), list(TITLES.values()))
    ax.invert_yaxis()
    ax.set_xlabel("wall time (s)")
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    polish(ax)
    ax.grid(False, axis="y")
    return figure


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    threads = threads_of(rows)[0]
    return {
        "dense_minutes": float(run_of(rows, "dense", threads)["cpu_seconds"]) / 60,
        "alltoall_finished": float(bool(run_of(rows, "alltoall", threads)["workload_finished"])),
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown: times, packets and flit-hops of every job, and the published times with their models."""
    lines = [
        "## Jobs\n",
        "| job | threads | simulated ms | wall s | CPU s | packets | flit-hops | flit-hops per CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for job in TITLES:
        for count in threads_of(rows):
            row = run_of(rows, job, count)
            cpu, hops = float(row["cpu_seconds"]), float(row["flit_hops"])
            lines.append(
                f"| {TITLES[job]} | {count or 'all'} | {float(row['simulated_ns']) / 1e6:,.2f} "
                f"| {float(row['wall_seconds']):,.1f} | {cpu:,.1f} | {float(row['packets_delivered']):,.0f} "
                f"| {hops:,.0f} | {hops / cpu:,.0f} |"
            )
    lines += ["", "## Published times of other simulators\n", "| job | simulator | time | what it models | source |"]
    lines.append("|---|---|---|---|---|")
    lines += [f"| {TITLES[p.job]} | {p.simulator} | {_time(p.seconds)} | {p.models} | {p.source} |" for p in PUBLISHED]
    return "\n".join(lines) + "\n"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
