"""Metrics as pure functions of arrays. No files, no configuration, no plotting."""

import functools
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_RESAMPLES = 10_000  # another random seed then moves the ends of an interval by about 1 % of its width


def saturation_load(offered: ArrayLike, accepted: ArrayLike, tolerance: float = 0.05) -> float | None:
    """The offered load above which the network is saturated.

    Args:
        offered: Increasing offered loads, [points].
        accepted: Accepted loads, [points].
        tolerance: The fraction of the offered load that may be missing below saturation.

    Returns:
        The load at which accepted/offered falls below `1 - tolerance`, interpolated between two points. The first load
        if the network is already saturated there; None if it is never saturated.
    """
    x, y = _vector(offered, "offered"), _vector(accepted, "accepted")
    if x.shape != y.shape:
        raise ValueError(f"offered and accepted differ in length: {x.size} and {y.size}")
    if np.any(np.diff(x) <= 0) or x[0] <= 0:
        raise ValueError("offered loads must be positive and increasing")
    ratio = y / x
    below = np.flatnonzero(ratio < 1 - tolerance)
    if below.size == 0:
        return None
    k = int(below[0])
    if k == 0:
        return float(x[0])
    part = (ratio[k - 1] - (1 - tolerance)) / (ratio[k - 1] - ratio[k])
    return float(x[k - 1] + part * (x[k] - x[k - 1]))


def settle_time(time: ArrayLike, value: ArrayLike, band: float = 0.1, tail: float = 0.25) -> float | None:
    """The time after which a series stays near its final level.

    Args:
        time: Increasing ends of the intervals, in any unit.
        value: The value of each interval; NaN without a measurement.
        band: Allowed deviation, as a fraction of the final level.
        tail: The fraction of the time at the end whose median is the final level.

    Returns:
        The end of the first interval after which every value lies within the band; None if the series leaves the band
        in its tail, which means that it has not settled.
    """
    t, v = _vector(time, "time"), _vector(value, "value")
    if t.shape != v.shape:
        raise ValueError(f"time and value differ in length: {t.size} and {v.size}")
    kept = np.isfinite(v)
    t, v = t[kept], v[kept]
    if t.size == 0:
        return None
    start_of_tail = t[-1] - tail * (t[-1] - t[0])
    level = np.median(v[t >= start_of_tail])
    outside = np.flatnonzero(np.abs(v - level) > band * abs(level))
    if outside.size == 0:
        return float(t[0])
    last = int(outside[-1])
    if last + 1 >= t.size or t[last] >= start_of_tail:
        return None
    return float(t[last + 1])


