"""Draws accepted load against offered load, with a curve per rule that chooses a minimal port."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ...plotting.drawing import Row, curve
from ...plotting.markdown import cost
from ...plotting.runs import Runs

LABELS = {"packet": "in turns", "flow": "one per flow", "queue": "the least queue"}


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """Draw one panel from the rows.

    Raises:
        ValueError: A rule has no rows, so a curve would be missing.
    """
    runs = Runs(rows, ports="routing.ports")
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    ax = figure.subplots()
    for (ports, label), marker in zip(LABELS.items(), "osD", strict=True):
        loads, accepted = curve(runs.at(ports=ports), "accepted_load")
        ax.plot(loads, accepted, marker=marker, label=label)
    ax.plot([0, 0.9], [0, 0.9], color="#cccccc", linewidth=0.8, zorder=1)  # accepted load = offered load
    ax.set(xlabel="offered load", ylabel="accepted load")
    ax.set_title("Bit complement on a fat tree of 64 terminals", fontsize=10)
    ax.legend(frameon=False)
    return figure


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """A number for every `id` of expected.yaml."""
    runs = Runs(rows, ports="routing.ports")
    return {f"{ports}_at_0.9": float(curve(runs.at(ports=ports), "accepted_load")[1][-1]) for ports in LABELS}


def summary(rows: Sequence[Row]) -> str:
    """Return the Markdown below the table of differences."""
    return cost(rows)
