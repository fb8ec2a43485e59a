"""Builds of the benchmark's programs: of the working tree, or of another commit, which leaves no work tree."""

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
from types import FrameType
from typing import TextIO

from programs import ROOT, BenchError, output_of, processor

CACHE = ROOT / "build" / "compare"
OPTIONS = ("-DCMAKE_BUILD_TYPE=Release", "-DFLITGYM_BENCH=ON", "-DFLITGYM_WERROR=OFF")


def build(source: Path, folder: Path, log: Path, options: Sequence[str] = ()) -> None:
    """Configure `source` and build its simcore_bench in `folder`; what the build says goes into `log`.

    Raises:
        BenchError: With the end of that file.
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
                raise BenchError(f"{source} does not build; all that was said is in {log}, which ends\n{end}")


def run_group(command: Sequence[str], out: TextIO) -> int:
    """A command's exit status. If this program is stopped, so are the compilers that the command started."""
    try:
        running = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is missing; it is needed to build the core") from None
    try:
        return running.wait()
    except BaseException:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait()
        raise


def commit_of(name: str, repository: Path = ROOT) -> str:
    """The full hash of a commit, branch or tag.

    Raises:
        BenchError: There is none of that name.
    """
    git = ["git", "-C", str(repository)]
    asked = [*git, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = subprocess.run(asked, capture_output=True, text=True)
    if done.returncode or name.startswith("-"):
        last = ", ".join(output_of([*git, "log", "-3", "--format=%h"]).split())
        raise BenchError(f"BASE={name}: git knows no such commit, branch or tag; the last commits are {last}")
    return done.stdout.strip()


def compiler() -> str:
    """What decides, beside the sources, what a build is: the compiler, its flags, and the processor it is made for."""
    name = os.environ.get("CXX", "c++")
    return f"{output_of([name, '--version'])}\n{os.environ.get('CXXFLAGS', '')}\n{processor()}"


@contextmanager
def work_tree(commit: str, repository: Path, folder: Path) -> Iterator[Path]:
    """A commit, checked out below `folder` for as long as this lasts; then all of it is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f"{commit[:12]}-", dir=folder))
    tree = place / "source"
    try:
        output_of(["git", "-C", repository, "worktree", "add", "--detach", "--quiet", tree, commit])
        yield tree
    finally:
        with undisturbed():
            shutil.rmtree(place, ignore_errors=True)
            output_of(["git", "-C", repository, "worktree", "prune"])


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C waits until this is over."""
    asked: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt


def bench_of(commit: str, repository: Path = ROOT, cache: Path = CACHE) -> Path:
    """simcore_bench of a commit: from the cache, or built there once.

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
        part.rename(program)  # whole or not at all
    return program
