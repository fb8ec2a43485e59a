"""Draws the pictures of networks.md: `python docs/pictures/topologies.py`."""

from __future__ import annotations

from pathlib import Path

from flitgym.experiments.draw import draw

FOLDER = Path(__file__).parent / "topologies"
# Picture -> arguments of `flitgym draw`. A picture without arguments has the name of its topology.
ARGUMENTS = {
    "torus_8x8.svg": ["topology=torus", "topology.sizes=[8,8]"],
    "petersen.svg": ["topology=graph", "topology.file=docs/examples/petersen.csv"],
    "failed_links.svg": ["topology=dragonfly_72", "failures.links=0.1"],
}


def arguments(picture: Path) -> list[str]:
    """The arguments of `flitgym draw` that make a picture."""
    return ARGUMENTS.get(picture.name, [f"topology={picture.stem}"])


if __name__ == "__main__":
    for picture in sorted(FOLDER.iterdir()):
        print(*draw([*arguments(picture), f"out={picture}"]))
