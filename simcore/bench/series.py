"""Scaling: time per flit-hop over network size and over load, and speed over threads."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

import goals
from programs import BenchError, Programs, Row, table

SIZES, LOADS, LOADS_LEARNED = "sizes", "loads", "loads_learned"  # groups of scenes
THREADS = "threads"
GROUPS = {"size": (SIZES,), "load": (LOADS, LOADS_LEARNED), THREADS: ()}  # series -> groups of scenes

Series = dict[str, list[Row]]


def thread_counts(cores: int) -> list[int]:
    """The powers of two up to the number of cores."""
    return [2**k for k in range(cores.bit_length())]


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
    programs: Programs, scenes: Sequence[str], counts: Sequence[int], repeats: int, begin: Callable[[str], None]
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
                begin(f"{scene} on {count} threads, {k + 1} of {repeats}")
                one, many = programs.run(scene), programs.run(scene, threads=count)
                if many["state_hash"] != one["state_hash"]:
                    raise BenchError(
                        f"{scene} on {count} threads ends in state {many['state_hash']}, on one in {one['state_hash']}"
                    )
                together = programs.side_by_side(scene, count)
                rounds.append((wall(one), wall(many), sum(map(wall, together))))
            rows.append(threads_row(scene, count, rounds))
    return rows


def wall(row: Row) -> float:
    """The flit-hops per wall second of a row."""
    return float(row["flit_hops_per_wall_second"])


def size_table(points: Sequence[Row]) -> str:
    """Format the time per flit-hop over terminals."""
    base = next((row["ns_per_flit_hop"] for row in points if row["terminals"] == 1056), math.nan)
    return table(
        ("terminals", "ns per flit-hop", "min .. max", "of 1,056", "MB"),
        [(f"{row['terminals']:,d}", *times(row, base), f"{row['peak_rss_mb']:.1f}") for row in points],
    )


def load_table(points: Sequence[Row]) -> str:
    """Format the time per flit-hop over load."""
    base = points[-1]["ns_per_flit_hop"]
    return table(
        ("offered load", "ns per flit-hop", "min .. max", "of the highest load", "accepted load"),
        [(f"{row['offered_load']:g}", *times(row, base), f"{row['accepted_load']:.3f}") for row in points],
    )


def times(row: Row, base: float) -> tuple[str, str, str]:
    """Format the time per flit-hop, its extremes, and its ratio to `base`."""
    time = row["ns_per_flit_hop"]
    return f"{time:.1f}", f"{row['ns_per_flit_hop_min']:.0f} .. {row['ns_per_flit_hop_max']:.0f}", f"{time / base:.2f}"


def threads_table(rows: Sequence[Row]) -> str:
    """Format the speed over threads and of independent runs."""
    return table(
        ("scene", "threads", "one run", "independent runs", "two threads"),
        [
            (row["scene"], str(row["threads"]), f"{row['speedup']:.2f}", f"{row['side_by_side']:.2f}", row["verdict"])
            for row in rows
        ],
    )
