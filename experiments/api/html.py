"""Results in a notebook."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(rows: Iterable[Sequence[object]], header: Sequence[str] = (), title: str = "") -> str:
    """A table in HTML. The first cell of a row names it where there is no header.

    Args:
        rows: Cells; each is shown as its text.
        header: Names of the columns.
        title: Above the table.
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    first = "td" if header else "th"
    body = "".join(
        "<tr>"
        + "".join(
            f"<{tag} style='text-align:left'>{escape(str(cell))}</{tag}>"
            for tag, cell in zip([first, *["td"] * len(row)], row, strict=False)
        )
        + "</tr>"
        for row in rows
    )
    caption = f"<caption style='text-align:left'>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}{f'<tr>{head}</tr>' if header else ''}{body}</table>"
