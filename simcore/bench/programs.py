"""The programs of the benchmark: their location, their output, and the machine."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).resolve().parent / "results"

Row = dict[str, Any]  # one line of JSON of simcore_bench, or medians over several


class BenchError(RuntimeError):
    """An error that the user reads as one line, without a traceback."""


def parse_row(text: str, of: str) -> Row:
    """Parse the line of JSON that the program `of` printed.

    Raises:
        BenchError: `text` is not a line of JSON.
    """
    try:
        row = json.loads(text)
    except json.JSONDecodeError:
        row = None
    if not isinstance(row, dict):
        raise BenchError(f"{of} printed no line of JSON but {text.strip()[:200]!r}")
    return row


def output_of(command: Sequence[str | Path]) -> str:
    """Run a command and return its output.

    Raises:
        BenchError: The command failed. The message is the last line of its errors.
    """
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{command[0]} ended with status {done.returncode}"]
        raise BenchError(lines[-1])
    return done.stdout


@dataclass(frozen=True)
class Programs:
    """simcore_bench and the yardstick in one build folder."""

    folder: Path

    @property
    def bench(self) -> Path:
        """The program that runs scenes."""
        return self.folder / "simcore_bench"

    @property
    def yardstick(self) -> Path:
        """The reference program."""
        return self.folder / "yardstick"

    def require(self) -> None:
        """Raise `BenchError` if a program is missing."""
        for program in (self.bench, self.yardstick):
            if not program.exists():
                raise BenchError(f"{program} is missing: build it with `make bench-build`")

    def scenes(self) -> list[str]:
        """The names of all scenes."""
        return output_of([self.bench, "--list"]).split()

    def run(self, scene: str) -> Row:
        """Run a scene."""
        return parse_row(output_of([self.bench, scene]), self.bench.name)

    def reference(self) -> float:
        """Run the yardstick and return its flit-hops per CPU second."""
        row = parse_row(output_of([self.yardstick, "0.6", "10000"]), self.yardstick.name)
        return float(row["flit_hops_per_cpu_second"])


def check_scenes(asked: Sequence[str], known: Sequence[str]) -> None:
    """Raise `BenchError` for an unknown scene, with the names that begin alike, or with all names."""
    for scene in asked:
        if scene not in known:
            near = [name for name in known if name.startswith(scene[:8])] or list(known)
            raise BenchError(f"unknown scene {scene}; valid scenes: {', '.join(near)}")


def medians(rows: Sequence[Row], references: Sequence[float]) -> Row:
    """Combine pairs of (scene, yardstick) into a row. The ratio is taken pair by pair.

    Raises:
        BenchError: The runs end in different states.
    """
    hashes = sorted({str(row["state_hash"]) for row in rows})
    if len(hashes) > 1:
        raise BenchError(f"{rows[0]['scene']} ends in different states: {', '.join(hashes)}")
    speeds = [float(row["flit_hops_per_cpu_second"]) for row in rows]
    ratios = [speed / reference for speed, reference in zip(speeds, references, strict=True)]
    return {
        **rows[0],
        "flit_hops_per_cpu_second": statistics.median(speeds),
        "flit_hops_per_cpu_second_min": min(speeds),
        "flit_hops_per_cpu_second_max": max(speeds),
        "ratio_to_yardstick": statistics.median(ratios),
        "ratio_to_yardstick_min": min(ratios),
        "ratio_to_yardstick_max": max(ratios),
        "repeats": len(rows),
    }


def processor() -> str:
    """The name of the processor, if the system reports it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> Row:
    """The description of the machine in files of results."""
    return {"processor": processor(), "cores": cores(), "system": platform.system()}


def version() -> str:
    """The commit of the working tree, with `-dirty` if the tree has changes."""
    try:
        return output_of(["git", "-C", ROOT, "describe", "--always", "--tags", "--dirty"]).strip()
    except (BenchError, OSError):
        return "unknown"
