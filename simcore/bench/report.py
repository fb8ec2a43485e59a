"""Print saved results as the Markdown tables of results/README.md: goals, series and instructions.

python simcore/bench/report.py [NAME]     reads results/NAME.json; `third` by default
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

import goals
import instructions
import series
from programs import RESULTS, BenchError, Row
from saved import Results


def rows_of(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def goals_table(found: Results) -> str:
    """Format every scene: before, now, goal."""
    before = goals.before()
    ratios = {row["scene"]: float(row["ratio_to_yardstick"]) for row in found["scenes"]}

    def row_of(row: Row) -> list[str]:
        scene, ratio = row["scene"], ratios[row["scene"]]
        goal = goals.GOALS.get(scene)
        wanted = goal.ratio(scene, before, ratios) if goal else None
        was = f"{before[scene]:.2f}" if scene in before else ""
        speed = f"{row['flit_hops_per_cpu_second'] / 1e6:.2f}"
        aim = f"{wanted:.2f} ({goal})" if goal and wanted is not None else ""
        verdict = f"**{goals.verdict(ratio, wanted)}**" if goal else ""
        return [f"`{scene}`", was, speed, f"{ratio:.2f}", aim, verdict]

    return rows_of(("scene", "before", "M flit-hops/s", "ratio", "goal", ""), map(row_of, found["scenes"]))


def times_table(first: str, key: str, digits: str, points: Sequence[Row]) -> str:
    """Format nanoseconds per flit-hop over the quantity `key`."""
    return rows_of(
        (first, *(format(point[key], digits) for point in points)),
        [("ns per flit-hop", *(f"{point['ns_per_flit_hop']:.0f}" for point in points))],
    )


def threads_table(rows: Sequence[Row]) -> str:
    """Format the speed over threads and of independent runs."""

    def row_of(row: Row) -> list[str]:
        speeds = (f"{row['speedup']:.2f}", f"{row['side_by_side']:.2f}")
        return [f"`{row['scene']}`", str(row["threads"]), *speeds, row["verdict"]]

    return rows_of(("scene", "threads", "one run", "independent runs", "two threads"), map(row_of, rows))


def report(found: Results) -> str:
    """Format all parts of a file of results."""
    parts = [f"{found['machine']['processor']}, {found['machine']['cores']} cores"]
    if found.get("scenes"):
        parts.append(goals_table(found))
    lines: series.Series = found.get("series", {})
    if series.SIZES in lines:
        parts.append(times_table("terminals", "terminals", ",d", lines[series.SIZES]))
    for key in (series.LOADS, series.LOADS_LEARNED):
        if key in lines:
            parts.append(f"{key}\n\n{times_table('offered load', 'offered_load', 'g', lines[key])}")
    if series.THREADS in lines:
        parts.append(threads_table(lines[series.THREADS]))
    if found.get("instructions"):
        parts.append(instructions.table(found["instructions"]))
    return "\n\n".join(parts)


def main() -> int:
    """Print the report of a file of results."""
    path = RESULTS / f"{sys.argv[1] if len(sys.argv) > 1 else 'third'}.json"
    try:
        if not path.exists():
            names = ", ".join(sorted(file.stem for file in RESULTS.glob("*.json")))
            raise BenchError(f"{path} does not exist; valid names: {names}")
        print(report(json.loads(path.read_text())))
    except BenchError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
