"""Modules and C++ folders import each other in one direction, imports within functions included."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def imported(path: Path, root: Path) -> Iterator[Path]:
    """The files below `root` that a module imports by a relative path."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
        for name in (base, *(base / alias.name for alias in node.names)):
            if (file := name.with_suffix(".py")).is_file() and file.is_relative_to(root):
                yield file


def cycle(root: Path) -> list[str]:
    """The modules of an import cycle, or an empty list."""
    graph = {path: set(imported(path, root)) for path in root.rglob("*.py")}
    while graph:
        leaves = {path for path, others in graph.items() if not others & graph.keys()}
        if not leaves:
            return sorted(str(path.relative_to(ROOT)) for path in graph)
        graph = {path: others for path, others in graph.items() if path not in leaves}
    return []


@pytest.mark.parametrize("folder", ["agents", "configs", "env", "experiments"])
def test_imports_go_in_one_direction(folder: str) -> None:
    assert cycle(ROOT / folder) == []


def test_experience_imports_neither_environments_nor_agents() -> None:
    experience = ROOT / "env" / "experience"
    for path in experience.glob("*.py"):
        others = {file for file in imported(path, ROOT) if not file.is_relative_to(experience)}
        assert not {file for file in others if file.is_relative_to(ROOT / "env")}, path
        assert not {file for file in others if file.is_relative_to(ROOT / "agents")}, path


LIBRARIES = ("tables", "mapping", "readers", "hindsight")


def room(path: Path) -> str:
    """The folder of the core to which a C++ file belongs; `public` for its public headers."""
    parts = path.relative_to(ROOT / "simcore").parts
    if parts[0] == "include":
        return parts[2] if parts[2] in LIBRARIES else "public"
    return parts[2] if parts[1] == "libraries" else parts[1]


def test_includes_point_downwards() -> None:
    core = ROOT / "simcore"
    places = [core / "include", core / "src", core / "src" / "libraries"]
    upward = []
    for path in [*(core / "src").rglob("*.?pp"), *(core / "include").rglob("*.?pp")]:
        own = room(path)
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            target = next((place / name for place in places if (place / name).is_file()), None)
            if target is None:
                assert name == "simcore/version.hpp"  # the build writes it
                continue
            allowed = {own, "public"}
            if own in LIBRARIES:  # the public headers of the others
                allowed |= {room(target)} if target.is_relative_to(core / "include") else set()
            elif own not in ("public", "core"):
                allowed.add("core")
            if room(target) not in allowed:
                upward.append(f"{path.relative_to(core)} includes {name}")
    assert upward == []
