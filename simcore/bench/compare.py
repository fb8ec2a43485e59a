"""Compare the speed of the working tree with another commit, scene by scene.

    make bench-compare BASE=<commit> [SCENES="..."] [PAIRS=5] [FAIL_BELOW=0.97]
    python simcore/bench/compare.py BASE [scene ...] [--pairs 5] [--scale 1] [--fail-below RATIO]

The script checks the commit out into a temporary work tree, builds it like the working tree (Release, for this
machine) and keeps the program under build/compare. The two programs run in turns. The ratio (new / base; above 1 is
faster) is taken pair by pair, and noise.py decides whether it exceeds noise. A scene that looks slower is measured
again and marked only if the second measurement agrees. The exit status is 0 unless --fail-below is given and a scene
is SLOWER with a ratio below it. Each commit runs its own scene of a name, and the output reports different end states.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import builds
import goals
import noise
from programs import ROOT, BenchError, Programs, Row, check_scenes, output_of, parse_row, version
from terminal import steps

# Results that both programs print. They agree if the change only affects the speed.
RESULT = (
    "accepted_load",
    "flit_hops",
    "packets_delivered",
    "packet_latency_mean_ns",
)


def run(program: Path, scene: str, scale: float) -> Row:
    """One run of a scene by a program of any commit."""
    return parse_row(output_of([program, scene, f"{scale:.10g}"]), str(program))


def difference(base: Row, new: Row) -> str:
    """Describe the differences of two rows other than speed. Empty: none."""
    moved = [
        f"{key} {base[key]:g} -> {new[key]:g}" for key in RESULT if key in base and key in new and base[key] != new[key]
    ]
    if moved:
        return "RESULTS DIFFER: " + ", ".join(moved)
    if base.get("state_hash") != new.get("state_hash"):
        return "state hash differs, results are equal: the layout of State changed, or a value that no result shows"
    return ""


Pair = tuple[Row, Row]  # base, new


def pairs(base: Path, new: Path, scene: str, scale: float, count: int, begin: Callable[[str], None]) -> list[Pair]:
    """Run both programs in turns."""
    rows: list[Pair] = []
    for k in range(count):
        so_far = f", ratio {noise.compare(ratios(rows)).median:.3f} so far" if rows else ""
        begin(f"{scene}: pair {k + 1} of {count}{so_far}")
        rows.append((run(base, scene, scale), run(new, scene, scale)))
    return rows


def ratios(rows: Sequence[Pair]) -> list[float]:
    """Speed of the new program over the base's, pair by pair."""
    return [new["flit_hops_per_cpu_second"] / old["flit_hops_per_cpu_second"] for old, new in rows]


def line(scene: str, found: noise.Comparison, rows: Sequence[Pair]) -> str:
    """Format the line of a scene. Speeds are medians."""
    old, new = (statistics.median(pair[k]["flit_hops_per_cpu_second"] for pair in rows) / 1e6 for k in (0, 1))
    interval = f"({found.low:.3f} .. {found.high:.3f})"
    return f"{scene:61s} {old:7.2f} {new:7.2f} {found.median:7.3f} {interval:>17s} {found.verdict}"


def compare_scenes(
    base: Path, new: Path, scenes: Sequence[str], count: int, scale: float
) -> dict[str, noise.Comparison]:
    """Measure every scene and print its line, with speeds in M flit-hops/s."""
    print(f"{'scene':61s} {'base':>7s} {'new':>7s} {'ratio':>7s} {'interval':>17s} verdict", flush=True)
    results = {}
    with steps(len(scenes) * count) as begin:
        for scene in scenes:
            rows = pairs(base, new, scene, scale, count, begin)
            found = noise.compare(ratios(rows))
            if found.verdict == "SLOWER":
                rows = pairs(base, new, scene, scale, count, begin)
                found = noise.compare(ratios(rows))
            results[scene] = found
            print(line(scene, found, rows), flush=True)
            if text := difference(*rows[0]):
                print(f"    {text}", flush=True)
    return results


def chosen(asked: Sequence[str], old: Sequence[str], new: Sequence[str], base: str) -> list[str]:
    """Select the scenes that both programs have, and print those that BASE lacks.

    Raises:
        BenchError: No scene is left, or the working tree does not know a scene.
    """
    check_scenes(asked, new)
    wanted = list(asked) or goals.with_needed(list(goals.GOALS))
    for scene in wanted:
        if scene not in old:
            print(f"{scene}: {base} has no such scene; left out")
    both = [scene for scene in wanted if scene in old]
    if not both:
        raise BenchError(f"{base} has none of these scenes; it has {', '.join(old)}")
    return both


def too_slow(results: dict[str, noise.Comparison], below: float | None) -> list[str]:
    """The scenes that make the comparison fail."""
    if below is None:
        return []
    return [scene for scene, found in results.items() if found.median < below and found.verdict == "SLOWER"]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("base", metavar="BASE", help="commit, branch or tag to compare with")
    out.add_argument("scenes", nargs="*", help="scenes to run; by default the scenes with a goal")
    out.add_argument("--build", type=Path, default=ROOT / "build" / "bench", help="folder of the working tree's build")
    out.add_argument("--pairs", type=int, default=noise.FEWEST_PAIRS, help="runs of each program per scene")
    out.add_argument("--scale", type=float, default=1.0, help="factor for the length of the measured windows")
    out.add_argument(
        "--fail-below", type=float, metavar="RATIO", help="exit with 1 if a scene is SLOWER with a ratio below this"
    )
    return out


def go(arguments: argparse.Namespace) -> int:
    """Build both programs, compare them and print the result."""
    if arguments.pairs < noise.FEWEST_PAIRS:
        raise BenchError(f"--pairs {arguments.pairs}: fewer than {noise.FEWEST_PAIRS} cannot tell a change from noise")
    if not arguments.scale > 0:
        raise BenchError(f"--scale {arguments.scale}: not above 0")
    new = Programs(arguments.build)
    new.require()
    commit = builds.commit_of(arguments.base)
    base = builds.bench_of(commit)
    old_scenes = output_of([base, "--list"]).split()
    scenes = chosen(arguments.scenes, old_scenes, new.scenes(), arguments.base)
    print(f"base: {arguments.base} ({commit[:12]}); new: working tree ({version()})")
    results = compare_scenes(base, new.bench, scenes, arguments.pairs, arguments.scale)
    slower = [scene for scene, found in results.items() if found.verdict == "SLOWER"]
    print(f"{len(slower)} of {len(results)} scenes slower than noise" + "".join(f"\n    {scene}" for scene in slower))
    if failed := too_slow(results, arguments.fail_below):
        print(f"below {arguments.fail_below:g} of {arguments.base}: {', '.join(failed)}", file=sys.stderr)
        return 1
    return 0


def stop(number: int, _: FrameType | None) -> None:
    """Handle SIGTERM like Ctrl-C, so that temporary files are removed."""
    raise KeyboardInterrupt


def main() -> int:
    """Compare, and report an error in one line."""
    arguments = parser().parse_intermixed_args()
    signal.signal(signal.SIGTERM, stop)
    try:
        return go(arguments)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
