"""The saturation load of every network, pattern and policy, with its interval over the seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..metrics import Interval, mean_interval
from ..results.copies import distinct
from ..terminal.tables import interval_columns


@dataclass(frozen=True)
class Line:
    """All searches of a policy under a pattern.

    Args:
        network: The name of the network.
        pattern: The name of the pattern.
        policy: The name of the policy.
        seeds: Number of different searches.
        load: The highest carried load, mean over the seeds. The interval begins at the lower end of the
            interval of the carried loads, and ends at the upper end of that of the refused loads.
        accepted: Accepted load at the highest carried load, mean over the seeds; NaN if none was carried.
        bound: The analytic bound; None without one.
    """

    network: str
    pattern: str
    policy: str
    seeds: int
    load: Interval
    accepted: float
    bound: float | None


def summarise(rows: Sequence[Mapping[str, Any]], confidence: float) -> list[Line]:
    """A line per network, pattern and policy, in the order of their first rows.

    Args:
        rows: One per search, with its labels.
        confidence: The confidence of the intervals.
    """
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["network"], row["scenario"], row["policy"]), []).append(row)
    networks, patterns = ([key[k] for key in groups] for k in (0, 1))
    ordered = sorted(groups, key=lambda key: (networks.index(key[0]), patterns.index(key[1])))
    return [_line(key, groups[key], confidence) for key in ordered]


def tidy(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The rows of `saturation.csv`; None stands for a missing number."""
    return [
        {
            **{key: getattr(line, key) for key in ("network", "pattern", "policy", "seeds")},
            **interval_columns(line.load, "saturation_load", "saturation_load_low", "saturation_load_high"),
            "accepted": None if np.isnan(line.accepted) else line.accepted,
            "bound": line.bound,
        }
        for line in lines
    ]


def _line(key: tuple[str, str, str], rows: Sequence[Mapping[str, Any]], confidence: float) -> Line:
    rows = distinct(rows)
    carried, refused = ([float(row[name]) for row in rows] for name in ("saturation_load", "refused_load"))
    below, above = (mean_interval(loads, confidence) for loads in (carried, refused))
    # A single seed, or seeds with the same bracket, have no interval over seeds, but this bracket.
    low = carried[0] if np.isnan(below.low) else below.low
    high = refused[0] if np.isnan(above.high) else above.high
    accepted = [row["saturation_accepted"] for row in rows if row["saturation_accepted"] is not None]
    return Line(
        *key, len(rows), Interval(below.value, low, high), float(np.mean(accepted)) if accepted else np.nan,
        rows[0]["bound"],
    )  # fmt: skip
