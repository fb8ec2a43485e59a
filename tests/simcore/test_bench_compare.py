"""`make bench-compare` in a repository whose simcore_bench prints a given row."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "simcore" / "bench"
SCENE = "input_queued_minimal_uniform_0.6"
ROW = f'{{"scene": "{SCENE}", "flit_hops": 100, "flit_hops_per_cpu_second": %s, "state_hash": "a"}}'
CMAKE = """\
cmake_minimum_required(VERSION 3.18)
project(fake LANGUAGES CXX)
option(FLITGYM_BENCH "" OFF)
add_executable(simcore_bench main.cpp)
"""
MAIN = f"""\
#include <cstdio>
#include <cstring>
int main(int count, char** words) {{
  std::puts(count > 1 && !std::strcmp(words[1], "--list") ? "{SCENE}" : R"({ROW % "2e6"})");
}}
"""


def git(repository: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(repository), *words]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.deep
def test_a_slower_scene_is_reported_and_fails_only_with_fail_below(tmp_path: Path) -> None:
    """The working tree is half as fast as the only commit."""
    core = tmp_path / "simcore"
    shutil.copytree(BENCH, core / "bench", ignore=shutil.ignore_patterns("results", "__pycache__"))
    (core / "CMakeLists.txt").write_text(CMAKE)
    (core / "main.cpp").write_text(MAIN)
    (tmp_path / ".gitignore").write_text("build/\n__pycache__/\n")
    for words in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "base"]):
        git(tmp_path, *words)
    (tmp_path / "build" / "bench").mkdir(parents=True)
    for name in ("simcore_bench", "yardstick"):
        program = tmp_path / "build" / "bench" / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nprint({SCENE!r} if sys.argv[1] == '--list' else {ROW % '1e6'!r})\n"
        )
        program.chmod(0o755)

    def compare(*words: str) -> "subprocess.CompletedProcess[str]":
        script = str(core / "bench" / "compare.py")
        return subprocess.run([sys.executable, script, "main", SCENE, *words], capture_output=True, text=True)

    done = compare()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2].split() == [SCENE, "2.00", "1.00", "0.500", "(0.500", "..", "0.500)", "SLOWER"]
    assert lines[3:] == ["1 of 1 scenes slower than noise", f"    {SCENE}"]
    again = compare("--fail-below", "0.9")  # uses the program of the base that the first call built
    assert again.returncode == 1
    assert SCENE in again.stderr
