"""The tables: on the terminal, in `regret.md` with the ends of every interval, in the CSV in full."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from ...simcore._files import atomic_path
from ..metrics import Interval
from .summary import Line, tidy

_HEADS = ("load", "hop", "policy", "decisions", "cand.", "best taken", "regret, ns", "relative", "change, ns")


@dataclass(frozen=True)
class About:
    """What is said around the tables."""

    command: str
    network: str
    confidence: float
    horizon_ns: float
    others: str

    def caption(self) -> str:
        """How to read the tables."""
        others = {
            "kept": "the other packets keep the routes that they take in the run",
            "routed": "the routing decides on the other packets anew",
        }[self.others]
        return (
            f"Of each sampled decision every candidate was tried in a fork that ran {self.horizon_ns:,.0f} ns with "
            f"the same packets; {others}. Costs are sums of the delays of all packets. regret: what the candidate "
            "taken cost more than the best in hindsight, mean per decision. Nobody can know all of it beforehand, so "
            "no routing comes to 0; relative: the same over what a candidate at random would lose (1: as good as "
            "chance). change: what the other candidates cost more on average than the one taken; below 0 it pays to "
            "take another. "
            f"In brackets the {100 * self.confidence:g} % interval (bootstrap over stretches of time)."
        )


def print_tables(console: Console, lines: Sequence[Line], about: About) -> None:
    """A table per pattern, without the hops, for people at a terminal."""
    for pattern, own in groupby(lines, key=lambda line: line.pattern):
        table = Table(title=pattern, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
        for head in _HEADS:
            if head != "hop":
                table.add_column(head, justify="left" if head == "policy" else "right")
        for _, point in groupby((line for line in own if line.hops is None), key=lambda line: line.load):
            for line in point:
                table.add_row(
                    *(text for head, text in zip(_HEADS, texts(line, ends=False), strict=True) if head != "hop")
                )
            table.add_section()
        console.print(table)
    console.print(about.caption())


def markdown(lines: Sequence[Line], about: About, figure: str, failures: Sequence[str]) -> str:
    """`regret.md`: what was run, every table, the figure, and what failed."""
    parts = [f"# Regret\n\n    {about.command}\n\n{about.network}\n\n{about.caption()}\n"]
    if failures:
        parts.append("## Failed\n\n" + "\n".join(f"- {failure}" for failure in failures) + "\n")
    parts.append(f"![Regret of every policy over the offered load and by hop]({figure})\n")
    for pattern, own in groupby(lines, key=lambda line: line.pattern):
        rows = [
            f"| {' | '.join(_HEADS)} |",
            "|" + "|".join("---" if head == "policy" else "---:" for head in _HEADS) + "|",
            *(f"| {' | '.join(texts(line, ends=True))} |" for line in own),
        ]
        parts.append(f"## {pattern}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def write_csv(path: Path, lines: Sequence[Line]) -> None:
    """Every line with all digits; an empty field where there is no number."""
    rows = tidy(lines)
    with atomic_path(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def texts(line: Line, ends: bool) -> list[str]:
    """The fields of a line, in the order of the heads.

    Args:
        line: Of the summary.
        ends: Whether both ends of an interval are shown, or half its width.
    """
    return [
        f"{line.load:g}",
        "all" if line.hops is None else str(line.hops),
        line.policy,
        f"{line.decisions:,}",
        f"{line.candidates:.1f}",
        f"{line.best_taken:.0%}",
        _text(line.regret_ns, "{:,.0f}", ends),
        _text(line.relative, "{:.2f}", ends),
        _text(line.change_ns, "{:+,.0f}", ends),
    ]


def _text(interval: Interval, form: str, ends: bool) -> str:
    if np.isnan(interval.value):
        return "-"
    value = form.format(interval.value)
    if np.isnan(interval.low):
        return value
    if ends:
        return f"{value} [{form.format(interval.low)}, {form.format(interval.high)}]"
    return f"{value} ±{form.replace('+', '').format((interval.high - interval.low) / 2)}"
