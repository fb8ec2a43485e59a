"""Markdown below the table of differences."""

from collections.abc import Iterable, Sequence

from ..terminal.tables import markdown_table
from .drawing import Row


def section(title: str, heads: Sequence[str], lines: Iterable[Sequence[str]], text: str = "") -> str:
    """A heading, a paragraph if there is one, and a table that ends with an empty line."""
    paragraph = f"{text}\n\n" if text else ""
    return f"## {title}\n\n{paragraph}{markdown_table(heads, lines, left=heads)}\n"


def cost(rows: Sequence[Row]) -> str:
    """The sentence about the CPU time of all runs."""
    return f"All {len(rows)} runs took {sum(row.get('cpu_seconds') or 0 for row in rows):,.0f} CPU seconds.\n"
