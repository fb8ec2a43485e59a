"""Speed of the core on fixed scenes, each beside the yardstick in the same minute.

    python simcore/bench/run.py [--build build/bench] [--repeats 5] [--save NAME] [scene ...]

A scene is run, then the yardstick (yardstick.cpp, a naive struct-of-arrays prototype), in turn; the ratio is taken pair
by pair and its median reported, so that a machine whose speed drifts does not decide the result. Speeds are flit-hops
(channel traversals, ejection included, injection not) per CPU second of the simulation loop on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

# Ratio to the yardstick at uniform load 0.6 that the design has to reach, where there is one.
GOALS = {
    "input_queued_minimal_uniform_0.6": 1.0,
    "hpdc21_q_adaptive_uniform_0.6": 0.5,
    "hyperx_4096_input_queued_dimension_order_uniform_0.6": 0.6,
}


def run_json(command: list[str]) -> dict[str, Any]:
    """One line of JSON from a command that prints it."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def measure(bench: Path, yardstick: Path, scene: str, repeats: int) -> dict[str, Any]:
    """Medians over `repeats` pairs of (scene, yardstick)."""
    rows, ratios, speeds = [], [], []
    for _ in range(repeats):
        row = run_json([str(bench), scene])
        reference = run_json([str(yardstick), "0.6", "10000"])["flit_hops_per_cpu_second"]
        rows.append(row)
        speeds.append(row["flit_hops_per_cpu_second"])
        ratios.append(row["flit_hops_per_cpu_second"] / reference)
    return {
        **rows[0],
        "flit_hops_per_cpu_second": statistics.median(speeds),
        "flit_hops_per_cpu_second_min": min(speeds),
        "flit_hops_per_cpu_second_max": max(speeds),
        "ratio_to_yardstick": statistics.median(ratios),
        "ratio_to_yardstick_min": min(ratios),
        "ratio_to_yardstick_max": max(ratios),
        "repeats": repeats,
    }


def main() -> int:
    """Run the scenes and print a table; with --save, keep the figures in results/."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", help="scenes to run; all by default")
    parser.add_argument("--build", type=Path, default=Path("build/bench"), help="folder with the built programs")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--save", metavar="NAME", help="write results/NAME.json")
    arguments = parser.parse_args()

    bench, yardstick = arguments.build / "simcore_bench", arguments.build / "yardstick"
    for program in (bench, yardstick):
        if not program.exists():
            print(f"{program} is missing: build it with `make bench`", file=sys.stderr)
            return 2
    known = subprocess.run([str(bench), "--list"], check=True, capture_output=True, text=True).stdout.split()
    unknown = [scene for scene in arguments.scenes if scene not in known]
    if unknown:
        print(f"unknown scene {unknown[0]}; valid scenes: {', '.join(known)}", file=sys.stderr)
        return 2

    columns = ("scene", "M flit-hops/CPU s", "ratio", "(min .. max)", "goal", "MB", "build s")
    print("{:62s} {:>18s} {:>6s} {:>14s} {:>5s} {:>6s} {:>8s}".format(*columns))
    results = []
    for scene in arguments.scenes or known:
        large = "100352" in scene
        row = measure(bench, yardstick, scene, 1 if large else arguments.repeats)
        results.append(row)
        goal = GOALS.get(scene)
        print(
            f"{scene:62s} {row['flit_hops_per_cpu_second'] / 1e6:18.2f} {row['ratio_to_yardstick']:6.2f} "
            f"({row['ratio_to_yardstick_min']:5.2f} .. {row['ratio_to_yardstick_max']:4.2f}) "
            f"{'' if goal is None else goal:>5} {row['peak_rss_mb']:6.1f} {row['build_cpu_seconds']:8.3f}",
            flush=True,
        )
    if arguments.save:
        folder = HERE / "results"
        folder.mkdir(exist_ok=True)
        machine = {"processor": processor(), "cores": os.cpu_count(), "system": platform.system()}
        (folder / f"{arguments.save}.json").write_text(
            json.dumps({"machine": machine, "scenes": results}, indent=1) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
