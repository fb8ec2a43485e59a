"""The note below a figure: its number of seeds, its intervals, and the buffers of the compared routings."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ..results.copies import count_text, distinct
from ..results.rows import PORT_BUFFER
from .players import player_of
from .swept import configuration

# Columns with the seeds of runs, and their nouns.
_SEEDS = {"seed": "seed", "workload.placement_seed": "placement"}


def state_seeds(
    figure: Figure, rows: Sequence[Mapping[str, Any]], over_seeds: str = "", other: str = "", of_one_seed: str = ""
) -> None:
    """Write the note below a figure of runs, with the description of the intervals that it shows.

    `over_seeds` are shown if there are several seeds, `of_one_seed` if there is one, and `other` always.
    """
    counts = {noun: _counts(rows, column) for column, noun in _SEEDS.items()}
    if not max(counts["seed"]):  # forwarding tables have neither a seed nor buffers
        return
    several = max(max(own) for own in counts.values()) > 1
    # One placement is the usual case, and traffic has none.
    words = [count_text(own, noun) for noun, own in counts.items() if max(own) > 1 or noun == "seed"]
    intervals = "; ".join(filter(None, [over_seeds if several else of_one_seed, other])) or "no intervals"
    write_note(figure, f"{'means over ' if several else ''}{', '.join(words)}; {intervals}", buffers_text(rows))


def write_note(figure: Figure, *parts: str) -> None:
    """Write a note in the lower right corner of a figure; nothing if it is empty."""
    if note := "; ".join(filter(None, parts)):
        figure.supxlabel(note, fontsize=7.5, color="#666666", x=0.995, ha="right")


def buffers_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The input buffers per port of compared routings or engines: a routing with more VCs may have larger buffers.

    The text is empty if there is one routing, or if a row does not tell its buffers.
    """
    own = [row for row in rows if row.get("routing.name") is not None]
    flits = [row[PORT_BUFFER] for row in own if row.get(PORT_BUFFER)]
    if len({row.get("routing.engine") or player_of(row) for row in own}) < 2 or len(flits) < len(own):
        return ""
    low, high = min(flits), max(flits)
    if low == high:
        return f"equal input buffers: {low:,} flits per port"
    # The remainder of a divided total is unused, so buffers differ by a few flits.
    divided = ", from an equal total" if all(row.get("router.buffer_total") for row in own) else ""
    return f"input buffers: {low:,} to {high:,} flits per port{divided}"


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
