"""Speed of the core: fixed scenes relative to the yardstick.

    python simcore/bench/run.py [scene ...] [--save NAME]

A scene and the yardstick (yardstick.cpp, a naive struct-of-arrays prototype) run in turns. The result is the median of
the ratios of pairs, so that a drift of the machine's speed does not decide it. Speeds are flit-hops (channel
traversals, with ejection and without injection) per CPU second of the simulation loop on one core. After Ctrl-C the
finished measurements are kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import goals
import saved
from programs import ROOT, BenchError, Programs, Row, check_scenes, medians
from terminal import steps

COLUMNS = (
    f"{'scene':61s} {'M flit-hops/s':>13s} {'ratio':>6s} {'(min .. max)':>14s} {'goal':>5s} {'verdict':16s} {'MB':>6s}"
)


def measure(programs: Programs, scene: str, repeats: int, begin: Callable[[str], None]) -> Row:
    """Medians over `repeats` pairs of (scene, yardstick)."""
    rows: list[Row] = []
    references: list[float] = []
    for k in range(repeats):
        so_far = f", ratio {medians(rows, references)['ratio_to_yardstick']:.2f} so far" if rows else ""
        begin(f"{scene}: pair {k + 1} of {repeats}{so_far}")
        rows.append(programs.run(scene))
        references.append(programs.reference())
    return medians(rows, references)


def line(row: Row, now: dict[str, Row]) -> str:
    """Format the line of a scene."""
    goal = verdict = ""
    if row["scene"] in goals.GOALS:
        ratio = goals.GOALS[row["scene"]].ratio({name: one["ratio_to_yardstick"] for name, one in now.items()})
        goal = "?" if ratio is None else f"{ratio:.2f}"
        verdict = goals.verdict(row["ratio_to_yardstick"], ratio)
    span = f"({row['ratio_to_yardstick_min']:5.2f} .. {row['ratio_to_yardstick_max']:4.2f})"
    return (
        f"{row['scene']:61s} {row['flit_hops_per_cpu_second'] / 1e6:13.2f} {row['ratio_to_yardstick']:6.2f} "
        f"{span:>14s} {goal:>5s} {verdict:16s} {row['peak_rss_mb']:6.1f}"
    )


def measure_scenes(programs: Programs, scenes: Sequence[str], repeats: int, measured: dict[str, Row]) -> None:
    """Measure the scenes, print their lines, and put each row into `measured` at once."""
    ordered = goals.with_needed(scenes)
    print(COLUMNS, flush=True)
    with steps(len(ordered) * repeats) as begin:
        for scene in ordered:
            measured[scene] = measure(programs, scene, repeats, begin)
            print(line(measured[scene], measured), flush=True)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("scenes", nargs="*", help="measure only these scenes and the scenes of their goals")
    out.add_argument("--build", type=Path, default=ROOT / "build" / "bench", help="folder with the built programs")
    out.add_argument("--repeats", type=int, default=5, help="pairs per scene")
    out.add_argument("--save", metavar="NAME", help="save the results in results/NAME.json")
    return out


def main() -> int:
    """Measure, print, and save if `--save` is given."""
    arguments = parser().parse_intermixed_args()
    measured: dict[str, Row] = {}
    status = 0
    try:
        if arguments.repeats < 1:
            raise BenchError(f"--repeats {arguments.repeats}: the number must be 1 or more")
        programs = Programs(arguments.build)
        programs.require()
        known = programs.scenes()
        check_scenes([*arguments.scenes, *goals.GOALS], known)
        measure_scenes(programs, arguments.scenes or known, arguments.repeats, measured)
    except BenchError as error:
        print(error, file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        status = 130
    if arguments.save and measured:
        print(f"saved {saved.save(arguments.save, list(measured.values()))}")
    return status


if __name__ == "__main__":
    sys.exit(main())
