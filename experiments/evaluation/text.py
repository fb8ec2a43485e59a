"""The tables of an evaluation: on the terminal with colours, in `evaluation.md` with both ends of every interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from rich.console import Console
from rich.text import Text

from ..metrics import Interval
from ..results.copies import count_text
from ..terminal.tables import MISSING, interval_text, markdown_table, study_page, terminal_table
from .summary import Cell

_FEWER = "†"

_COLUMNS = {
    "accepted_load": ("accepted", 1.0, "{:.3f}"),
    "comm_time_ns": ("comm., us", 1e-3, "{:,.1f}"),
    "finish_ns": ("finish, us", 1e-3, "{:,.1f}"),
    "latency_mean_ns": ("latency, ns", 1.0, "{:,.0f}"),
    "latency_p99_ns": ("p99, ns", 1.0, "{:,.0f}"),
    "hops": ("hops", 1.0, "{:.2f}"),
    "nonminimal_fraction": ("nonmin.", 1.0, "{:.1%}"),
}  # title, factor from the metric's unit, format
# The metric whose ratio to the reference the tables show.
_COMPARED = {"pattern": "latency_mean_ns", "workload": "comm_time_ns"}
# Metrics that the tables show without their intervals, which the CSV has.
_PLAIN = ("hops", "nonminimal_fraction")
_FASTER, _SLOWER = "green", "red"


@dataclass(frozen=True)
class About:
    """The facts that the text around the tables mentions."""

    command: str
    network: str
    reference: str
    confidence: float
    seeds: int
    copies: str | None  # the text of `copies_text`

    def caption(self, cells: Sequence[Cell], ends: bool) -> str:
        """An explanation of the tables.

        Args:
            cells: All cells.
            ends: Whether the tables show both ends of an interval, or half its width.
        """
        if self.seeds == 1:
            return "One seed gives no intervals, because the variation between runs is unknown. Use more seeds."
        counts = [cell.seeds for cell in cells if cell.seeds]
        several = [count for count in counts if count > 1]
        sentences = ["A single run has no interval."] if 1 in counts else []
        if several:
            interval = f"the {100 * self.confidence:.12g} % interval of the mean over {count_text(several)}"
            shown = f"Brackets hold {interval}" if ends else f"The number after ± is half the width of {interval}"
            sentences.insert(0, f"{shown} (Student's t).")
        return " ".join([*sentences, f"Ratios compare a policy with {self.reference} on the same seeds."])


@dataclass(frozen=True)
class Line:
    """A row of a table: texts, and the side of 1 on which the interval of its ratio lies: -1, 1, or 0 if it holds 1."""

    texts: list[str]
    verdict: int


def print_tables(console: Console, cells: Sequence[Cell], about: About) -> None:
    """Print a table per scenario on the terminal."""
    for scenario, of_scenario in _by_scenario(cells):
        table = terminal_table(heads(of_scenario), left=["policy"], title=scenario)
        for _, points in groupby(of_scenario, key=lambda cell: (cell.load, cell.job)):
            for line in lines(list(points), about.reference, ends=False):
                color = {-1: _FASTER, 0: "", 1: _SLOWER}[line.verdict]
                ratio = _ratio_position(of_scenario)
                texts = [Text(text, color if k == ratio else "") for k, text in enumerate(line.texts)]
                table.add_row(*texts)
            table.add_section()
        console.print(table)
    if _any_missing(cells):
        console.print(_footnote())
    console.print(about.caption(cells, ends=False))


def markdown(cells: Sequence[Cell], about: About, figure: str, failures: Sequence[str]) -> str:
    """The page `evaluation.md`: the command, the failures, the figure and every table."""
    tables = {}
    for scenario, of_scenario in _by_scenario(cells):
        ratio, rows = _ratio_position(of_scenario), []
        for _, points in groupby(of_scenario, key=lambda cell: (cell.load, cell.job)):
            for line in lines(list(points), about.reference, ends=True):
                rows.append([f"**{t}**" if line.verdict and k == ratio else t for k, t in enumerate(line.texts)])
        tables[scenario] = markdown_table(heads(of_scenario), rows, left=["policy"])
    notes = [about.network, f"{about.caption(cells, ends=True)} Bold: the interval of the ratio excludes 1."]
    notes += [f"{about.copies}."] if about.copies else []
    image = f"![Every policy over the offered load]({figure})"
    footnote = _footnote() if _any_missing(cells) else ""
    return study_page("Evaluation", about.command, notes, failures, image, tables, footnote)


def heads(cells: Sequence[Cell]) -> list[str]:
    """The headings of a scenario's table."""
    compared = _COMPARED[cells[0].kind]
    columns = []
    for metric in dict.fromkeys(cell.metric for cell in cells):
        columns.append(_COLUMNS[metric][0])
        if metric == compared:
            columns.append("ratio")
    return ["load" if cells[0].kind == "pattern" else "job", "policy", *columns]


def lines(cells: Sequence[Cell], reference: str, ends: bool) -> list[Line]:
    """The lines of one point of a scenario, one per policy.

    Args:
        cells: The cells of the point.
        reference: The policy that gets no ratio.
        ends: As for `About.caption`.
    """
    result = []
    for policy, own in groupby(cells, key=lambda cell: cell.policy):
        texts, verdict = [], 0
        for cell in own:
            _, factor, form = _COLUMNS[cell.metric]
            fewer = _FEWER if cell.missing and cell.seeds else ""
            scaled = Interval(*(end * factor for end in cell.mean))
            texts.append(_text(scaled, form, ends, cell.metric in _PLAIN) + fewer)
            if cell.metric == _COMPARED[cell.kind]:
                texts.append(MISSING if policy == reference else _text(cell.ratio, "{:.3f}", ends))
                verdict = 0 if policy == reference else int(cell.ratio.low > 1) - int(cell.ratio.high < 1)
        point = cells[0].job if cells[0].load is None else f"{cells[0].load:g}"
        result.append(Line([str(point), policy, *texts], verdict))
    return result


def _text(interval: Interval, form: str, ends: bool, plain: bool = False) -> str:
    return interval_text(Interval(interval.value, np.nan, np.nan) if plain else interval, form, ends)


def _by_scenario(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    return [(name, list(own)) for (_, name), own in groupby(cells, key=lambda cell: (cell.kind, cell.scenario))]


def _ratio_position(cells: Sequence[Cell]) -> int:
    return heads(cells).index("ratio")


def _any_missing(cells: Sequence[Cell]) -> bool:
    return any(cell.missing for cell in cells)


def _footnote() -> str:
    return (
        f"{MISSING} means that no run has finished with a value. {_FEWER} marks a mean over fewer seeds, because the "
        "other runs have not finished, failed or measured nothing."
    )
