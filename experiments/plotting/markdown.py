"""Markdown tables that several figures share."""

from collections.abc import Sequence

import numpy as np

from ..metrics import peak_throughput, saturation_load
from ..terminal.tables import markdown_table
from .drawing import Row, curve, routings, select, style_of
from .patterns import title_of


def every_curve(rows: Sequence[Row], patterns: Sequence[str]) -> str:
    """A line per pattern and routing: the lowest latency, the load at saturation and the highest accepted load.

    Args:
        rows: Runs of every pattern at several loads.
        patterns: Names of `pattern_of`.
    """
    heads = ["pattern", "routing", "lowest latency, ns", "saturates at", "highest accepted load", "hops there"]
    lines = []
    for pattern in patterns:
        for name in routings(rows):
            chosen = select(rows, pattern, name)
            loads, accepted = curve(chosen, "accepted_load")
            latency, hops = curve(chosen, "packet_latency_mean_ns")[1], curve(chosen, "hops_mean")[1]
            saturated, peak = saturation_load(loads, accepted), peak_throughput(accepted)
            cells = [
                title_of(pattern),
                style_of(name).label,
                f"{np.nanmin(latency):,.0f}",
                "-" if saturated is None else f"{saturated:.3f}",
                f"{peak:.3f}",
                f"{hops[np.argmax(accepted)]:.2f}",
            ]
            lines.append(cells)
    return f"## Every curve\n\n{markdown_table(heads, lines, left=heads)}"
