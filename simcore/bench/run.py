"""Speed of the core: fixed scenes relative to the yardstick, and scaling.

    python simcore/bench/run.py [scene ...] [--all] [--series [size load threads]] [--save NAME]

A scene and the yardstick (yardstick.cpp, a naive struct-of-arrays prototype) run in turns. The result is the median of
the ratios of pairs, so that a drift of the machine's speed does not decide it. Speeds are flit-hops (channel
traversals, with ejection and without injection) per CPU second of the simulation loop on one core. Over threads they
are per second of wall time. --series measures scaling only, and --all adds the scenes. After Ctrl-C
the finished measurements are kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import goals
import saved
import series
from programs import ROOT, BenchError, Programs, Row, check_scenes, cores, medians
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
    """Measure the scenes that `measured` lacks, and print their lines."""
    left = [scene for scene in goals.with_needed(scenes) if scene not in measured]
    if not left:
        return
    print(COLUMNS, flush=True)
    with steps(len(left) * repeats) as begin:
        for scene in left:
            measured[scene] = measure(programs, scene, repeats, begin)
            print(line(measured[scene], measured), flush=True)


def print_series(found: series.Series) -> None:
    """Print a table of every measured series."""
    titles = {
        series.SIZES: "Time per flit-hop over size: Dragonflies, router input_queued, minimal, uniform load 0.3",
        series.LOADS: "Time per flit-hop over load: 1,056 terminals, router input_queued, minimal, uniform",
        series.LOADS_LEARNED: "Time per flit-hop over load: 1,056 terminals, router hpdc21, Q-adaptive, uniform",
        series.THREADS: "Speed / speed of one thread (wall time): one run on the threads, and independent runs",
    }
    tables = {series.SIZES: series.size_table, series.THREADS: series.threads_table}
    for key, rows in found.items():
        print(f"\n{titles[key]}\n{tables.get(key, series.load_table)(rows)}", flush=True)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("scenes", nargs="*", help="measure only these scenes")
    out.add_argument("--build", type=Path, default=ROOT / "build" / "bench", help="folder with the built programs")
    out.add_argument("--repeats", type=int, default=5, help="pairs per scene")
    out.add_argument("--all", action="store_true", help="measure scenes as well as series")
    out.add_argument(
        "--series", nargs="*", choices=list(series.GROUPS), help="measure scaling; all three series by default"
    )
    out.add_argument(
        "--save", metavar="NAME", help="save the results in results/NAME.json, and a figure of the series in NAME.png"
    )
    return out


def wanted_of(asked: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that are in `asked`, or all names if `asked` is empty."""
    return [name for name in names if not asked or name in asked]


def measure_times(programs: Programs, arguments: argparse.Namespace, found: saved.Results) -> None:
    """Measure scenes and series, and put each result into `found` at once."""
    programs.require()
    known = programs.scenes()
    check_scenes([*arguments.scenes, *goals.GOALS], known)
    kinds = [] if arguments.series is None else arguments.series or list(series.GROUPS)
    measured: dict[str, Row] = {}
    try:
        if arguments.all or arguments.series is None:
            measure_scenes(programs, arguments.scenes or programs.scenes("scenes"), arguments.repeats, measured)
        for group in [group for kind in kinds for group in series.GROUPS[kind]]:
            names = wanted_of(arguments.scenes, programs.scenes(group))
            measure_scenes(programs, names, arguments.repeats, measured)
            if names:
                found["series"] |= series.over({group: names}, measured)
    finally:
        found["scenes"] = list(measured.values())
    counts = series.thread_counts(cores())
    if series.THREADS in kinds and len(counts) == 1:
        print("\nOver threads: this machine has one core.")
    elif series.THREADS in kinds:
        threaded = wanted_of(arguments.scenes, goals.THREADED)
        with steps(len(threaded) * (len(counts) - 1) * arguments.repeats) as begin:
            found["series"][series.THREADS] = series.over_threads(programs, threaded, counts, arguments.repeats, begin)
    print_series(found["series"])


def main() -> int:
    """Measure, print, and save if `--save` is given."""
    arguments = parser().parse_intermixed_args()
    found: saved.Results = {"scenes": [], "series": {}}
    status = 0
    try:
        if arguments.repeats < 1:
            raise BenchError(f"--repeats {arguments.repeats}: the number must be 1 or more")
        measure_times(Programs(arguments.build), arguments, found)
    except BenchError as error:
        print(error, file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        status = 130
    if arguments.save and any(found.values()):
        path = saved.save(arguments.save, found)
        print(f"saved {path}")
        if found["series"]:
            import picture  # the import takes a second

            print(f"saved {picture.save(path)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
