"""Tables of results: on the terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
import html
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...simcore._files import atomic_path
from ..metrics import Interval

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MISSING = "-"  # in place of a number
LATEX = str.maketrans({character: rf"\{character}" for character in "_%&#$"})  # for text in LaTeX


def console(columns: int) -> Console:
    """The terminal; standard output of another kind gets lines of a fixed number of columns."""
    from rich.console import Console  # takes long to import

    return Console(width=None if sys.stdout.isatty() else columns)


def terminal_table(heads: Iterable[str], left: Sequence[str] = (), title: str | None = None) -> Table:
    """An empty table for the terminal. The columns of the heads in `left` are aligned to the left."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, justify="left" if head in left else "right")
    return table


def escaped(text: str) -> str:
    """Text for Markdown that contains no HTML and ends no cell of a table."""
    return html.escape(text, quote=False).replace("|", "\\|")


def markdown_table(heads: Sequence[str], lines: Iterable[Sequence[str]], left: Sequence[str] = ()) -> str:
    """A table in Markdown that ends with a newline; arguments as for `terminal_table`."""
    first, *rest = (f"| {' | '.join(map(escaped, line))} |" for line in (heads, *lines))
    rules = ["---" if head in left else "---:" for head in heads]
    return "\n".join([first, f"|{'|'.join(rules)}|", *rest]) + "\n"


def latex_table(heads: Sequence[str], lines: Iterable[Sequence[str]], left: Sequence[str] = ()) -> str:
    """A table in LaTeX with the rules of booktabs; arguments as for `terminal_table`. Cells may contain commands."""
    first, *rest = (" & ".join(line) + r" \\" for line in ([head.translate(LATEX) for head in heads], *lines))
    columns = "".join("l" if head in left else "r" for head in heads)
    rules = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", first, r"\midrule", *rest, r"\bottomrule"]
    return "\n".join([*rules, r"\end{tabular}"]) + "\n"


def study_page(
    title: str,
    command: str,
    notes: Sequence[str],
    failures: Sequence[str],
    figure: str,
    tables: Mapping[str, str],
    footnote: str = "",
) -> str:
    """The Markdown page of a study.

    The command line `command` made it, and `notes` explain the tables. The figure and the tables, by title, are in
    Markdown.
    """
    parts = [f"# {title}\n\n    {command}\n", *(f"{escaped(note)}\n" for note in notes)]
    if failures:
        parts.append("## Failed\n\n" + "".join(f"- {escaped(failure)}\n" for failure in failures))
    parts.append(f"{figure}\n")
    parts += [f"## {escaped(name)}\n\n{table}" for name, table in tables.items()]
    if footnote:
        parts.append(f"{footnote}\n")
    return "\n".join(parts)


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    """Write rows as CSV in one step; None becomes an empty field, and a list JSON.

    Without `columns`, the first row names them.
    """
    with atomic_path(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns or list(rows[0]), lineterminator="\n")
        writer.writeheader()
        nested = (list, dict)
        writer.writerows({key: json.dumps(x) if isinstance(x, nested) else x for key, x in row.items()} for row in rows)


def interval_text(interval: Interval, form: str, ends: bool = True) -> str:
    """A value with its interval.

    Args:
        interval: A value that is not a number gives `MISSING`.
        form: A format such as `{:.2f}`.
        ends: Whether to show both ends of the interval, or half its width if the value is in its middle.
    """
    if np.isnan(interval.value):
        return MISSING
    value = form.format(interval.value)
    if np.isnan(interval.low):
        return value
    if ends or not np.isclose(interval.high - interval.value, interval.value - interval.low, rtol=1e-6):
        return f"{value} [{form.format(interval.low)}, {form.format(interval.high)}]"
    return f"{value} ±{form.replace('+', '').format((interval.high - interval.low) / 2)}"


def interval_columns(interval: Interval, *names: str) -> dict[str, float | None]:
    """The value and the ends of an interval under three names; None for what is not a number."""
    return {name: None if np.isnan(number) else number for name, number in zip(names, interval, strict=True)}
