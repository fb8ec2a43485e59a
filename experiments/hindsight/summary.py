"""From decisions to numbers: by policy, pattern, load and hop, with intervals over stretches of time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Interval, bootstrap_mean, bootstrap_ratio
from ..terminal.tables import interval_columns

_STRETCHES = 20  # of the decisions of a run: those near each other in time say much the same


@dataclass(frozen=True)
class Line:
    """The decisions of one policy at one point, all of them or those after so many hops."""

    policy: str
    pattern: str
    load: float
    hops: int | None  # None: all
    decisions: int
    candidates: float  # mean
    best_taken: float  # part of the decisions in which no candidate would have cost less
    regret_ns: Interval
    relative: Interval  # regret over what a candidate taken at random loses: 0 the best each time, 1 as good as chance
    change_ns: Interval  # what another candidate costs more, on average; below 0: changing pays


def summarise(
    groups: Mapping[tuple[str, str, float], Sequence[Mapping[str, NDArray[Any]]]], confidence: float, resamples: int
) -> list[Line]:
    """Every line, in the order of the groups; first all decisions of a group, then hop by hop.

    Args:
        groups: By policy, pattern and load, the columns of each seed's run (`measure.columns_of`).
        confidence: The confidence of the intervals.
        resamples: The resamples of the bootstrap.
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
                    bootstrap_mean(regret, confidence, resamples),
                    bootstrap_ratio(regret, chance, confidence, resamples),
                    bootstrap_mean(change, confidence, resamples),
                )
            )  # fmt: skip
    return lines


def tidy(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The columns of `regret.csv`; None where there is no number."""
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
