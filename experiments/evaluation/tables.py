"""The tables of a study: on the terminal with colours, on a page in Markdown with both ends of every interval.

`Column` and `Panel` describe how tables and figures show a quantity.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.text import Text

from ..metrics import Interval
from ..results.copies import count_text
from ..terminal.tables import MISSING, interval_text, markdown_table, terminal_table
from .cells import Cell

_FEWER = "†"
_BETTER, _WORSE = "green", "red"
_LEFT = ("policy", "pattern", "task", "set")  # columns that are aligned to the left


class Column(NamedTuple):
    """A quantity in a table: its heading, the factor from its unit, its format, and whether its interval is shown."""

    head: str
    factor: float
    form: str
    interval: bool = True


class Panel(NamedTuple):
    """One panel of a figure."""

    metric: str
    title: str  # of the vertical axis
    # The key along the horizontal axis. `load` gives curves. Another key gives points, at the highest load if any.
    x: str
    factor: float | None = 1.0  # from the metric's unit; None: the ratio to the reference
    limit: str = ""  # a metric that is drawn as a bar at each point, such as the bound of a load
    line: float | None = None  # a horizontal line


COLUMNS = {
    "score": Column("score", 1.0, "{:.2f}"),
    "accepted_load": Column("accepted", 1.0, "{:.3f}"),
    "comm_time_ns": Column("comm., us", 1e-3, "{:,.1f}"),
    "finish_ns": Column("finish, us", 1e-3, "{:,.1f}"),
    "latency_mean_ns": Column("latency, ns", 1.0, "{:,.0f}"),
    "latency_p99_ns": Column("p99, ns", 1.0, "{:,.0f}"),
    "hops": Column("hops", 1.0, "{:.2f}", False),
    "nonminimal_fraction": Column("nonmin.", 1.0, "{:.1%}", False),
    "gap_closed": Column("gap closed", 1.0, "{:.2f}"),
    "accepted_bound": Column("bound", 1.0, "{:.3f}", False),
    "latency_bound_ns": Column("bound, ns", 1.0, "{:,.0f}", False),
    "saturation_load": Column("carried load", 1.0, "{:.3f}"),
    "saturation_accepted": Column("accepted", 1.0, "{:.3f}", False),
    "bound": Column("bound", 1.0, "{:.3f}"),
    "of_bound": Column("of the bound", 1.0, "{:.0%}", False),
    "decisions": Column("decisions", 1.0, "{:,.0f}"),
    "candidates": Column("cand.", 1.0, "{:.1f}"),
    "best_taken": Column("best taken", 1.0, "{:.0%}"),
    "regret_ns": Column("regret, ns", 1.0, "{:,.0f}"),
    "relative": Column("relative", 1.0, "{:.2f}"),
    "change_ns": Column("change, ns", 1.0, "{:+,.0f}"),
    "latency_first_ns": Column("first 10 us, ns", 1.0, "{:,.0f}"),
    "recovery_ns": Column("back within, us", 1e-3, "{:.1f}"),
}
# Metrics whose ratio to the reference the tables show, and the sign of a change for the worse.
_COMPARED = {"comm_time_ns": 1, "latency_mean_ns": 1, "saturation_load": -1}


class Table(NamedTuple):
    """A table: its title, its headings, and its rows of texts. A style marks a ratio that differs from 1."""

    title: str
    heads: Sequence[str]
    lines: Sequence[Sequence[str | Text]]


def intervals_text(cells: Sequence[Cell], confidence: float) -> str:
    """A sentence about the intervals of the means over seeds."""
    counts = [cell.seeds for cell in cells if cell.seeds]
    several = [count for count in counts if count > 1]
    if not several:
        return "One seed gives no intervals, because the variation between runs is unknown. Use more seeds."
    sentences = [f"Intervals: {100 * confidence:.12g} % of the mean over {count_text(several)} (Student's t)."]
    return " ".join(sentences + (["A single run has no interval."] if 1 in counts else []))


def tables_of(cells: Sequence[Cell], reference: str = "", ends: bool = True) -> list[Table]:
    """A table per network, pattern or workload, with a row per point and policy.

    The policy `reference` gets no ratio. An interval has both ends, or without `ends` half its width.
    """
    return [_table(title, own, reference, ends) for title, own in by_table(cells)]


def print_tables(console: Console, tables: Sequence[Table], texts: Sequence[str]) -> None:
    """Print tables, and sentences about them. A line separates the points of a table."""
    for table in tables:
        shown = terminal_table(table.heads, left=_LEFT, title=table.title)
        sections = len({str(line[0]) for line in table.lines}) < len(table.lines)
        for _, lines in groupby(table.lines, key=lambda line: line[0]):
            for line in lines:
                shown.add_row(*(Text(text) if isinstance(text, str) else text for text in line))
            if sections:
                shown.add_section()
        console.print(shown)
    for sentence in filter(None, texts):
        console.print(sentence)


def in_markdown(table: Table) -> str:
    """A table in Markdown. Ratios that differ from 1 are bold."""
    bold = ([f"**{text}**" if isinstance(text, Text) else text for text in line] for line in table.lines)
    return markdown_table(table.heads, bold, left=_LEFT)


def by_table(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """The titles of the tables with their cells, in the order of the cells."""
    for (_, title), own in groupby(cells, key=lambda cell: cell.table):
        yield title, list(own)


def _table(title: str, cells: Sequence[Cell], reference: str, ends: bool) -> Table:
    _, *keys = (key for key, value in cells[0].point.items() if any(cell.point[key] is not None for cell in cells))
    compared = next((m for m in _COMPARED if any(c.metric == m and np.isfinite(c.ratio.value) for c in cells)), None)
    heads = [*keys, "policy"]
    for metric in dict.fromkeys(cell.metric for cell in cells):
        heads += [COLUMNS[metric].head, *(["ratio"] if metric == compared else [])]
    lines = []
    for (point, policy), own in groupby(cells, key=lambda cell: (cell.point, cell.policy)):
        texts: list[str | Text] = []
        for cell in own:
            column = COLUMNS[cell.metric]
            scaled = Interval(*(end * column.factor for end in cell.mean))
            if not column.interval:
                scaled = Interval(scaled.value, np.nan, np.nan)
            fewer = _FEWER if cell.missing and cell.seeds else ""
            texts.append(interval_text(scaled, column.form, ends) + fewer)
            if cell.metric == compared:
                texts.append(MISSING if policy == reference else _ratio(cell, ends))
        lines.append([*(_text(point[key]) for key in keys), policy, *texts])
    return Table(title, heads, lines)


def _ratio(cell: Cell, ends: bool) -> str | Text:
    text, worse = interval_text(cell.ratio, "{:.3f}", ends), _COMPARED[cell.metric]
    if cell.ratio.low <= 1 <= cell.ratio.high or np.isnan(cell.ratio.low):
        return text
    return Text(text, _WORSE if worse * (cell.ratio.value - 1) > 0 else _BETTER)


def _text(value: object) -> str:
    return "all" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def footnote(cells: Sequence[Cell]) -> str:
    """An explanation of the marks in the tables."""
    if not any(cell.missing for cell in cells):
        return ""
    return (
        f"{MISSING} means that no run has finished with a value. {_FEWER} marks a mean over fewer seeds, because the "
        "other runs have not finished, failed or measured nothing."
    )
