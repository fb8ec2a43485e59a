"""The figures of the study, the numbers for `expected.yaml`, and the table below the figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ...plotting.drawing import Row, routings, style_of

BACKGROUNDS = {"none": "alone", "ur": "with UR"}


def row_of(rows: Sequence[Row], routing: str, background: str) -> Row:
    """The run of a routing with a background.

    Raises:
        ValueError: The rows have no such run, so a bar would be missing.
    """
    for row in rows:
        if (row["policy"], row["workload.background"]) == (routing, background):
            return row
    raise ValueError(f"no row for routing {routing} and background {background}")


def comm_us(row: Row) -> float:
    """Communication time of the target in us, the mean over its ranks."""
    return float(row["jobs.halo3d.comm_time_mean_ns"]) / 1e3


def draw_times(rows: Sequence[Row]) -> Figure:
    """Draw the communication time of the target, with a group of bars per background."""
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    ax = figure.subplots()
    names = routings(rows)
    for k, name in enumerate(names):
        heights = [comm_us(row_of(rows, name, background)) for background in BACKGROUNDS]
        places = [group + (k - (len(names) - 1) / 2) * 0.3 for group in range(len(BACKGROUNDS))]
        ax.bar(places, heights, 0.28, color=style_of(name).color, label=style_of(name).label)
    ax.set_xticks(range(len(BACKGROUNDS)), list(BACKGROUNDS.values()))
    ax.set_ylabel("communication time of Halo3D (us)")
    ax.legend(frameon=False)
    return figure


def draw_blame(rows: Sequence[Row]) -> Figure:
    """Draw the time in ns that a packet of the target waits for its own job and for the neighbour."""
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    ax = figure.subplots()
    names = routings(rows)
    for k, name in enumerate(names):
        row = row_of(rows, name, "ur")
        jobs = list(row["blame.jobs"])
        waits = row["blame.wait_ns_per_packet"][jobs.index("halo3d")]
        ax.bar([j + (k - 0.5) * 0.3 for j in range(len(jobs))], waits, 0.28, color=style_of(name).color,
               label=style_of(name).label)  # fmt: skip
    ax.set_xticks(range(len(jobs)), [f"for {job}" for job in jobs])
    ax.set_ylabel("a packet of Halo3D waits (ns)")
    ax.legend(frameon=False)
    return figure


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of the study by file name."""
    return {"communication_times": draw_times(rows), "who_delays_halo3d": draw_blame(rows)}


def slowdown(rows: Sequence[Row], routing: str) -> float:
    """Communication time with the neighbour, divided by the time alone."""
    return comm_us(row_of(rows, routing, "ur")) / comm_us(row_of(rows, routing, "none"))


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """A number for every `id` of expected.yaml, without the policies that `routing=` adds."""
    return {f"slowdown_{name}": slowdown(rows, name) for name in ("minimal", "par")}


def summary(rows: Sequence[Row]) -> str:
    """Return the Markdown below the table of differences, with the policies that `routing=` adds."""
    lines = ["| routing | alone, us | with UR, us | slowdown |", "|---|---|---|---|"]
    for name in routings(rows):
        alone, beside = (comm_us(row_of(rows, name, background)) for background in BACKGROUNDS)
        lines.append(f"| {style_of(name).label} | {alone:.1f} | {beside:.1f} | {slowdown(rows, name):.2f} |")
    return "\n".join(lines) + "\n"
