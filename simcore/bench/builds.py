"""Builds the benchmark's programs from the working tree, or from another commit in a temporary work tree."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from programs import ROOT, BenchError, output_of, processor

CACHE = ROOT / "build" / "compare"
OPTIONS = ("-DCMAKE_BUILD_TYPE=Release", "-DFLITGYM_BENCH=ON", "-DFLITGYM_WERROR=OFF")


def build(source: Path, folder: Path, log: Path, options: Sequence[str] = ()) -> None:
    """Configure `source` and build its simcore_bench in `folder`, with the output in `log`.

    Raises:
        BenchError: The build failed. The message has the end of `log`.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
    commands = (
        ["cmake", "-S", str(source), "-B", str(folder), *OPTIONS, *options],
        ["cmake", "--build", str(folder), "-j", jobs, "--target", "simcore_bench"],
    )
    with log.open("w") as out:
        for command in commands:
            if run_group(command, out):
                end = "\n".join(log.read_text().splitlines()[-12:])
                raise BenchError(f"{source} does not build; the output is in {log}, which ends\n{end}")


def run_group(command: Sequence[str], out: TextIO) -> int:
    """Run a command and return its exit status. Compilers that it starts stop with this program."""
    try:
        running = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is missing; install it to build the core") from None
    try:
        return running.wait()
    except BaseException:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait()
        raise


def commit_of(name: str, repository: Path = ROOT) -> str:
    """The full hash of a commit, branch or tag.

    Raises:
        BenchError: git does not know the name.
    """
    git = ["git", "-C", str(repository)]
    asked = [*git, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = subprocess.run(asked, capture_output=True, text=True)
    if done.returncode or name.startswith("-"):
        last = ", ".join(output_of([*git, "log", "-3", "--format=%h"]).split())
        raise BenchError(f"BASE={name}: git knows no such commit, branch or tag; the last commits are {last}")
    return done.stdout.strip()


def compiler() -> str:
    """Identify a build besides its sources: the compiler, its flags and the target processor."""
    name = os.environ.get("CXX", "c++")
    return f"{output_of([name, '--version'])}\n{os.environ.get('CXXFLAGS', '')}\n{processor()}"


@contextmanager
def work_tree(commit: str, repository: Path, folder: Path) -> Iterator[Path]:
    """Check a commit out below `folder`, and remove all of it at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f"{commit[:12]}-", dir=folder))
    tree = place / "source"
    try:
        output_of(["git", "-C", repository, "worktree", "add", "--detach", "--quiet", tree, commit])
        yield tree
    finally:
        shutil.rmtree(place, ignore_errors=True)
        output_of(["git", "-C", repository, "worktree", "prune"])


def keep_policies(tree: Path, lists: Path, kept: Path) -> None:
    """Copy the shipped policies, which the program reads at run time from the place that its CMakeLists.txt names."""
    policies = tree / "agents" / "policies"
    if policies.exists():
        shutil.copytree(policies, kept, dirs_exist_ok=True)
        lists.write_text(lists.read_text().replace("${CMAKE_CURRENT_SOURCE_DIR}/../agents/policies", str(kept)))


def bench_of(commit: str, repository: Path = ROOT, cache: Path = CACHE) -> Path:
    """The simcore_bench of a commit, from the cache. The first call builds it.

    Raises:
        BenchError: The commit has no such program, or does not build.
    """
    kind = hashlib.sha256(compiler().encode()).hexdigest()[:8]
    program = cache / f"{commit}-{kind}" / "simcore_bench"
    if program.exists():
        return program
    print(f"building {commit[:12]} (once; kept in {program.parent})", file=sys.stderr, flush=True)
    with work_tree(commit, repository, cache) as tree:
        source = tree / "simcore"
        lists = source / "CMakeLists.txt"
        if not lists.exists() or "FLITGYM_BENCH" not in lists.read_text():
            raise BenchError(f"{commit[:12]} has no simcore_bench to compare with")
        keep_policies(tree, lists, program.parent / "policies")
        folder = tree.parent / "build"
        log = cache / f"{commit}.log"
        try:
            build(source, folder, log, ["-DFLITGYM_NATIVE=ON"])
        except KeyboardInterrupt:
            log.unlink(missing_ok=True)
            raise
        log.unlink()
        program.parent.mkdir(parents=True, exist_ok=True)
        part = program.with_suffix(".part")
        shutil.copy2(folder / "simcore_bench", part)
        part.rename(program)  # atomic: an interrupted copy leaves no program
    return program
