"""The build of the core as planned by CMake, without compiling."""

import json
import platform
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
COMPONENT = ROOT / "docs" / "extending" / "examples" / "two_choices.cpp"


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Compile commands by source file under simcore/src, for a copy of the sources with an additional routing."""
    folder = tmp_path_factory.mktemp("sources")
    sources, build = folder / "simcore", folder / "build"
    shutil.copytree(ROOT / "simcore", sources, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(COMPONENT, sources / "src" / "routing" / "graph")
    subprocess.run(
        ["cmake", "-S", sources, "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], check=True, capture_output=True
    )
    found: dict[str, list[str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        files = [Path(name) for name in re.findall(r'#include "(.+\.cpp)"', file.read_text())] or [file]
        for source in files:
            if source.is_relative_to(sources / "src"):
                found.setdefault(source.relative_to(sources / "src").as_posix(), []).append(entry["command"])
    return found


def level(command: str) -> str:
    """The last optimisation level on the command line, which takes effect."""
    return re.findall(r" (-O\w)", command)[-1]


def test_every_source_is_compiled_once(commands: dict[str, list[str]]) -> None:
    source = ROOT / "simcore" / "src"
    expected = {path.relative_to(source).as_posix() for path in source.rglob("*.cpp")} | {
        "routing/graph/two_choices.cpp"
    }
    assert set(commands) == expected
    assert Counter(len(of_a_source) for of_a_source in commands.values()) == {1: len(expected)}


def test_only_the_loops_of_the_policy_network_may_use_long_vectors(commands: dict[str, list[str]]) -> None:
    """All other code must run on every processor of the architecture."""
    long = {source for source, of_a_source in commands.items() if " -mavx" in of_a_source[0]}
    assert long <= {"learning/perceptron_8.cpp", "learning/perceptron_16.cpp"}
    assert len(long) == (2 if platform.machine() in ("x86_64", "AMD64") else 0)
