"""Decide whether a difference of two speeds is more than noise.

Both programs run in turns and the ratio (new / base) is taken pair by pair, so a slow drift of the machine's speed does
not decide. The remaining noise has an unknown distribution, so the decision uses ranks only. The true median of the
ratios lies between the k-th smallest and the k-th largest ratio. The probability of this follows from the binomial
distribution with p = 1/2 for any distribution of the ratios (the interval of the sign test; Conover, Practical
Nonparametric Statistics, 3rd ed., section 3.2). A scene is slower if the whole interval lies below 1 and the median is
below 1 by LEAST or more. Moving code in memory alone changes the speed by as much as LEAST.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

LEAST = 0.01
CONFIDENCE = 0.9  # two-sided; five pairs give 0.94 from the lowest to the highest
FEWEST_PAIRS = 5  # fewer pairs cannot reach it


@dataclass(frozen=True)
class Comparison:
    """Summary of the ratios of a scene."""

    median: float
    low: float  # ends of the interval around the median
    high: float
    confidence: float  # probability that the interval contains the true median
    pairs: int

    @property
    def verdict(self) -> str:
        """SLOWER, faster or same, or too few pairs to decide."""
        if self.pairs < FEWEST_PAIRS:
            return "too few pairs"
        if self.high < 1 and self.median <= 1 - LEAST:
            return "SLOWER"
        if self.low > 1 and self.median >= 1 + LEAST:
            return "faster"
        return "same"


def coverage(pairs: int, k: int) -> float:
    """Probability that the true median lies between the k-th smallest and k-th largest of `pairs` ratios, k from 1."""
    return 1 - 2 * sum(comb(pairs, i) for i in range(k)) / float(2**pairs)


def compare(ratios: Sequence[float]) -> Comparison:
    """The median of the ratios, and the shortest interval by rank that has CONFIDENCE."""
    pairs, ordered = len(ratios), sorted(ratios)
    k = 1
    while 2 * (k + 1) <= pairs and coverage(pairs, k + 1) >= CONFIDENCE:
        k += 1
    return Comparison(statistics.median(ordered), ordered[k - 1], ordered[-k], max(0.0, coverage(pairs, k)), pairs)
