"""Every topology has a picture, and scripts reproduce the pictures of the pages."""

import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest
from docs_pages import DOCS
from flitgym.simcore import registered

PICTURES = DOCS / "pictures"
sys.path.insert(0, str(PICTURES))
topologies = importlib.import_module("topologies")


def _shown(page: Path) -> list[Path]:
    return [(page.parent / target).resolve() for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text())]


def test_every_picture_of_the_topologies_has_its_command() -> None:
    drawn = [DOCS.parent / word.removeprefix("out=") for words in topologies.commands() for word in words[-1:]]
    assert drawn == _shown(DOCS / "topologies.md")
    names = {words[0].removeprefix("topology=").split("_")[0] for words in topologies.commands()}
    families = {name.split("_")[0] for name in registered("topology")}
    assert families <= names


def test_pictures_of_topologies_are_up_to_date(tmp_path: Path) -> None:
    """The numbers of routers, terminals and links in the picture are current."""
    words = next(words for words in topologies.commands() if words[0] == "topology=hyperx_64")
    (again,) = topologies.draw([words[0], f"out={tmp_path / 'again.svg'}"])
    kept = (PICTURES / "topologies" / "hyperx_64.svg").read_text()
    comments = [re.findall(r"<!-- (.*?) -->", text) for text in (kept, again.read_text())]
    assert comments[0] == comments[1]
    assert "16 routers, 64 terminals, 48 links" in comments[0]


@pytest.mark.parametrize("name", ["cycle", "router", "decision"])
def test_figures_of_architecture_come_from_their_scripts(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    module = runpy.run_path(str(PICTURES / f"{name}.py"))
    module["draw"](tmp_path / "again.svg")
    texts = [
        re.findall(r"<!-- (.*?) -->", path.read_text()) for path in (PICTURES / f"{name}.svg", tmp_path / "again.svg")
    ]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 10
