"""The Jinja2 templates of the HTML that flitgym writes: the report's page, and tables for a notebook."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


@cache
def template(path: str) -> Template:
    """The template in a file of this package. It escapes all texts.

    Args:
        path: From the folder of this module.
    """
    return _environment().get_template(path)


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
