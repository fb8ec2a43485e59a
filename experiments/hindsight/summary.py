"""The numbers of a regret study by policy, pattern, load and hop, with intervals over stretches of time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Interval, mean_interval, ratio_interval
from ..terminal.tables import interval_columns

# Stretches of time into which a run is cut for the intervals, because decisions close in time are correlated.
_STRETCHES = 20


@dataclass(frozen=True)
class Line:
    """The decisions of one policy at one point: all of them, or those after a number of hops."""

    policy: str
    pattern: str
    load: float
    hops: int | None  # None: all decisions
    decisions: int
    candidates: float  # mean
    best_taken: float  # fraction of the decisions whose candidate was the cheapest
    regret_ns: Interval
    relative: Interval  # regret over the regret of a random choice: 0 = always the best, 1 = as good as chance
    change_ns: Interval  # mean cost of the other candidates minus that of the one taken; below 0: changing pays


def summarise(
    groups: Mapping[tuple[str, str, float], Sequence[Mapping[str, NDArray[Any]]]], confidence: float
) -> list[Line]:
    """All lines in the order of the groups. The line for all decisions of a group precedes the lines for each hop.

    Args:
        groups: By policy, pattern and load, the columns of each seed's run (`measure.columns_of`).
        confidence: The confidence of the intervals.
    """
    lines = []
    for (policy, pattern, load), runs in groups.items():
        present = sorted({int(hops) for run in runs for hops in np.unique(run["hops"])})
        for hops in (None, *(present if len(present) > 1 else ())):
            chosen = [_chosen(run, hops) for run in runs]
            whole = {key: np.concatenate([run[key] for run in chosen]) for key in chosen[0]}
            regret, chance, change = (_stretches(chosen, key) for key in ("regret_ns", "chance_ns", "change_ns"))
            lines.append(
                Line(
                    policy, pattern, load, hops, len(whole["regret_ns"]), float(whole["candidates"].mean()),
                    float((whole["regret_ns"] <= 0).mean()),
                    mean_interval(regret, confidence),
                    ratio_interval(regret, chance, confidence),
                    mean_interval(change, confidence),
                )
            )  # fmt: skip
    return lines


def tidy(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The rows of `regret.csv`; None stands for a missing number."""
    rows = []
    for line in lines:
        flat: dict[str, Any] = {}
        for key, value in asdict(line).items():
            if isinstance(value, tuple):
                flat |= interval_columns(Interval(*value), key, f"{key}_low", f"{key}_high")
            else:
                flat[key] = value
        rows.append(flat)
    return rows


def _chosen(run: Mapping[str, NDArray[Any]], hops: int | None) -> dict[str, NDArray[Any]]:
    kept = slice(None) if hops is None else run["hops"] == hops
    return {key: column[kept] for key, column in run.items()}


def _stretches(runs: Sequence[Mapping[str, NDArray[Any]]], key: str) -> NDArray[np.float64]:
    """The mean of each stretch of time of each run."""
    means = [
        stretch.mean()
        for run in runs
        for stretch in np.array_split(run[key].astype(np.float64), min(_STRETCHES, max(1, len(run[key]) // 2)))
        if stretch.size
    ]
    return np.array(means)
