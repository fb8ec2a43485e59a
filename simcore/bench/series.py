"""Scaling: time per flit-hop over network size and over load, and speed over threads."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import goals
from programs import BenchError, Programs, Row
from terminal import Steps

SIZES, LOADS, LOADS_LEARNED = "sizes", "loads", "loads_learned"  # groups of scenes
THREADS = "threads"
GROUPS = {"size": (SIZES,), "load": (LOADS, LOADS_LEARNED), THREADS: ()}  # series -> groups of scenes

Series = dict[str, list[Row]]


def thread_counts(cores: int) -> list[int]:
    """The powers of two up to the number of cores."""
    counts = [1]
    while 2 * counts[-1] <= cores:
        counts.append(2 * counts[-1])
    return counts


def point(row: Row) -> Row:
    """The point of a scene in a series: nanoseconds per flit-hop, on one core."""
    return {
        "scene": row["scene"],
        "terminals": row["terminals"],
        "offered_load": row["offered_load"],
        "accepted_load": row["accepted_load"],
        "ns_per_flit_hop": 1e9 / row["flit_hops_per_cpu_second"],
        "ns_per_flit_hop_min": 1e9 / row["flit_hops_per_cpu_second_max"],
        "ns_per_flit_hop_max": 1e9 / row["flit_hops_per_cpu_second_min"],
        "ratio_to_yardstick": row["ratio_to_yardstick"],
        "peak_rss_mb": row["peak_rss_mb"],
    }


def over(groups: Mapping[str, Sequence[str]], rows: Mapping[str, Row]) -> Series:
    """The series of the groups over terminals or over offered load, from the rows of their scenes."""
    by = {SIZES: "terminals", LOADS: "offered_load", LOADS_LEARNED: "offered_load"}
    return {
        group: sorted((point(rows[scene]) for scene in scenes), key=lambda row: float(row[by[group]]))
        for group, scenes in groups.items()
    }


def threads_row(scene: str, count: int, rounds: Sequence[tuple[float, float, float]]) -> Row:
    """Speed on `count` threads, and of `count` independent runs at the same time, relative to one thread.

    Args:
        scene: Name of the scene.
        count: Number of threads, and of independent runs.
        rounds: Flit-hops per wall second of one thread, of `count` threads, and of all independent runs together.
    """
    threaded = [many / one for one, many, _ in rounds]
    speedup = statistics.median(threaded)
    beside = [together / one for one, _, together in rounds]
    side_by_side = statistics.median(beside)
    return {
        "scene": scene,
        "threads": count,
        "flit_hops_per_wall_second_1": statistics.median(one for one, _, _ in rounds),
        "speedup": speedup,
        "speedup_min": min(threaded),
        "speedup_max": max(threaded),
        "side_by_side": side_by_side,
        "side_by_side_min": min(beside),
        "side_by_side_max": max(beside),
        "verdict": goals.threads_verdict(count, speedup, side_by_side),
    }


def over_threads(
    programs: Programs, scenes: Sequence[str], counts: Sequence[int], repeats: int, steps: Steps
) -> list[Row]:
    """Measure runs on 2, 4, ... threads, and independent runs at the same time, by wall time.

    Raises:
        BenchError: A run on several threads ends in another state than on one thread.
    """
    rows: list[Row] = []
    for scene in scenes:
        for count in counts[1:]:
            rounds = []
            for k in range(repeats):
                steps.about(f"{scene} on {count} threads, {k + 1} of {repeats}")
                one, many = programs.run(scene), programs.run(scene, threads=count)
                if many["state_hash"] != one["state_hash"]:
                    raise BenchError(
                        f"{scene} on {count} threads ends in state {many['state_hash']}, on one in {one['state_hash']}"
                    )
                together = programs.side_by_side(scene, count)
                rounds.append((wall(one), wall(many), sum(map(wall, together))))
                steps.advance()
            rows.append(threads_row(scene, count, rounds))
    return rows


def wall(row: Row) -> float:
    """The flit-hops per wall second of a row."""
    return float(row["flit_hops_per_wall_second"])


def size_table(points: Sequence[Row]) -> str:
    """Format the time per flit-hop over terminals."""
    base = next((row["ns_per_flit_hop"] for row in points if row["terminals"] == 1056), None)
    lines = [f"{'terminals':>9s} {'ns/flit-hop':>12s} {'(min .. max)':>16s} {'of 1,056':>9s} {'MB':>7s}"]
    for row in points:
        of = "" if base is None else f"{row['ns_per_flit_hop'] / base:.2f} x"
        lines.append(f"{row['terminals']:9,d} {time_columns(row)} {of:>9s} {row['peak_rss_mb']:7.1f}")
    return "\n".join(lines)


def load_table(points: Sequence[Row]) -> str:
    """Format the time per flit-hop over load."""
    lines = [f"{'offered':>9s} {'ns/flit-hop':>12s} {'(min .. max)':>16s} {'accepted':>9s}"]
    for row in points:
        lines.append(f"{row['offered_load']:9.2f} {time_columns(row)} {row['accepted_load']:9.3f}")
    return "\n".join(lines)


def time_columns(row: Row) -> str:
    """Format the time per flit-hop with its extremes."""
    extremes = f"({row['ns_per_flit_hop_min']:.0f} .. {row['ns_per_flit_hop_max']:.0f})"
    return f"{row['ns_per_flit_hop']:12.1f} {extremes:>16s}"


def threads_table(rows: Sequence[Row]) -> str:
    """Format the speed over threads."""
    lines = [
        f"{'scene':58s} {'threads':>7s} {'one run':>8s} {'(min .. max)':>14s} {'side by side':>12s} "
        f"{'(min .. max)':>14s} two threads"
    ]
    for row in rows:
        one = f"{row['speedup']:6.2f} x {span(row['speedup_min'], row['speedup_max'])}"
        beside = f"{row['side_by_side']:10.2f} x {span(row['side_by_side_min'], row['side_by_side_max'])}"
        lines.append(f"{row['scene']:58s} {row['threads']:7d} {one} {beside} {row['verdict']}".rstrip())
    return "\n".join(lines)


def span(least: float, most: float) -> str:
    """Format the extremes of a ratio."""
    return f"({least:5.2f} .. {most:4.2f})"
