"""The tables of a regret study: on the terminal, and in `regret.md` with both ends of every interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console

from ..terminal.tables import interval_text, markdown_table, study_page, terminal_table
from .summary import Line

_HEADS = ("load", "hop", "policy", "decisions", "cand.", "best taken", "regret, ns", "relative", "change, ns")


@dataclass(frozen=True)
class About:
    """The facts that the text around the tables mentions."""

    command: str
    network: str
    confidence: float
    horizon_ns: float
    others: str
    candidates: str = "own"
    uneven: bool = False  # whether policies choose among different numbers of candidates

    def caption(self) -> str:
        """An explanation of the tables."""
        others = {
            "kept": "the other packets keep the routes that they take in the run",
            "routed": "the routing decides again for the other packets",
        }[self.others]
        return (
            f"Each candidate of a sampled decision was tried in a fork, which ran {self.horizon_ns:,.0f} ns with the "
            f"same packets; {others}. The cost of a candidate is the sum of the delays of all packets. regret: the "
            "cost of the candidate taken minus the cost of the best one, mean per decision. No routing reaches 0, "
            "because it cannot know the future. relative: regret divided by the regret of a random choice (1: as good "
            "as chance). change: the mean cost of the other candidates minus the cost of the one taken; below 0, "
            f"another candidate is better. {self._compared()}Brackets hold the {100 * self.confidence:.12g} % interval "
            "(Student's t over stretches of time)."
        )

    def _compared(self) -> str:
        if self.candidates == "pair":
            return (
                "Two candidates of each decision are compared: the minimal one, and the one taken or else a random "
                "other. "
            )
        return f"{UNEVEN} " if self.uneven else ""


UNEVEN = (
    "The policies choose among different numbers of candidates (cand.), so best taken, regret and relative refer to "
    "different best candidates; candidates=pair compares all policies on two candidates per decision."
)
_LEAST_UNEVEN = 1.1  # ratio of the mean numbers of candidates


def is_uneven(lines: Sequence[Line]) -> bool:
    """Whether policies at the same point choose among different numbers of candidates."""
    points: dict[tuple[str, float], list[float]] = {}
    for line in lines:
        if line.hops is None:
            points.setdefault((line.pattern, line.load), []).append(line.candidates)
    return any(max(numbers) > _LEAST_UNEVEN * min(numbers) for numbers in points.values())


def print_tables(console: Console, lines: Sequence[Line], about: About) -> None:
    """Print a table per pattern on the terminal, without the rows for single hops."""
    for pattern, own in groupby(lines, key=lambda line: line.pattern):
        table = terminal_table((head for head in _HEADS if head != "hop"), left=["policy"], title=pattern)
        for _, point in groupby((line for line in own if line.hops is None), key=lambda line: line.load):
            for line in point:
                table.add_row(
                    *(text for head, text in zip(_HEADS, texts(line, ends=False), strict=True) if head != "hop")
                )
            table.add_section()
        console.print(table)
    console.print(about.caption())


def markdown(lines: Sequence[Line], about: About, figure: str, failures: Sequence[str]) -> str:
    """The page `regret.md`: the command, the failures, the figure and every table."""
    tables = {
        pattern: markdown_table(_HEADS, (texts(line, ends=True) for line in own), left=["policy"])
        for pattern, own in groupby(lines, key=lambda line: line.pattern)
    }
    image = f"![Regret of every policy over the offered load and by hop]({figure})"
    return study_page("Regret", about.command, [about.network, about.caption()], failures, image, tables)


def texts(line: Line, ends: bool) -> list[str]:
    """The fields of a line, in the order of the headings.

    Args:
        line: A line of the summary.
        ends: Whether to show both ends of an interval, or half its width.
    """
    return [
        f"{line.load:g}",
        "all" if line.hops is None else str(line.hops),
        line.policy,
        f"{line.decisions:,}",
        f"{line.candidates:.1f}",
        f"{line.best_taken:.0%}",
        interval_text(line.regret_ns, "{:,.0f}", ends),
        interval_text(line.relative, "{:.2f}", ends),
        interval_text(line.change_ns, "{:+,.0f}", ends),
    ]
