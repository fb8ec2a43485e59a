"""The panels, lines and points of a sweep's figure, which follow from the keys that differ."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import matplotlib
import numpy as np

from ...simcore._window import is_saturated
from ..metrics import Interval, mean_interval
from ..results.copies import distinct
from ..results.rows import is_number
from .drawing import STYLES, Style, distinct_styles
from .swept import Row, is_of_jobs, named, swept, value_of
from .words import value_label

FLOWS = ("flows.slowdown_mean", "flows.slowdown_p99", "accepted_load", "flows.late_share")
QUEUE = ("queue.wait_ns_mean", "queue.bounded_slowdown_mean", "queue.slowdown_mean", "queue.utilisation")
TRAFFIC = ("packet_latency_mean_ns", "packet_latency_p99_ns", "accepted_load", "hops_mean")

_DASHES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
_MOST_LINES = 16  # more lines would make a legend too long, so the runs are drawn as points
_MOST_FACETS = 4  # rows of panels for the values of further keys
_MOST_JOBS = 12  # panels
_MOST_KEYS = 4  # panels of points, one per key


@dataclass(frozen=True)
class Point:
    """The runs of one line at one position."""

    at: Any  # the value on the x axis
    estimate: Interval  # the mean over seeds and the ends of its 95 % interval, which are NaN for a single run
    saturated: bool  # as in `is_saturated`
    seeds: int  # number of different runs


@dataclass(frozen=True)
class Line:
    """One line of a figure."""

    key: Mapping[str, Any]  # the columns that its runs have in common, and their values
    style: Style  # with the label of the line

    def of(self, rows: Iterable[Row]) -> list[Row]:
        """The rows that belong to this line."""
        return [row for row in rows if all(value_of(row, column) == value for column, value in self.key.items())]


@dataclass(frozen=True)
class Block:
    """A row of panels that share their runs and lines."""

    title: str  # the values of further keys; empty without further keys
    rows: Sequence[Row]
    panels: Sequence[tuple[str, str]]  # the columns x and y of each panel
    lines: Sequence[Line]  # in the order of the legend
    joined: bool = True  # whether lines join the points


def blocks_of(rows: Iterable[Row]) -> list[Block]:
    """The panels of the rows of a study (`read_rows`): first for traffic patterns, then for jobs.

    The list is empty if no two runs can be compared, as for forwarding tables or unfinished jobs.
    """
    known = named(row for row in rows if "routing.name" in row)
    kinds = [[row for row in known if is_of_jobs(row) == jobs] for jobs in (False, True)]
    found = [block for kind in kinds if len(kind) > 1 for block in _blocks(kind) if block.panels]
    return found + _slowdown_by_size([row for row in kinds[0] if row.get("flows.bin_bytes")])


def _slowdown_by_size(rows: Sequence[Row]) -> list[Block]:
    """The panels of the slowdown of flows against their size. Each bin of a run becomes a row."""
    names = ("mean", "p50", "p95", "p99")
    bins = [
        {
            **row,
            "flow size (bytes)": size,
            **{f"slowdown {name}": row[f"flows.bin_slowdown_{name}"][k] for name in names},
        }
        for row in rows
        for k, size in enumerate(row["flows.bin_bytes"])
    ]
    keys = sorted(swept(rows), key=lambda key: key != "routing")
    lines = lines_of(bins, keys)
    panels = [("flow size (bytes)", f"slowdown {name}") for name in ("p50", "p99")]
    return [Block("slowdown by size", bins, panels, lines)] if len(rows) > 1 and len(lines) <= _MOST_LINES else []


def points(rows: Sequence[Row], x: str, y: str) -> list[Point]:
    """The points of one line by increasing `x`. Several runs with the same seed count once, and so do copies.

    Rows are from `named`. A missing number of `y` is None.
    """
    at: dict[Any, dict[Any, Row]] = {}
    for row in rows:
        if row.get(x) is not None:
            at.setdefault(value_of(row, x), {})[row.get("seed")] = row
    found = []
    for value in ordered(x, at):
        runs = distinct(at[value].values())
        estimate = mean_interval([math.nan if row.get(y) is None else float(row[y]) for row in runs])
        found.append(Point(value, estimate, is_saturated(runs), len(runs)))
    return found


def lines_of(rows: Sequence[Row], keys: Sequence[str]) -> list[Line]:
    """A line for each combination of values that occurs. The first key determines the colour, the others the dashes.

    Rows are from `named`. Without keys, one line has all rows.
    """
    if not keys:
        return [Line({}, Style("", "#0072B2", "o"))]
    looks = _looks(keys[0], ordered(keys[0], (value_of(row, keys[0]) for row in rows)))
    found = list(groups_of(rows, keys))
    rest = list(groups_of(rows, keys[1:]))
    lines = []
    for values in found:
        label = ", ".join(value_label(key, value) for key, value in zip(keys, values, strict=True))
        style = replace(looks[values[0]], label=label)
        if rest.index(values[1:]):
            style = replace(style, line=_DASHES[rest.index(values[1:]) % len(_DASHES)])
        lines.append(Line(dict(zip(keys, values, strict=True)), style))
    return lines


def ordered(column: str, values: Iterable[Any]) -> list[Any]:
    """Distinct values in order: None, numbers by size, then words. Routings have the order of `STYLES`."""
    distinct = list(dict.fromkeys(values))
    words = [value for value in distinct if not is_number(value) and value is not None]
    if column == "routing":
        words.sort(key=lambda name: list(STYLES).index(name) if name in STYLES else len(STYLES))
    return [*([None] if None in distinct else []), *sorted(filter(is_number, distinct)), *words]


def _looks(key: str, values: Sequence[Any]) -> dict[Any, Style]:
    if len(values) > 1 and all(map(is_number, values)):
        # Ordered numbers have ordered colours.
        shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.85, len(values)))
        markers = itertools.cycle("osD^vPX")
        return {
            value: Style("", tuple(shade), marker)
            for value, shade, marker in zip(values, shades, markers, strict=False)
        }
    styles = distinct_styles({str(value): str(value) if key == "routing" else "" for value in values})
    return {value: styles[str(value)] for value in values}


def distinguishes(rows: Sequence[Row], keys: Sequence[str], key: str) -> bool:
    """Whether a key differs among runs with equal values of other keys."""
    before = {tuple(value_of(row, one) for one in keys) for row in rows}
    return len({tuple(value_of(row, one) for one in (*keys, key)) for row in rows}) > len(before)


def _blocks(rows: Sequence[Row]) -> list[Block]:
    keys = swept(rows)
    if is_of_jobs(rows[0]):
        panels = times_of_jobs(rows)[:_MOST_JOBS]
    else:
        flows = any(row.get("flows.slowdown_mean") is not None for row in rows)
        panels = [key for key in (FLOWS if flows else TRAFFIC) if any(row.get(key) is not None for row in rows)]
    across = across_of(rows, keys)
    rest = sorted((key for key in keys if key != across), key=lambda key: key != "routing")
    # If routings are on the x axis, their points still have the colours of the routings.
    rest = rest or [key for key in keys if key == "routing"]
    split = len(rest)
    # The last keys become rows of panels, while there are few rows.
    while split > 1 and len(groups_of(rows, rest[split - 1 :])) <= _MOST_FACETS:
        split -= 1
    lines = lines_of(rows, rest[:split])
    if len(lines) > _MOST_LINES:
        return _cloud(rows, keys, panels)
    return [
        Block(
            ", ".join(value_label(key, value) for key, value in zip(rest[split:], values, strict=True)),
            group,
            [(across, panel) for panel in panels],
            lines,
            joined=across != "seed",  # a line between seeds would have no meaning
        )
        for values, group in groups_of(rows, rest[split:]).items()
    ]


def _cloud(rows: Sequence[Row], keys: Sequence[str], panels: Sequence[str]) -> list[Block]:
    """Panels for many keys, such as those of an optimiser: points against each key, one row of panels per column."""
    by = [key for key in keys if key == "routing"]
    against = [key for key in keys if key not in by][:_MOST_KEYS]
    lines = lines_of(rows, by)
    return [Block("", rows, [(key, panel) for key in against], lines, joined=False) for panel in panels]


def groups_of(rows: Sequence[Row], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """The rows by their values of the keys, in the order of these values."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(value_of(row, key) for key in keys), []).append(row)
    places = [ordered(key, (value_of(row, key) for row in rows)) for key in keys]
    order = sorted(groups, key=lambda values: [p.index(value) for p, value in zip(places, values, strict=True)])
    return {values: groups[values] for values in order}


def across_of(rows: Sequence[Row], keys: Sequence[str]) -> str:
    """The column on the x axis: the offered load, or the key with most values. Numbers take precedence over words."""
    if "traffic.load" in keys:
        return "traffic.load"
    # A run without the key has no place on the axis, so keys that all runs have take precedence.
    keys = [key for key in keys if all(row.get(key) is not None for row in rows)] or list(keys)
    values = {key: {value_of(row, key) for row in rows} - {None} for key in keys}
    numbers = [key for key in keys if all(map(is_number, values[key]))]
    others = [key for key in keys if key != "routing"]
    chosen = numbers or others or list(keys)
    return max(chosen, key=lambda key: len(values[key]), default="seed")


def times_of_jobs(rows: Sequence[Row]) -> list[str]:
    """The columns of results in which any row has a value: of a queue, or the mean communication times of jobs."""
    columns = dict.fromkeys(key for row in rows for key in row if row[key] is not None)
    return [key for key in QUEUE if key in columns] or [
        key for key in columns if key.startswith("jobs.") and key.endswith(".comm_time_mean_ns")
    ]
