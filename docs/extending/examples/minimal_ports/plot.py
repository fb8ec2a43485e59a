"""Draws accepted load against offered load, with a curve per rule that chooses a minimal port."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ...plotting.drawing import Row, curve, polish

LABELS = {"packet": "in turns", "flow": "one per flow", "queue": "the least queue"}


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> Figure:
    """Draw one panel from the rows.

    Raises:
        ValueError: A rule has no rows, so a curve would be missing.
    """
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    ax = figure.subplots()
    for (ports, label), marker in zip(LABELS.items(), "osD", strict=True):
        loads, accepted = curve(_of(rows, ports), "accepted_load")
        ax.plot(loads, accepted, marker=marker, label=label)
    ax.plot([0, 0.9], [0, 0.9], color="#cccccc", linewidth=0.8, zorder=1)  # accepted load = offered load
    ax.set_xlabel("offered load")
    ax.set_ylabel("accepted load")
    ax.set_title("Bit complement on a fat tree of 64 terminals", fontsize=10)
    polish(ax)
    ax.legend(frameon=False)
    return figure


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """A number for every `id` of expected.yaml."""
    return {f"{ports}_at_0.9": float(curve(_of(rows, ports), "accepted_load")[1][-1]) for ports in LABELS}


def summary(rows: Sequence[Row]) -> str:
    """Return the Markdown below the table of differences."""
    return f"{len(rows)} runs, {sum(row['cpu_seconds'] for row in rows):.1f} CPU seconds.\n"


def _of(rows: Sequence[Row], ports: str) -> list[Row]:
    found = [row for row in rows if row["routing.ports"] == ports]
    if not found:
        raise ValueError(f"no row for routing.ports={ports}")
    return found
