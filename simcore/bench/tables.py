"""Cost of forwarding tables: CPU seconds on one core, memory, and the quality of the tables.

    python simcore/bench/tables.py [--build build/bench] [--repeats 3] [--large]
                                   [FABRIC ENGINE key=value ...]

Without a fabric, all cases below are measured. Seconds cover the engine and the check of its table, without building
the network. The result is the minimum of the repeats. `known` has the seconds of a real subnet manager (OpenSM 3.3.23)
on the same or a similar fabric.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

# Fabric, engine with parameters, the timed part, the goal and the time of a real subnet manager in seconds.
CASES: list[tuple[str, list[str], str, float | None, float | None]] = [
    ("fat_tree_672", ["min_hop"], "route", None, 0.39),
    ("fat_tree_672", ["sssp"], "route", None, 0.44),
    ("fat_tree_672", ["sssp", "update=pair"], "route", None, None),
    ("fat_tree_672", ["dfsssp"], "route", 0.8, 2.2),
    ("fat_tree_672", ["lash"], "route", None, 64),
    ("dragonfly_1056", ["sssp"], "route", None, None),
    ("dragonfly_1056", ["dfsssp"], "route", 0.8, 16),
    ("dragonfly_1056", ["dfsssp", "fewest=false"], "route", None, 16),
    ("dragonfly_1056", ["dfsssp", "update=pair"], "route", None, None),
    ("dragonfly_1056", ["lash"], "route", None, 65),
    ("dragonfly_1056", ["dfsssp", "patterns=1000"], "ebb", 2, None),
    ("hyperx_672", ["dfsssp"], "route", None, 2.1),
    ("hyperx_672", ["lash"], "route", None, 1.1),
    ("torus_512", ["dfsssp"], "route", None, None),
    ("torus_512", ["lash"], "route", None, None),
    # The study of the Angara interconnect needs a quarter of a second for 150 nodes (3 dimensions) and for 90 (4).
    ("torus_150", ["angara_sssp"], "route", 0.25, None),
    ("torus_90", ["angara_sssp"], "route", 0.25, None),
    ("torus_512", ["angara_sssp"], "route", None, None),
    ("torus_512", ["angara_bfs"], "route", None, None),
]
LARGE: list[tuple[str, list[str], str, float | None, float | None]] = [
    ("random_regular_1000", ["dfsssp"], "route", None, None),
    ("random_regular_10000", ["min_hop"], "route", 120, None),
    ("random_regular_10000", ["sssp"], "route", 120, None),
    ("random_regular_10000", ["sssp", "update=pair"], "route", 600, None),
    ("torus_10000", ["sssp"], "route", 120, None),
]


def measure(program: Path, fabric: str, arguments: list[str], repeats: int) -> dict[str, Any]:
    """The fastest of `repeats` runs."""
    rows: list[dict[str, Any]] = []
    for _ in range(repeats):
        done = subprocess.run([str(program), fabric, *arguments], check=True, capture_output=True, text=True)
        rows.append(json.loads(done.stdout))
    best = min(rows, key=lambda row: float(row["route_cpu_seconds"]))
    return {**best, "ebb_cpu_seconds": min(row["ebb_cpu_seconds"] for row in rows), "parameters": arguments[1:]}


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="fabric, engine and parameters of the engine; all cases by default")
    parser.add_argument("--build", type=Path, default=Path("build/bench"), help="folder with the built programs")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also the cases of 1,000 and 10,000 switches (minutes)")
    options = parser.parse_args()

    program = options.build / "simcore_tables"
    if not program.exists():
        print(f"{program} is missing: build it with `make bench`", file=sys.stderr)
        return 2
    cases = CASES + (LARGE if options.large else [])
    if len(options.case) > 1:
        cases = [(options.case[0], options.case[1:], "route", None, None)]
    columns = ("fabric", "engine", "CPU s", "goal", "known", "MB", "layers", "EFI", "mean", "EFI/mean")
    print("{:22s} {:24s} {:>9s} {:>5s} {:>6s} {:>6s} {:>7s} {:>7s} {:>9s} {:>8s}".format(*columns))
    for fabric, arguments, timed, goal, known in cases:
        row = measure(program, fabric, arguments, 1 if "10000" in fabric else options.repeats)
        print(
            f"{fabric:22s} {' '.join(arguments):24s} {row[f'{timed}_cpu_seconds']:9.3f} "
            f"{'' if goal is None else goal:>5} {'' if known is None else known:>6} {row['peak_rss_mb']:6.0f} "
            f"{row['layers'] if row['acyclic'] else 'cyclic':>7} {row['edge_forwarding_index']:7.0f} "
            f"{row['load_mean']:9.2f} {row['edge_forwarding_index'] / row['load_mean']:8.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
