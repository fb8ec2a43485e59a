# `make bench-compare` in a repository whose simcore_bench prints a given row.
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "simcore" / "bench"
SCENE = "input_queued_minimal_uniform_0.6"
ROW = f'{{"scene": "{SCENE}", "flit_hops": 100, "flit_hops_per_cpu_second": %s, "state_hash": "%s"}}'

pytestmark = pytest.mark.skipif(not (shutil.which("git") and shutil.which("cmake")), reason="needs git and CMake")

CMAKE = """\
cmake_minimum_required(VERSION 3.18)
project(fake LANGUAGES CXX)
option(FLITGYM_BENCH "" OFF)
add_executable(simcore_bench main.cpp)
"""
MAIN = """\
#include <cstdio>
#include <cstring>
int main(int count, char** words) {{
  std::puts(count > 1 && !std::strcmp(words[1], "--list") ? "{scenes}" : R"({row})");
}}
"""


def git(repository, *words):
    return subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(repository), *words],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.fixture
def repository(tmp_path):
    """A repository with the benchmark's scripts. Its working tree is half as fast as its only commit."""
    core = tmp_path / "repository" / "simcore"
    core.mkdir(parents=True)
    shutil.copytree(BENCH, core / "bench", ignore=shutil.ignore_patterns("results", "__pycache__"))
    (core / "CMakeLists.txt").write_text(CMAKE)
    (core / "main.cpp").write_text(MAIN.format(scenes=SCENE, row=ROW % ("2e6", "a")))
    (core.parent / ".gitignore").write_text("build/\n__pycache__/\n")
    root = core.parent
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "base")
    working_tree(root, "1e6", "a")
    return root


def working_tree(repository, speed, state, scenes=(SCENE, "hpdc21_minimal_uniform_0.6")):
    folder = repository / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    listed, row = "\n".join(scenes), ROW % (speed, state)
    text = f"#!{sys.executable}\nimport sys\nprint({listed!r} if sys.argv[1] == '--list' else {row!r})\n"
    for name in ("simcore_bench", "yardstick"):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def command(repository, *words):
    return [sys.executable, str(repository / "simcore" / "bench" / "compare.py"), *words]


def compare(repository, *words):
    return subprocess.run(command(repository, *words), capture_output=True, text=True)


def left_behind(repository):
    """Leftover work trees and files of the cache other than programs."""
    trees = git(repository, "worktree", "list").splitlines()
    cache = repository / "build" / "compare"
    files = [p for p in cache.rglob("*") if p.is_file() and p.name != "simcore_bench"] if cache.exists() else []
    return trees[1:] + files


def test_a_slower_scene_is_reported_and_fails_only_with_fail_below(repository):
    done = compare(repository, "main", SCENE)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("building") == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("base: main (")
    assert lines[2].split() == [SCENE, "2.00", "1.00", "0.500", "(0.500", "..", "0.500)", "SLOWER"]
    assert lines[3:] == ["1 of 1 scenes slower than noise", f"    {SCENE}"]
    assert left_behind(repository) == []

    # The base is not built again.
    again = compare(repository, "main", SCENE, "--fail-below", "0.9")
    assert again.returncode == 1
    assert SCENE in again.stderr
    assert compare(repository, "main", SCENE, "--fail-below", "0.4").returncode == 0


def test_other_results_are_distinguished_from_another_layout(repository):
    working_tree(repository, "2e6", "b")
    done = compare(repository, "main", SCENE)
    assert "0 of 1 scenes slower" in done.stdout
    assert "state hash differs, results are equal" in done.stdout
    working_tree(repository, "2e6", "a")
    assert "differ" not in compare(repository, "main", SCENE).stdout.lower()
    program = repository / "build" / "bench" / "simcore_bench"
    program.write_text(program.read_text().replace('"flit_hops": 100', '"flit_hops": 101'))
    assert "RESULTS DIFFER: flit_hops 100 -> 101" in compare(repository, "main", SCENE).stdout


def test_a_scene_missing_in_the_base_is_named_and_left_out(repository):
    done = compare(repository, "main", SCENE, "hpdc21_minimal_uniform_0.6")
    assert done.stdout.startswith("hpdc21_minimal_uniform_0.6: main has no such scene; left out\n")
    assert "1 of 1 scenes slower" in done.stdout
    none = compare(repository, "main", "hpdc21_minimal_uniform_0.6")
    assert none.returncode == 2
    assert "main" in none.stderr
    assert SCENE in none.stderr
    assert compare(repository, "main", "nonsense").stderr.startswith("unknown scene nonsense; valid scenes: ")


def test_the_program_of_a_base_finds_its_policies(repository):
    core = repository / "simcore"
    where = 'FLITGYM_POLICIES="${CMAKE_CURRENT_SOURCE_DIR}/../agents/policies"'
    (core / "CMakeLists.txt").write_text(CMAKE + f"target_compile_definitions(simcore_bench PRIVATE {where})\n")
    main = MAIN.format(scenes=SCENE, row=ROW % ("2e6", "a"))
    reads = '{\n  if (!std::fopen(FLITGYM_POLICIES "/shipped", "r")) return 1;\n'
    (core / "main.cpp").write_text(main.replace("{\n", reads, 1))
    policies = repository / "agents" / "policies"
    policies.mkdir(parents=True)
    (policies / "shipped").write_text("weights")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "with policies")
    done = compare(repository, "main", SCENE)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 scenes slower" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nonsense",), "BASE=nonsense: git knows no such commit, branch or tag; the last commits are "),
        (("",), "BASE=: git knows no such commit"),
        (("main", "--pairs", "4"), "--pairs 4: fewer than 5 cannot tell a change from noise"),
        (("main", "--scale", "0"), "--scale 0.0: not above 0"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(repository, words, said):
    done = compare(repository, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1


def test_a_base_that_does_not_build_leaves_only_its_log(repository):
    (repository / "simcore" / "main.cpp").write_text("#error no longer\n")
    git(repository, "commit", "--quiet", "-am", "broken")
    done = compare(repository, "main", SCENE)
    assert done.returncode == 2
    assert "does not build" in done.stderr
    assert "no longer" in done.stderr
    (log,) = left_behind(repository)
    assert str(log) in done.stderr
    git(repository, "rm", "--quiet", "-r", "--cached", "simcore/CMakeLists.txt")
    git(repository, "commit", "--quiet", "-m", "without a core")
    assert "has no simcore_bench to compare with" in compare(repository, "main", SCENE).stderr
    assert left_behind(repository) == [log]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing(repository, number):
    begun, asleep = repository.parent / "begun", f"sleep {900 + number}"  # tests of two signals may run at once
    (repository / "simcore" / "CMakeLists.txt").write_text(
        CMAKE + f'execute_process(COMMAND touch "{begun}")\nexecute_process(COMMAND {asleep})\n'
    )
    git(repository, "commit", "--quiet", "-am", "slow to build")
    running = subprocess.Popen(command(repository, "main", SCENE), stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert begun.exists()
    os.kill(running.pid, number)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert said.splitlines()[-1] == "stopped"
    assert left_behind(repository) == []
    assert list((repository / "build" / "compare").iterdir()) == []
    if shutil.which("pgrep"):
        assert subprocess.run(["pgrep", "-f", f"^{asleep}$"], capture_output=True, text=True).stdout == ""
