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


def test_every_topology_has_a_picture() -> None:
    pictures = {*topologies.FOLDER.iterdir()}
    assert set(_shown(DOCS / "networks.md")) == pictures
    names = {topologies.arguments(path)[0].removeprefix("topology=").split("_")[0] for path in pictures}
    assert {name.split("_")[0] for name in registered("topology")} <= names


@pytest.mark.parametrize("name", ["router", "decision"])
def test_figures_of_architecture_come_from_their_scripts(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    module = runpy.run_path(str(PICTURES / f"{name}.py"))
    module["draw"](tmp_path / "again.svg")
    texts = [
        re.findall(r"<!-- (.*?) -->", path.read_text()) for path in (PICTURES / f"{name}.svg", tmp_path / "again.svg")
    ]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 10
