"""The numbers of a study: every quantity of every policy at every point, alone and relative to the reference."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Interval, difference_interval, mean_interval, ratio_interval
from ..results.copies import once
from ..terminal.tables import interval_columns

Row = Mapping[str, Any]
# A point, the numbers of a row there, and the column of each metric.
Measured = tuple[Mapping[str, Any], Row, Mapping[str, str]]

NONE = Interval(np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Cell:
    """One quantity of one policy at one point."""

    policy: str
    # The keys of the point with their values, such as a pattern and a load. The first key names the table. None stands
    # for all values of a key.
    point: Mapping[str, Any]
    metric: str
    mean: Interval  # over the seeds
    ratio: Interval = NONE  # to the reference, over the seeds with both values
    difference: Interval = NONE  # from the reference, over the same seeds, in the metric's unit
    seeds: int = 1  # different runs with a value
    missing: int = 0  # seeds without one: the run failed, or it measured nothing

    @property
    def table(self) -> tuple[str, str]:
        """The first key of the point, and its value."""
        return next(iter(self.point.items()))


def cells_of(
    rows: Iterable[Row],
    points: Callable[[Row], Iterable[Measured]],
    policies: Sequence[str],
    seeds: Sequence[int],
    reference: str,
    confidence: float,
    order: Sequence[Any] = (),
) -> list[Cell]:
    """The cells by point, by policy and then by metric. A run without a row counts as missing.

    `points` maps a row to its points. `order` has values of the keys of points, in the order of the tables. Other
    values follow in the order of the rows.
    """
    found: dict[tuple[Any, ...], tuple[dict[str, dict[int, Row]], Mapping[str, str]]] = {}
    for row in rows:
        for point, numbers, metrics in points(row):
            by_policy, _ = found.setdefault(tuple(point.items()), ({}, metrics))
            by_policy.setdefault(row["policy"], {})[row["seed"]] = numbers
    rank, cells = {value: k for k, value in enumerate(order)}, []
    for key in sorted(found, key=lambda key: [rank.get(value, len(rank)) for _, value in key]):
        by_policy, metrics = found[key]
        at = {policy: [by_policy.get(policy, {}).get(seed) for seed in seeds] for policy in policies}
        others, point = at[reference], dict(key)
        for policy, mine in at.items():
            alone, pairs = once(mine), once(mine, others)
            for metric, column in metrics.items():
                own, other = _vector(mine, column), _vector(others, column)
                pair = (own[pairs], other[pairs], confidence)
                measured = np.isfinite(own)
                intervals = (mean_interval(own[alone], confidence), ratio_interval(*pair), difference_interval(*pair))
                counts = (int(measured[alone].sum()), int((~measured).sum()))
                cells.append(Cell(policy, point, metric, *intervals, *counts))
    return cells


def tidy(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The rows of the CSV file, one per cell; None stands for a missing number."""
    keys = dict.fromkeys(key for cell in cells for key in cell.point)
    return [
        {
            "policy": cell.policy,
            **{key: cell.point.get(key) for key in keys},
            "metric": cell.metric,
            **interval_columns(cell.mean, "mean", "low", "high"),
            "seeds": cell.seeds,
            "missing": cell.missing,
            **interval_columns(cell.ratio, "ratio", "ratio_low", "ratio_high"),
            **interval_columns(cell.difference, "difference", "difference_low", "difference_high"),
        }
        for cell in cells
    ]


def _vector(rows: Sequence[Row | None], column: str) -> NDArray[np.float64]:
    values = [None if row is None else row.get(column) for row in rows]
    return np.array([np.nan if value is None else value for value in values], dtype=float)
