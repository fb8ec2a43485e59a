"""The note below a figure: its number of seeds, its intervals, and the buffers of the compared routings."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ..results.copies import distinct
from .buffers import buffers_text

# Columns with the seeds of runs, and their nouns.
_SEEDS = {"seed": "seed", "workload.placement_seed": "placement"}


def count_text(counts: Sequence[int], noun: str = "seed") -> str:
    """The numbers of seeds behind the points of a figure: `1 seed`, `3 seeds`, `2 to 3 seeds`."""
    few, many = min(counts), max(counts)
    return f"{few if few == many else f'{few} to {many}'} {noun}{'s' if many > 1 else ''}"


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
    different = distinct(rows)
    counts = {noun: len({row.get(column) for row in different} - {None}) for column, noun in _SEEDS.items()}
    if not counts["seed"]:  # forwarding tables have neither a seed nor buffers
        return
    several = max(counts.values()) > 1
    # One placement is the usual case, and traffic has none.
    words = [count_text([n], noun) for noun, n in counts.items() if n > 1 or noun == "seed"]
    intervals = "; ".join(filter(None, [over_seeds if several else of_one_seed, other])) or "no intervals"
    note = f"{'means over ' if several else ''}{', '.join(words)}; {intervals}"
    write_note(figure, "; ".join(filter(None, [note, buffers_text(rows)])))


def write_note(figure: Figure, note: str) -> None:
    """Write a note in the lower right corner of a figure; nothing if it is empty."""
    if not note:
        return
    figure.supxlabel(note, fontsize=7.5, color="#666666", x=0.995, ha="right")
