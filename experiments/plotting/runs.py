"""The runs of a figure, selected by labels such as the pattern and the routing."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .drawing import Row


class Runs:
    """Rows with labels. A run that is missing is an error, because a figure must not lack a curve or a bar.

    Args:
        rows: Rows from `read_rows`.
        labels: By name, the column of each label, or a function of a row.
    """

    def __init__(self, rows: Iterable[Row], **labels: str | Callable[[Row], Any]) -> None:
        self.rows = list(rows)
        self._labels = [
            {name: row.get(of) if isinstance(of, str) else of(row) for name, of in labels.items()} for row in self.rows
        ]
        self._groups: dict[tuple[str, ...], dict[tuple[Any, ...], list[Row]]] = {}

    def at(self, **values: Any) -> list[Row]:
        """The rows with these values of the labels."""
        names = tuple(values)
        if names not in self._groups:
            groups = self._groups[names] = {}
            for row, own in zip(self.rows, self._labels, strict=True):
                groups.setdefault(tuple(own[name] for name in names), []).append(row)
        found = self._groups[names].get(tuple(values.values()))
        if not found:
            raise ValueError(f"no row for {' and '.join(f'{name} {value}' for name, value in values.items())}")
        return found

    def values(self, label: str) -> list[Any]:
        """The values of a label, in the order of their first rows."""
        return list(dict.fromkeys(own[label] for own in self._labels))

    def mean(self, column: str, **values: Any) -> float:
        """The mean of a column over the rows with these values of the labels."""
        return float(np.mean([row[column] for row in self.at(**values)]))


class Failure(NamedTuple):
    """The failure of a run: its links, and the times in us at which they go down and come up."""

    links: str  # `0.05`, a fraction of all links
    down: float
    up: float


def failure_of(row: Row) -> Failure:
    """The failure in `failures.events`."""
    given = row["failures.events"]
    found = re.fullmatch(r"([\d.]+)@([\d.]+)-([\d.]+)", given if isinstance(given, str) else ",".join(given or ()))
    if not found:
        raise ValueError(f"failures.events: {given!r} is not one failure, as 0.05@60000-90000")
    return Failure(found[1], float(found[2]) / 1000, float(found[3]) / 1000)


def course(rows: Sequence[Row], until_us: float = np.inf) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The latency over time of runs with the same intervals.

    Args:
        rows: A row per seed. A run that drains its network may be longer than the others.
        until_us: The end of the measurement window.

    Returns:
        The ends of the intervals in us, and mean latencies in ns, [seeds, intervals]; NaN where no packet arrived.
    """
    time = np.array(rows[0]["series.time_ns"], dtype=float) / 1000
    time = time[time <= until_us]
    return time, np.array([row["series.latency_mean_ns"][: time.size] for row in rows], dtype=float)
