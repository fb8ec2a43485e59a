"""The Jinja2 templates of the HTML that flitgym writes: the report's page, and tables for a notebook."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


@cache
def template(path: str) -> Template:
    """The template in a file below the folder of this module. It escapes all texts."""
    loader = FileSystemLoader(Path(__file__).parent)
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.get_template(path)


def html_table(rows: Iterable[Sequence[object]], header: Sequence[str] = (), title: str = "") -> str:
    """A table for a notebook. Without a header, the first cell of a row is its heading."""
    return template("api/table.html").render(rows=rows, header=header, title=title)