def running_median(value: ArrayLike, width: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The median of `width` (odd) neighbours around each value, without NaN. Windows at both ends are shorter."""
    if width < 1 or width % 2 == 0:
        raise ValueError(f"width must be odd and positive, not {width}")
    v = _vector(value, "value")
    half = width // 2
    result = np.full(v.size, np.nan)
    for k in range(v.size):
        window = v[max(0, k - half) : k + half + 1]
        if np.isfinite(window).any():
            result[k] = np.nanmedian(window)
    return result


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval; NaN for a missing number."""

    value: float
    low: float
    high: float


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """The mean of independent runs, with the interval of Student's t.

    The page "Evaluate" has the measured coverage of this interval and of the others here.

    Args:
        values: One per run (seed). NaN stands for a run without a value, and is left out.
        confidence: Between 0 and 1.

    Returns:
        Only NaN without a value; no interval for a single value or for equal values, which show no variation.
    """
    v = _vector(values, "values")
    v = v[np.isfinite(v)]
    if v.size == 0:
        return Interval(np.nan, np.nan, np.nan)
    variance = float(np.var(v, ddof=1)) / v.size if np.ptp(v) else 0.0
    return _student_interval(float(np.mean(v)), variance, v.size - 1, confidence)


def difference_interval(values: ArrayLike, reference: ArrayLike, confidence: float = 0.95) -> Interval:
    """`mean(values) - mean(reference)` of paired runs, with the interval of Student's t of their differences.

    Effects of a seed on both sides, such as its traffic or its placement, cancel. The interval is therefore narrower
    than that of two independent means. Both arguments have a value per seed; a pair with a NaN is left out.
    """
    v, r = _pairs(values, reference)
    return mean_interval(v - r if v.size else [np.nan], confidence)


class Test(NamedTuple):
    """A test of paired runs: Student's t, its degrees of freedom, and the two-sided p value; NaN without a test."""

    t: float
    freedom: int
    p: float


NO_TEST = Test(np.nan, 0, np.nan)


def paired_test(values: ArrayLike, reference: ArrayLike) -> Test:
    """Student's t test of paired runs: are the means equal? Arguments and result agree with `difference_interval`."""
    v, r = _pairs(values, reference)
    change = v - r
    if change.size < 2 or not np.ptp(change):
        return Test(np.nan, max(0, change.size - 1), np.nan)
    t = float(np.mean(change) / np.sqrt(np.var(change, ddof=1) / change.size))
    freedom = change.size - 1
    return Test(t, freedom, 1 - _within(math.atan(abs(t) / math.sqrt(freedom)), freedom))


def ratio_interval(values: ArrayLike, reference: ArrayLike, confidence: float = 0.95) -> Interval:
    """`mean(values) / mean(reference)` of paired runs, with the interval of Student's t of the residuals.

    The variance is that of the residuals `values - ratio * reference` (the classical ratio estimator: Law, "Simulation
    Modeling and Analysis", 2015, section 9.5.3). Arguments and result are those of `difference_interval`. If the mean
    of the reference is 0, all numbers are NaN.
    """
    v, r = _pairs(values, reference)
    if v.size == 0 or np.mean(r) == 0:
        return Interval(np.nan, np.nan, np.nan)
    ratio, unit = float(np.mean(v) / np.mean(r)), abs(float(np.mean(r)))
    _, low, high = mean_interval(v - ratio * r, confidence)
    return Interval(ratio, ratio + low / unit, ratio + high / unit)


def crossed_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """The mean over two crossed factors, such as trainings and scenes, with an interval for others of both.

    It accounts for effects that all scenes of a training or all trainings of a scene share. The variance is the sum of
    the variances of the mean over rows and over columns, with the degrees of freedom of Satterthwaite ("An approximate
    distribution of estimates of variance components", Biometrics Bulletin 2, 1946). It counts the variation of single
    values twice, so the interval is a little too wide.

    Args:
        values: [rows, columns] without NaN.
        confidence: Between 0 and 1.

    Returns:
        The mean has no interval if there is a single value, or if neither rows nor columns differ.
    """
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 2 or v.size == 0:
        raise ValueError(f"values must be a non-empty two-dimensional array, not of shape {v.shape}")
    means = [one for one in (v.mean(axis=1), v.mean(axis=0)) if np.ptp(one)]
    parts = [float(np.var(one, ddof=1) / one.size) for one in means]
    spread = sum(part**2 / (one.size - 1) for part, one in zip(parts, means, strict=True))
    freedom = int(sum(parts) ** 2 / spread + 1e-9) if parts else 0  # a rounding error must not take one away
    return _student_interval(float(np.mean(v)), sum(parts), freedom, confidence)


def interquartile_mean(values: ArrayLike) -> Any:
    """The mean of the middle half of the values along the last axis. A quarter, rounded down, is cut at each end.

    Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (NeurIPS 2021), section 4.3.

    Args:
        values: [..., values]; the last axis is not empty.

    Returns:
        [...], a float for a single axis.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    cut = ordered.shape[-1] // 4
    return np.mean(ordered[..., cut : ordered.shape[-1] - cut], axis=-1)


def bootstrap_stratified(
    strata: Sequence[ArrayLike],
    statistic: Callable[[NDArray[np.float64]], Any],
    confidence: float = 0.95,
    resamples: int = _RESAMPLES,
    rng_seed: int = 0,
) -> Interval:
    """A statistic of all values together, with the interval of a percentile bootstrap that resamples within strata.

    The strata are tasks, and the values are scores of runs. The interval describes the same tasks with other seeds
    (ibid., section 4.1). A stratum of n values has n - 1 degrees of freedom, so resampling makes it too narrow. The
    interval is therefore enlarged by sqrt(n / (n - 1)) (after Rao and Wu, "Resampling inference with complex survey
    data", Journal of the American Statistical Association 83, 1988), and by a factor of Student's t.

    Args:
        strata: The values of each stratum. NaN and strata without other values are left out.
        statistic: Reduces the last axis of [..., values].
        confidence: Between 0 and 1.
        resamples: Number of resamples of every stratum, with replacement and of the same size.
        rng_seed: Equal seeds and equal numbers of values give equal resamples.

    Returns:
        Only NaN without a value; no interval unless a stratum has two different values.
    """
    _check(confidence)
    arrays = [np.asarray(stratum, dtype=np.float64) for stratum in strata]
    kept = [array[np.isfinite(array)] for array in arrays if np.isfinite(array).any()]
    if not kept:
        return Interval(np.nan, np.nan, np.nan)
    value = float(statistic(np.concatenate(kept)))
    varied = [array.size for array in kept if np.ptp(array)]
    freedom = sum(varied) - len(varied)
    if freedom == 0:
        return Interval(value, np.nan, np.nan)
    rng, tail = np.random.default_rng(rng_seed), (1 - confidence) / 2
    drawn = [array[rng.integers(0, array.size, (resamples, array.size))] for array in kept]
    ends = np.quantile(statistic(np.concatenate(drawn, axis=1)), [tail, 1 - tail])
    wider = math.sqrt(sum(varied) / freedom) * student(1 - tail, freedom) / NormalDist().inv_cdf(1 - tail)
    low, high = value + wider * (ends - value)
    return Interval(value, float(low), float(high))


@functools.cache
def student(probability: float, freedom: int) -> float:
    """The quantile of Student's t for a probability above 0.5 (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _within(angle, freedom) < 2 * probability - 1 else (low, angle)
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """The probability that the absolute value of Student's t is at most `tan(angle) * sqrt(freedom)`."""
    term = math.cos(angle) if freedom % 2 else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(3 if freedom % 2 else 2, freedom, 2):
        term *= math.cos(angle) ** 2 * (k - 1) / k
        total += term
    return (angle + math.sin(angle) * total) * 2 / math.pi if freedom % 2 else math.sin(angle) * total


def _student_interval(mean: float, variance: float, freedom: int, confidence: float) -> Interval:
    _check(confidence)
    if variance == 0:
        return Interval(mean, np.nan, np.nan)
    half = student((1 + confidence) / 2, freedom) * math.sqrt(variance)
    return Interval(mean, mean - half, mean + half)


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence:g}")


def _pairs(values: ArrayLike, reference: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    v, r = _vector(values, "values"), _vector(reference, "reference")
    if v.shape != r.shape:
        raise ValueError(f"values and reference differ in length: {v.size} and {r.size}; give both of the same seeds")
    both = np.isfinite(v) & np.isfinite(r)
    return v[both], r[both]


def _vector(values: ArrayLike, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"{name} must be a non-empty one-dimensional array, not of shape {vector.shape}")
    return vector
