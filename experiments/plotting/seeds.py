"""The note below a figure: its number of seeds, its intervals, and the buffers of the compared routings."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ..results.copies import count_text, distinct
from .buffers import buffers_text
from .swept import configuration

# Columns with the seeds of runs, and their nouns.
_SEEDS = {"seed": "seed", "workload.placement_seed": "placement"}


def state_seeds(
    figure: Figure, rows: Sequence[Mapping[str, Any]], over_seeds: str = "", other: str = "", of_one_seed: str = ""
) -> None:
    """Write the note below a figure.

    Args:
        figure: The figure.
        rows: The rows of its runs.
        over_seeds: The description of the intervals that it shows if there are several seeds.
        other: The description of the other intervals that it shows.
        of_one_seed: The description of the intervals that it shows if there is one seed.
    """
    counts = {noun: _counts(rows, column) for column, noun in _SEEDS.items()}
    if not max(counts["seed"]):  # forwarding tables have neither a seed nor buffers
        return
    several = max(max(own) for own in counts.values()) > 1
    # One placement is the usual case, and traffic has none.
    words = [count_text(own, noun) for noun, own in counts.items() if max(own) > 1 or noun == "seed"]
    intervals = "; ".join(filter(None, [over_seeds if several else of_one_seed, other])) or "no intervals"
    note = f"{'means over ' if several else ''}{', '.join(words)}; {intervals}"
    write_note(figure, "; ".join(filter(None, [note, buffers_text(rows)])))


def write_note(figure: Figure, note: str) -> None:
    """Write a note in the lower right corner of a figure; nothing if it is empty."""
    if not note:
        return
    figure.supxlabel(note, fontsize=7.5, color="#666666", x=0.995, ha="right")


def _counts(rows: Sequence[Mapping[str, Any]], column: str) -> list[int]:
    """The number of seeds of all different runs, and that of each configuration with copies."""
    groups: dict[frozenset[tuple[str, Any]], list[Mapping[str, Any]]] = {}
    for row in rows:
        key = frozenset(item for item in configuration(row).items() if not item[0].endswith("seed"))
        groups.setdefault(key, []).append(row)
    lines = [(own, distinct(own)) for own in groups.values()]

    def count(runs: Sequence[Mapping[str, Any]]) -> int:
        return len({run.get(column) for run in runs} - {None})

    with_copies = [count(different) for own, different in lines if len(different) < len(own)]
    return [count([run for _, different in lines for run in different]), *with_copies]
