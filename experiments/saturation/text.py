"""The tables of saturation loads: on the terminal, and in `saturation.md`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from rich.console import Console

from ..results.copies import count_text
from ..terminal.tables import MISSING, interval_text, markdown_table, study_page, terminal_table
from .summary import Line

_HEADS = ("pattern", "policy", "carried load", "accepted", "bound", "of the bound")
_LEFT = ("pattern", "policy")


@dataclass(frozen=True)
class About:
    """The facts that the text around the tables mentions."""

    command: str
    networks: str
    precision: float
    confidence: float
    copies: str | None  # the text of `copies_text`

    def caption(self, lines: Sequence[Line]) -> str:
        """An explanation of the tables."""
        counts = [line.seeds for line in lines]
        mean = f", mean over {count_text(counts)}" if max(counts) > 1 else ""
        one = "from the carried to the refused load of one search"
        brackets = (
            f"from the lower end of the {100 * self.confidence:.12g} % interval of the carried loads to the upper end "
            f"of that of the refused loads; without an interval, {one}"
            if max(counts) > 1
            else one
        )
        return (
            f"carried load: the highest offered load at which the source queues are stable and the accepted load "
            f"equals the offered one within {100 * self.precision:g} %{mean}, in flits per terminal per flit time. "
            f"Brackets: {brackets}. accepted: the accepted load at the carried load. bound: the highest load that the "
            "links can carry, if all their bandwidth is used."
        )


def print_tables(console: Console, lines: Sequence[Line], about: About) -> None:
    """Print a table per network on the terminal."""
    for network, own in groupby(lines, key=lambda line: line.network):
        table = terminal_table(_HEADS, left=_LEFT, title=network)
        for _, of_pattern in groupby(own, key=lambda line: line.pattern):
            for line in of_pattern:
                table.add_row(*texts(line))
            table.add_section()
        console.print(table)
    console.print(about.caption(lines))


def markdown(lines: Sequence[Line], about: About, figure: str, failures: Sequence[str]) -> str:
    """The page `saturation.md`: the command, the failures, the figure and every table."""
    tables = {
        network: markdown_table(_HEADS, map(texts, own), left=_LEFT)
        for network, own in groupby(lines, key=lambda line: line.network)
    }
    image = f"![Highest carried load of every policy and pattern, with its interval and bound]({figure})"
    notes = [about.networks, about.caption(lines), *([f"{about.copies}."] if about.copies else [])]
    return study_page("Saturation", about.command, notes, failures, image, tables)


def texts(line: Line) -> list[str]:
    """The fields of a line, in the order of the headings."""
    return [
        line.pattern,
        line.policy,
        interval_text(line.load, "{:.3f}"),
        MISSING if np.isnan(line.accepted) else f"{line.accepted:.3f}",
        MISSING if line.bound is None else f"{line.bound:.3f}",
        MISSING if not line.bound else f"{line.load.value / line.bound:.0%}",
    ]
