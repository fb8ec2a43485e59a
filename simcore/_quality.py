"""Measures of a forwarding table: `Quality` and `Bisection`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Quality:
    """Static quality of a forwarding table, over the routes between all pairs of different terminals.

    A load is the number of routes that pass a channel between switches, or their weight if a demand is given. The links
    of terminals have separate loads.
    """

    routes: float
    """Number of ordered pairs of different terminals, or the sum of the demand."""
    edge_forwarding_index: float
    """Load of the most loaded channel between switches."""
    terminal_forwarding_index: float
    """Load of the most loaded link of a terminal."""
    load_mean: float
    """Mean load over all channels between switches, including unused ones."""
    load_least: float
    load_deviation: float
    """sqrt(mean over channels of (load - load_mean)^2)"""
    load_mean_minimal: float
    """`load_mean` if all routes were shortest paths: a lower bound of every edge forwarding index."""
    channels_unused: int
    hops_mean: float
    """Channels between switches per route."""
    hops_max: int
    minimal: bool
    """Whether every route is a shortest path."""
    layers: int
    """VC classes that the table needs."""
    cycle: str
    """Names of the channels of a cycle in the channel dependency graph; empty without a cycle."""
    loads: dict[str, NDArray[np.float64]] = field(repr=False)
    """Loads of all channels and links, as returned by `ForwardingTable.loads`."""

    @property
    def acyclic(self) -> bool:
        """Whether the table is free of deadlock with one VC class per layer."""
        return not self.cycle

    @property
    def bound(self) -> int:
        """Lower bound of the edge forwarding index of any routing, for uniform traffic between all terminals."""
        return int(np.ceil(round(self.load_mean_minimal, 9)))


@dataclass(frozen=True)
class Bisection:
    """Effective bisection bandwidth. 1 means that no two pairs of a pattern share a channel."""

    values: NDArray[np.float64]
    """[patterns] mean bandwidth over the pairs of each pattern."""

    @property
    def mean(self) -> float:
        """Mean over the patterns."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean; NaN for a single pattern."""
        if self.values.size < 2:
            return float("nan")
        return float(self.values.std(ddof=1) / np.sqrt(self.values.size))
