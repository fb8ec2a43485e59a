"""A model of the speed of one run on up to 64 threads, from measurements on two cores.

    python simcore/bench/threads.py [SCENE ...] [--build build/bench] [--scale 0.3] [--save NAME]

`threads.cpp` describes the model. The table shows the speed relative to one thread, and how a window divides its time
on the largest useful number of threads.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import goals
from programs import RESULTS, BenchError, Row, cores, machine, output_of, parse_row, version
from terminal import Steps

SHARES = {
    "uneven": "shares of unequal work",
    "transfers": "cache lines of other cores",
    "barriers": "barriers",
    "rest": "work on one thread",
}


def limit(row: Row) -> str:
    """The largest loss on 64 threads. A run has at most one thread per partition."""
    last = row["model"][-1]
    if last["busy"] < last["threads"]:
        return f"{last['busy']} partitions"
    return max(SHARES, key=lambda part: float(last[part]))


def table(rows: Sequence[Row]) -> str:
    """Format the speed over threads, measured with two threads and modelled, and the shares of a window's time."""
    threads = [point["threads"] for point in rows[0]["model"]] if rows else []
    shares = " ".join(f"{part:>9s}" for part in SHARES)
    head = " ".join(f"{count:>5d}" for count in threads[1:])
    lines = [f"{'scene':58s} {'measured':>8s} {head}   {shares}  limit"]
    for row in rows:
        model = row["model"]
        two = row["one_thread_s"] / row["two_threads_s"]
        speeds = " ".join(f"{point['speedup']:5.1f}" for point in model[1:])
        parts = " ".join(f"{100 * model[-1][part]:7.0f} %" for part in SHARES)
        lines.append(f"{row['scene']:58s} {two:8.2f} {speeds}   {parts}  {limit(row)}")
    return "\n".join(lines)


def main() -> int:
    """Measure, print a table, and save it if `--save` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", nargs="*", help="by default, the scenes with a goal for two threads")
    parser.add_argument("--build", type=Path, default=Path("build/bench"), help="folder with the built programs")
    parser.add_argument("--scale", type=float, default=0.3, help="factor for the measured window")
    parser.add_argument("--save", metavar="NAME", help="write results/NAME.json")
    options = parser.parse_args()

    program = options.build / "simcore_threads"
    if not program.exists():
        print(f"{program} is missing: build it with `make bench-build`", file=sys.stderr)
        return 2
    if cores() < 2:  # two threads that wait for each other on one core would take minutes
        print("the model of more threads needs two cores, so it is left out")
        return 0
    scenes = options.scene or [scene for scene in goals.THREADED if scene != goals.ONE_PARTITION]
    rows: list[Row] = []
    with Steps(len(scenes)) as steps:
        for scene in scenes:
            steps.about(scene)
            try:
                rows.append(parse_row(output_of([program, scene, f"{options.scale:g}"]), program.name))
            except BenchError as error:
                print(error, file=sys.stderr)
                return 2
            steps.advance()
    print(table(rows))
    if options.save:
        text = json.dumps({"machine": machine(), "version": version(), "scenes": rows}, indent=1) + "\n"
        (RESULTS / f"{options.save}.json").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
