"""The numbers of a study: every quantity of every policy at every point, alone and relative to the reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Interval, difference_interval, mean_interval, ratio_interval
from ..results.copies import once
from ..terminal.tables import interval_columns

Row = Mapping[str, Any]

NONE = Interval(np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Cell:
    """One quantity of one policy at one point.

    Args:
        policy: The name of the policy.
        point: The keys of the point with their values, such as a pattern and a load. The first key names the table. A
            value of None stands for all values of its key.
        metric: The quantity.
        mean: The mean over the seeds.
        ratio: To the reference, over the seeds with both values.
        difference: From the reference, over the same seeds, in the metric's unit.
        seeds: Number of different runs with a value.
        missing: Number of seeds without one: the run failed, or it measured nothing.
    """

    policy: str
    point: Mapping[str, Any]
    metric: str
    mean: Interval
    ratio: Interval = NONE
    difference: Interval = NONE
    seeds: int = 1
    missing: int = 0

    @property
    def table(self) -> tuple[str, str]:
        """The first key of the point, and its value."""
        return next(iter(self.point.items()))


def summarise(
    point: Mapping[str, Any],
    rows: Mapping[str, Sequence[Row | None]],
    metrics: Mapping[str, str],
    reference: str,
    confidence: float,
) -> list[Cell]:
    """The cells of a point, by policy and then by metric.

    Args:
        point: See `Cell`.
        rows: A row per seed, by policy; None for a run that has not finished.
        metrics: The column of each metric.
        reference: The policy that ratios and differences refer to.
        confidence: The confidence of the intervals.
    """
    cells = []
    for policy, mine in rows.items():
        others = rows[reference]
        alone, pairs = once(mine), once(mine, others)
        for metric, column in metrics.items():
            own, other = _vector(mine, column), _vector(others, column)
            pair = (own[pairs], other[pairs], confidence)
            measured = np.isfinite(own)
            intervals = (mean_interval(own[alone], confidence), ratio_interval(*pair), difference_interval(*pair))
            cells.append(Cell(policy, point, metric, *intervals, int(measured[alone].sum()), int((~measured).sum())))
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
