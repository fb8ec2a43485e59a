"""The curves of a sweep as data for the page's script: panels, lines and points of `plotting.lines`."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.colors import to_hex

from ..plotting.lines import Block, Line, blocks_of, dodge, ordered, points
from ..plotting.swept import Row, is_number, value_of
from ..plotting.words import axis_label, value_label
from ..results.cautions import shows_start
from .runs import Run

_DASHES = {"-": "", "--": "7 4", ":": "2 3", "-.": "10 3 2 3"}  # SVG dashes by line style of Matplotlib


def curves(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The rows of panels with their lines. A point has the indices of its runs in `runs`."""
    # A mean over a run that shows how a network settles belongs to no load.
    rows = [{**run.row, "index": i} for i, run in enumerate(runs) if not shows_start(run.result["config"]["run"])]
    return [{"title": block.title, "panels": _panels(block)} for block in blocks_of(rows)]


def _panels(block: Block) -> list[dict[str, Any]]:
    panels = []
    for x, y in block.panels:
        values = ordered(x, (value for row in block.rows if (value := value_of(row, x)) is not None))
        words = not all(map(is_number, values))
        places = [
            {value: at + dodge(block.lines, k, x) for at, value in enumerate(values)} if words else {}
            for k in range(len(block.lines))
        ]
        lines = [_line(line, block, x, y, own) for line, own in zip(block.lines, places, strict=True)]
        panels.append(
            {
                "x": axis_label(x),
                "y": axis_label(y),
                "words": [value_label(x, value, alone=True) for value in values] if words else None,
                "log": y.endswith("_ns"),
                "zero": y in ("accepted_load", "hops_mean"),
                "zero_x": x == "traffic.load",
                "lines": [line for line in lines if line["points"]],
            }
        )
    return [panel for panel in panels if panel["lines"]]


def _line(line: Line, block: Block, x: str, y: str, places: dict[Any, float]) -> dict[str, Any]:
    own: Sequence[Row] = line.of(block.rows)
    return {
        "label": line.style.label,
        "color": to_hex(line.style.color),
        "marker": line.style.marker,
        "dash": _DASHES[line.style.line],
        "joined": block.joined and not places,
        "points": [
            {
                "x": places.get(point.at, point.at),
                "mean": point.estimate.value,
                "low": _finite(point.estimate.low),
                "high": _finite(point.estimate.high),
                "saturated": point.saturated,
                "runs": [row["index"] for row in own if value_of(row, x) == point.at],
            }
            for point in points(own, x, y)
            if math.isfinite(point.estimate.value)
        ],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
