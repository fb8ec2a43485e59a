"""What is said of a forwarding table: `Quality` and `Bisection`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Quality:
    """How good a table is by itself. Routes are those between different terminals, all alike or as a demand says.

    A load is the number of routes (or the weight of the demand) that pass a channel between switches; the links of
    terminals are apart.
    """

    routes: float
    """Ordered pairs of different terminals, or the sum of the demand."""
    edge_forwarding_index: float
    """Load of the fullest channel."""
    terminal_forwarding_index: float
    """Load of the fullest link of a terminal."""
    load_mean: float
    """Over all channels, unused ones too."""
    load_least: float
    load_deviation: float
    """sqrt(mean over channels of (load - load_mean)^2)"""
    load_mean_minimal: float
    """What `load_mean` is of shortest routes; no routing has a lower edge forwarding index."""
    channels_unused: int
    hops_mean: float
    """Channels per route."""
    hops_max: int
    minimal: bool
    """Every route is as short as can be."""
    layers: int
    """VC classes the table needs."""
    cycle: str
    """Channels that wait for each other in a circle, by name; empty: there are none."""
    loads: dict[str, NDArray[np.float64]] = field(repr=False)
    """As `ForwardingTable.loads`."""

    @property
    def acyclic(self) -> bool:
        """Free of deadlock with a VC class per layer."""
        return not self.cycle

    @property
    def bound(self) -> int:
        """No routing has a lower edge forwarding index between terminals that are all alike."""
        return int(np.ceil(round(self.load_mean_minimal, 9)))


@dataclass(frozen=True)
class Bisection:
    """Effective bisection bandwidth: 1 = no two pairs of a pattern share a channel."""

    values: NDArray[np.float64]
    """[patterns] mean bandwidth of the pairs of each."""

    @property
    def mean(self) -> float:
        """Over the patterns."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean; NaN of a single pattern."""
        if self.values.size < 2:
            return float("nan")
        return float(self.values.std(ddof=1) / np.sqrt(self.values.size))
