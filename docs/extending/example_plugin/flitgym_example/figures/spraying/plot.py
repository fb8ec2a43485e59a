"""Draws accepted load against offered load, with a curve per routing."""

from collections.abc import Mapping, Sequence
from typing import Any

from flitgym.experiments.plotting.drawing import Row, curve
from matplotlib.figure import Figure


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """Draw one panel."""
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    ax = figure.subplots()
    for name in ("spray", "minimal"):
        ax.plot(*curve(_of(rows, name), "accepted_load"), marker="o", label=name)
    ax.set_xlabel("offered load")
    ax.set_ylabel("accepted load")
    ax.legend(frameon=False)
    return figure


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """A number for every `id` of expected.yaml."""
    return {"spray_at_0.5": float(curve(_of(rows, "spray"), "accepted_load")[1][-1])}


def summary(rows: Sequence[Row]) -> str:
    """Return the Markdown below the table of differences."""
    return f"{len(rows)} runs.\n"


def _of(rows: Sequence[Row], name: str) -> list[Row]:
    found = [row for row in rows if row["routing.name"] == name]
    if not found:
        raise ValueError(f"no row for routing={name}")
    return found
