"""The figures of the study, the numbers for `expected.yaml`, and the table below the figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ...plotting.drawing import Row, routings, style_of
from ...plotting.markdown import section
from ...plotting.panels import draw_bars
from ...plotting.runs import Runs

BACKGROUNDS = {"none": "alone", "ur": "with UR"}


def row_of(rows: Sequence[Row], routing: str, background: str) -> Row:
    """The run of a routing with a background.

    Raises:
        ValueError: The rows have no such run, so a bar would be missing.
    """
    runs = Runs(rows, routing="policy", background="workload.background")
    return runs.at(routing=routing, background=background)[0]


def comm_us(rows: Sequence[Row], routing: str, background: str) -> float:
    """Communication time of the target in us, the mean over its ranks."""
    return float(row_of(rows, routing, background)["jobs.halo3d.comm_time_mean_ns"]) / 1e3


def draw_times(rows: Sequence[Row]) -> Figure:
    """Draw the communication time of the target, with a group of bars per background."""
    figure, names = Figure(figsize=(5, 3.4), layout="constrained"), routings(rows)
    ax = figure.subplots()
    heights = [[comm_us(rows, name, background) for background in BACKGROUNDS] for name in names]
    draw_bars(ax, heights, [style_of(name).color for name in names], list(BACKGROUNDS.values()), names)
    ax.set_ylabel("communication time of Halo3D (us)")
    ax.legend(frameon=False)
    return figure


def draw_blame(rows: Sequence[Row]) -> Figure:
    """Draw the time in ns that a packet of the target waits for its own job and for the neighbour."""
    figure, names = Figure(figsize=(5, 3.4), layout="constrained"), routings(rows)
    ax = figure.subplots()
    runs = [row_of(rows, name, "ur") for name in names]
    jobs = list(runs[0]["blame.jobs"])
    waits = [run["blame.wait_ns_per_packet"][jobs.index("halo3d")] for run in runs]
    draw_bars(ax, waits, [style_of(name).color for name in names], [f"for {job}" for job in jobs], names)
    ax.set_ylabel("a packet of Halo3D waits (ns)")
    ax.legend(frameon=False)
    return figure


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of the study by file name."""
    return {"communication_times": draw_times(rows), "who_delays_halo3d": draw_blame(rows)}


def slowdown(rows: Sequence[Row], routing: str) -> float:
    """Communication time with the neighbour, divided by the time alone."""
    return comm_us(rows, routing, "ur") / comm_us(rows, routing, "none")


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """A number for every `id` of expected.yaml, without the policies that `routing=` adds."""
    return {f"slowdown_{name}": slowdown(rows, name) for name in ("minimal", "par")}


def summary(rows: Sequence[Row]) -> str:
    """Return the Markdown below the table of differences, with the policies that `routing=` adds."""
    lines = []
    for name in routings(rows):
        times = (f"{comm_us(rows, name, background):.1f}" for background in BACKGROUNDS)
        lines.append([name, *times, f"{slowdown(rows, name):.2f}"])
    return section("Slowdown by the neighbour", ["routing", "alone, us", "with UR, us", "slowdown"], lines)
