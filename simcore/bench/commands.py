"""Overhead of commands: wall seconds of start, planning, workers, tables and pictures around a simulation.

    python simcore/bench/commands.py [--repeats 3]

Every run simulates 2 us of a network of 72 terminals, which takes 0.03 s. The result is the minimum of the repeats,
because other work on the machine only adds time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.executable).parent
TINY = ["topology=dragonfly_72", "run.warmup_ns=1000", "run.measure_ns=1000"]
NINE = ["-m", *TINY, "routing=minimal,ugal_l,par", "traffic.load=0.1,0.3,0.5"]

# Name, command, whether it starts in an empty folder, and the goal in seconds on two quiet cores.
CASES: list[tuple[str, list[str], bool, float]] = [
    ("--help", ["flitgym", "simulate", "--help"], False, 0.6),
    ("--version", ["flitgym", "simulate", "--version"], False, 0.6),
    ("one tiny run", ["flitgym", "simulate", *TINY, "routing=minimal"], True, 1.0),
    ("nine tiny runs and their picture", ["flitgym", "simulate", *NINE], True, 4.0),
    ("27 finished runs", ["flitgym", "simulate", *NINE, "seed=1,2,3"], False, 2.0),
]


def seconds(words: list[str], folder: Path) -> float:
    """Wall seconds of a command."""
    began = time.perf_counter()
    subprocess.run([str(BIN / words[0]), *words[1:]], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    """Measure all cases, and print them with their goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for name, words, empty, goal in CASES:
        with tempfile.TemporaryDirectory() as place:
            if not empty:
                seconds(words, Path(place))  # the timed runs find all results
            times = []
            for k in range(options.repeats):
                folder = Path(place) / str(k) if empty else Path(place)
                folder.mkdir(exist_ok=True)
                times.append(seconds(words, folder))
        verdict = "met" if min(times) < goal else "missed"
        print(f"{name:34} {min(times):6.2f} s   goal {goal:g} s   {verdict}", flush=True)


if __name__ == "__main__":
    main()
