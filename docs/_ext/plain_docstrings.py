"""Converts plain docstrings to the markup of Sphinx.

An indented block after an empty line becomes a literal block, and so does a Markdown table. Single backticks mark code
(`default_role` in conf.py).
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def readable(lines: list[str]) -> list[str]:
    """The same text with its indented blocks and tables as literal blocks."""
    out: list[str] = []
    text = -1  # indentation of the text before an empty line
    literal = -1  # indentation of the text around the current block
    for line in lines:
        indent = len(line) - len(line.lstrip())
        blank, table = not line.strip(), line.lstrip().startswith("|")
        if literal >= 0 and not blank and not table and indent <= literal:
            literal = -1
            if out and out[-1].strip():
                out.append("")
        if literal < 0 and not blank and (table or (out and not out[-1].strip() and indent >= text + 4 > 3)):
            literal = indent if table else text
            if out and out[-1].strip():
                out.append("")
            out += [" " * literal + "::", ""]
        out.append("    " + line if table and literal >= 0 and indent <= literal else line)
        if not blank and literal < 0:
            text = indent
    return [*out, ""] if literal >= 0 else out


def _process(app: Sphinx, what: str, name: str, target: Any, options: Any, lines: list[str]) -> None:
    lines[:] = readable(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the conversion before napoleon reads the docstrings."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
