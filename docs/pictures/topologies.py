"""Draws the pictures of topologies.md by the commands of that page: `python docs/pictures/topologies.py`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from flitgym.experiments.draw import draw

PAGE = Path(__file__).parents[1] / "topologies.md"


def commands() -> list[list[str]]:
    """The arguments of each command in topologies.md that draws a picture."""
    lines = re.findall(r"^flitgym draw (.*out=docs/pictures/.*)$", PAGE.read_text(), re.MULTILINE)
    return [shlex.split(line) for line in lines]


if __name__ == "__main__":
    for words in commands():
        print(*draw(words))
