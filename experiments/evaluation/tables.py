"""The tables of a study: on the terminal with colours, on a page in Markdown with both ends of every interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.text import Text

from ..metrics import Interval
from ..results.copies import count_text
from ..terminal.tables import MISSING, interval_text, markdown_table, study_page, terminal_table
from .cells import Cell

_FEWER = "†"
_BETTER, _WORSE = "green", "red"
_LEFT = ("policy", "pattern")  # columns that are aligned to the left


class Column(NamedTuple):
    """A quantity in a table: its heading, the factor from its unit, its format, and whether its interval is shown."""

    head: str
    factor: float
    form: str
    interval: bool = True


COLUMNS = {
    "accepted_load": Column("accepted", 1.0, "{:.3f}"),
    "comm_time_ns": Column("comm., us", 1e-3, "{:,.1f}"),
    "finish_ns": Column("finish, us", 1e-3, "{:,.1f}"),
    "latency_mean_ns": Column("latency, ns", 1.0, "{:,.0f}"),
    "latency_p99_ns": Column("p99, ns", 1.0, "{:,.0f}"),
    "hops": Column("hops", 1.0, "{:.2f}", False),
    "nonminimal_fraction": Column("nonmin.", 1.0, "{:.1%}", False),
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


@dataclass(frozen=True)
class About:
    """The facts that the text around the tables mentions.

    Args:
        title: The title of the page.
        command: The command line.
        notes: Paragraphs about the network.
        reference: The policy that ratios refer to.
        meaning: The meaning of the numbers in sentences.
        picture: The description of the figure.
    """

    title: str
    command: str
    notes: Sequence[str]
    reference: str
    meaning: str
    picture: str


@dataclass(frozen=True)
class Line:
    """A row of a table: texts, and -1 if the policy is better, 1 if worse, 0 if the interval of its ratio holds 1."""

    texts: list[str]
    verdict: int


def intervals_text(cells: Sequence[Cell], confidence: float, of: str = "Student's t") -> str:
    """A sentence about the intervals of the means over seeds."""
    counts = [cell.seeds for cell in cells if cell.seeds]
    several = [count for count in counts if count > 1]
    if not several:
        return "One seed gives no intervals, because the variation between runs is unknown. Use more seeds."
    sentences = [f"Intervals: {100 * confidence:.12g} % of the mean over {count_text(several)} ({of})."]
    return " ".join(sentences + (["A single run has no interval."] if 1 in counts else []))


def print_tables(console: Console, cells: Sequence[Cell], about: About) -> None:
    """Print a table per network, pattern or workload. Single hops are only in the files."""
    shown = [cell for cell in cells if cell.point.get("hop") is None]
    for title, own in by_table(shown):
        heads = heads_of(own)
        table = terminal_table(heads, left=_LEFT, title=title)
        for _, points in groupby(_lines(own, about.reference, ends=False), key=lambda line: line.texts[0]):
            for line in points:
                color = {-1: _BETTER, 0: "", 1: _WORSE}[line.verdict]
                table.add_row(*(Text(t, color if h == "ratio" else "") for h, t in zip(heads, line.texts, strict=True)))
            table.add_section()
        console.print(table)
    for text in filter(None, (_footnote(cells), f"{about.meaning} ± is half the width of an interval.")):
        console.print(text)


def markdown(cells: Sequence[Cell], about: About, figure: str, failures: Sequence[str]) -> str:
    """The page of a study: the command, the failures, the figure and every table."""
    tables = {}
    for title, own in by_table(cells):
        heads, rows = heads_of(own), []
        for line in _lines(own, about.reference, ends=True):
            bold = line.verdict and "ratio" in heads
            rows.append([f"**{t}**" if bold and h == "ratio" else t for h, t in zip(heads, line.texts, strict=True)])
        tables[title] = markdown_table(heads, rows, left=_LEFT)
    notes = [*about.notes, f"{about.meaning} Bold: the interval of the ratio excludes 1."]
    image = f"![{about.picture}]({figure})"
    return study_page(about.title, about.command, notes, failures, image, tables, _footnote(cells))


def by_table(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """The titles of the tables with their cells, in the order of the cells."""
    for (_, title), own in groupby(cells, key=lambda cell: cell.table):
        yield title, list(own)


def heads_of(cells: Sequence[Cell]) -> list[str]:
    """The headings of a table."""
    heads = [*_keys(cells), "policy"]
    for metric in dict.fromkeys(cell.metric for cell in cells):
        heads += [COLUMNS[metric].head, *(["ratio"] if metric == _compared(cells) else [])]
    return heads


def _lines(cells: Sequence[Cell], reference: str, ends: bool) -> Iterator[Line]:
    """The lines of a table, one per point and policy.

    Args:
        cells: The cells of the table.
        reference: The policy that gets no ratio.
        ends: Whether to show both ends of an interval, or half its width.
    """
    keys, compared = _keys(cells), _compared(cells)
    for (point, policy), own in groupby(cells, key=lambda cell: (cell.point, cell.policy)):
        texts, verdict = [], 0
        for cell in own:
            column = COLUMNS[cell.metric]
            scaled = Interval(*(end * column.factor for end in cell.mean))
            if not column.interval:
                scaled = Interval(scaled.value, np.nan, np.nan)
            fewer = _FEWER if cell.missing and cell.seeds else ""
            texts.append(interval_text(scaled, column.form, ends) + fewer)
            if cell.metric == compared:
                texts.append(MISSING if policy == reference else interval_text(cell.ratio, "{:.3f}", ends))
                side = 0 if policy == reference else int(cell.ratio.low > 1) - int(cell.ratio.high < 1)
                verdict = side * _COMPARED[compared]
        yield Line([*(_text(point[key]) for key in keys), policy, *texts], verdict)


def _text(value: object) -> str:
    return "all" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _keys(cells: Sequence[Cell]) -> list[str]:
    """The keys of the points that head columns."""
    _, *keys = cells[0].point
    return [key for key in keys if any(cell.point[key] is not None for cell in cells)]


def _compared(cells: Sequence[Cell]) -> str | None:
    present = {cell.metric for cell in cells}
    return next((metric for metric in _COMPARED if metric in present), None)


def _footnote(cells: Sequence[Cell]) -> str:
    if not any(cell.missing for cell in cells):
        return ""
    return (
        f"{MISSING} means that no run has finished with a value. {_FEWER} marks a mean over fewer seeds, because the "
        "other runs have not finished, failed or measured nothing."
    )
