"""The statistics of a steady state: the end of the warm-up, and intervals of means from one run.

Sources:
    MSER-5: White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997;
        Franklin and White, "Stationarity tests and MSER-5", Winter Simulation Conference 2008.
    Many small batches to test the correlation, few large ones for the interval: Law and Carson, "A sequential procedure
        for determining the length of a steady-state simulation", Operations Research 27(5), 1979.
    Correction for the correlation that remains: Tafazzoli, Wilson, Lada and Steiger, "Performance of Skart: a
        skewness- and autoregression-adjusted batch means procedure", INFORMS Journal on Computing 23(2), 2011.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..metrics import student

Floats = NDArray[np.float64]

FINE = 200  # batches for the test of their correlation
BATCHES = 40  # batches for the interval; each joins FINE / BATCHES of the fine ones
_MOST_CORRELATION = 0.5  # of neighbouring fine batches; then the joined ones have a small one, which can be corrected
_LARGEST = 0.8  # correlation of joined batches that is corrected
_MSER_BATCH = 5


@dataclass(frozen=True)
class Estimate:
    """A mean with its confidence interval."""

    mean: float
    half_width: float  # of the interval
    variance: float  # of the mean
    correlated: bool  # whether neighbouring batches are still strongly correlated; then the interval is too narrow
    drift: float  # Student's t of the difference between the second and the first half of the time

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.mean - self.half_width, self.mean + self.half_width

    @property
    def relative(self) -> float:
        """The half width relative to the mean."""
        return self.half_width / abs(self.mean) if self.mean else math.inf

    def within(self, precision: float) -> bool:
        """Whether the batches are uncorrelated and the half width is at most `precision` of the mean."""
        return not self.correlated and self.relative <= precision


def mser5(values: Floats) -> int:
    """The number of values that MSER-5 removes from the beginning of a series.

    MSER-5 removes the values whose removal makes the estimated standard error of the mean smallest. It looks at means
    of five values. A series has not reached its steady state if the rule removes more than half of it.
    """
    count = len(values) // _MSER_BATCH
    means = values[: count * _MSER_BATCH].reshape(count, _MSER_BATCH).mean(axis=1)
    # Sums over all values from each index on, of the distance to the last mean, which keeps the squares small.
    offset = means - means[-1]
    sums, squares = (np.cumsum(x[::-1])[::-1] for x in (offset, offset**2))
    left = np.arange(count, 0, -1)
    errors = (squares - sums**2 / left) / left.astype(float) ** 2
    # Franklin and White leave out the last batches, whose few values can be equal by chance.
    return int(np.argmin(errors[: max(1, count - _MSER_BATCH)])) * _MSER_BATCH


def estimate(sums: Floats, counts: Floats, confidence: float) -> Estimate | None:
    """The ratio of two sums, such as latencies and packets, with a confidence interval from batch means.

    The variance is that of the residuals `sums - ratio * counts` (the classical ratio estimator: Law, "Simulation
    Modeling and Analysis", 2015, section 9.5.3).

    Args:
        sums: [n] numerators of equal times; n is a multiple of `FINE`.
        counts: [n] denominators.
        confidence: Probability that the interval contains the mean.

    Returns:
        None if the counts are 0.
    """
    total = counts.sum()
    if total == 0:
        return None
    mean = sums.sum() / total
    residuals = sums - mean * counts
    joined = residuals.reshape(BATCHES, -1).sum(axis=1)
    correlated = _jackknife(residuals.reshape(FINE, -1).sum(axis=1)) >= _MOST_CORRELATION
    widening = _widening(joined)
    variance = float(joined @ joined / (BATCHES - 1) * BATCHES / total**2 * widening)
    half_width = student((1 + confidence) / 2, BATCHES - 1) * math.sqrt(variance)
    return Estimate(float(mean), half_width, variance, correlated, _drift(joined) / math.sqrt(widening))


def _widening(values: Floats) -> float:
    """The factor of the variance of a mean whose neighbouring values are correlated, as those of an AR(1) process."""
    # The estimated correlation of n independent values is -1/n on average.
    correlation = min(max(_lag_one(values) + 1 / len(values), 0.0), _LARGEST)
    return (1 + correlation) / (1 - correlation)


def _jackknife(values: Floats) -> float:
    """The correlation of neighbours, with the bias removed by the jackknife over the two halves."""
    first, second = np.split(values, 2)
    return 2 * _lag_one(values) - (_lag_one(first) + _lag_one(second)) / 2


def _lag_one(values: Floats) -> float:
    centred = values - values.mean()
    squares = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / squares if squares > 0 else 0.0


def _drift(values: Floats) -> float:
    first, second = np.split(values, 2)
    spread = math.sqrt((first.var(ddof=1) + second.var(ddof=1)) / len(first))
    difference = float(second.mean() - first.mean())
    return difference / spread if spread > 0 else math.copysign(math.inf, difference) if difference else 0.0
