"""Whether a difference of two speeds is more than noise.

Both programs run in turns; the ratio (new / base) is taken pair by pair, so that a machine whose speed drifts slowly
does not decide. What is left is noise of unknown shape, so the decision rests on ranks alone: the median of the ratios
lies between the k-th smallest and the k-th largest with a probability that follows from the binomial distribution with
p = 1/2, whatever the distribution of the ratios (the interval of the sign test; Conover, Practical Nonparametric
Statistics, 3rd ed., section 3.2). A scene is slower where all of that interval lies below 1, and its median by LEAST or
more: a move of code in memory alone is worth so much.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

LEAST = 0.01
CONFIDENCE = 0.9  # of the interval, two-sided: five pairs give 0.94 from the lowest to the highest
FEWEST_PAIRS = 5  # fewer cannot give that


@dataclass(frozen=True)
class Comparison:
    """Ratios of one scene, summed up."""

    median: float
    low: float  # the interval that holds the median
    high: float
    confidence: float  # with which it does
    pairs: int

    @property
    def verdict(self) -> str:
        """Slower, faster, or neither that could be told."""
        if self.pairs < FEWEST_PAIRS:
            return "too few pairs"
        if self.high < 1 and self.median <= 1 - LEAST:
            return "SLOWER"
        if self.low > 1 and self.median >= 1 + LEAST:
            return "faster"
        return "same"


def coverage(pairs: int, k: int) -> float:
    """Probability that the true median lies between the k-th smallest and the k-th largest of so many (k from 1)."""
    return 1 - 2 * sum(comb(pairs, i) for i in range(k)) / float(2**pairs)


def compare(ratios: Sequence[float]) -> Comparison:
    """The median of the ratios, and the shortest interval by rank that holds the true one with CONFIDENCE."""
    pairs, ordered = len(ratios), sorted(ratios)
    k = 1
    while 2 * (k + 1) <= pairs and coverage(pairs, k + 1) >= CONFIDENCE:
        k += 1
    return Comparison(statistics.median(ordered), ordered[k - 1], ordered[-k], max(0.0, coverage(pairs, k)), pairs)
