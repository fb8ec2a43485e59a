"""Tables of results for a notebook."""

from collections.abc import Iterable, Sequence

from ..templates import template


def html_table(rows: Iterable[Sequence[object]], header: Sequence[str] = (), title: str = "") -> str:
    """A table in HTML. Without a header, the first cell of a row is its heading.

    Args:
        rows: Cells; each is shown as its text.
        header: Names of the columns.
        title: Above the table.
    """
    return template("api/table.html").render(rows=rows, header=header, title=title)
