"""The name that identifies the core's results (simcore/CMakeLists.txt), tested in a small repository."""

import os
import re
import subprocess
from pathlib import Path

import flitgym.simcore
import pytest

pytestmark = pytest.mark.deep

SIMCORE = Path(flitgym.simcore.__file__).parent
LISTS = (SIMCORE / "CMakeLists.txt").read_text()
# The part of CMakeLists.txt that computes the name, run as a script.
RULE = LISTS[LISTS.index("set(FLITGYM_RESULTS_VERSION") : LISTS.index("# Compiler options of all sources")]

# A hook of git runs with GIT_DIR, which would lead the commits of these tests to its repository.
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)


def name(folder: Path) -> str:
    # A CMake script has no source directory, so the test sets it.
    (folder / "rule.cmake").write_text(
        "set(CMAKE_CURRENT_SOURCE_DIR .)\n" + RULE + 'message(STATUS "name=${FLITGYM_RESULTS}.")\n'
    )
    words = ["cmake", "-P", "rule.cmake"]
    done = subprocess.run(words, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    return re.findall(r"name=(.*)\.\n", done.stdout)[0]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("src", "include", "bindings", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    (tmp_path / "src" / "a.cpp").write_text("int a;\n")
    for file in ("traces", "recorded"):
        (tmp_path / "tests" / f"{file}.inc").write_text('{"a", 1},\n')
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def commit(folder: Path, file: str, text: str) -> str:
    (folder / file).write_text(text)
    git(folder, "commit", "-qam", "edit")
    return name(folder)


def test_a_committed_edit_keeps_the_name(tree: Path) -> None:
    assert re.fullmatch(r"\d+\.[0-9a-f]{8}", name(tree))
    assert commit(tree, "src/a.cpp", "int a;  // a comment\n") == name(tree)


def test_uncommitted_changes_give_no_name(tree: Path) -> None:
    (tree / "src" / "a.cpp").write_text("int b;\n")
    assert name(tree) == ""
    (tree / "src" / "a.cpp").write_text("int a;\n")
    (tree / "src" / "new.cpp").write_text("int n;\n")
    assert name(tree) == ""


@pytest.mark.parametrize("file", ["traces", "recorded"])
def test_a_changed_recorded_result_changes_the_name(tree: Path, file: str) -> None:
    before = name(tree)
    path = f"tests/{file}.inc"
    with_more = commit(tree, path, '{"a", 1},\n// later\n{"b", 2},\n')
    assert with_more == commit(tree, path, '{"a", 1},\n// later\n{"b", 2},\n{"c", 3},\n') == before
    assert commit(tree, path, '{"a", 9},\n// later\n{"b", 2},\n') != before


def test_the_core_has_the_name_of_its_tree() -> None:
    number = re.findall(r"set\(FLITGYM_RESULTS_VERSION (\d+)\)", LISTS)[0]
    assert flitgym.simcore.results_version == "" or flitgym.simcore.results_version.startswith(f"{number}.")
