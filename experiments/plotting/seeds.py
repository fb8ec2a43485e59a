"""The number of seeds in a figure, and the note below it that states them and the intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

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
    counts = {noun: len({row.get(column) for row in rows} - {None}) for column, noun in _SEEDS.items()}
    if not counts["seed"]:  # forwarding tables have no seed
        return
    several = max(counts.values()) > 1
    # One placement is the usual case, and traffic has none.
    words = [count_text([n], noun) for noun, n in counts.items() if n > 1 or noun == "seed"]
    intervals = "; ".join(filter(None, [over_seeds if several else of_one_seed, other])) or "no intervals"
    note = f"{'means over ' if several else ''}{', '.join(words)}; {intervals}"
    figure.supxlabel(note, fontsize=7.5, color="#666666", x=0.995, ha="right")
