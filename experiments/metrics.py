"""Metrics as pure functions of arrays. No files, no configuration, no plotting."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_RESAMPLES = 10_000  # another random seed then moves the ends of an interval by about 1 % of its width


def peak_throughput(accepted: ArrayLike) -> float:
    """The highest accepted load (flits per terminal per flit time) over the offered loads of one curve."""
    return float(np.max(_vector(accepted, "accepted")))


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


def bootstrap_mean(
    values: ArrayLike, confidence: float = 0.95, resamples: int = _RESAMPLES, rng_seed: int = 0
) -> Interval:
    """The mean of independent runs, with the interval of the percentile bootstrap.

    The interval is too narrow for few runs. For normal values, 95 % intervals cover the true mean in about 75 % of
    cases with 3 values, 85 % with 5 and 90 % with 10.

    Args:
        values: One per run (seed). NaN stands for a run without a value, and is left out.
        confidence: The confidence of the interval, between 0 and 1.
        resamples: Number of resamples of the runs, with replacement.
        rng_seed: Equal seeds and equal numbers of values give equal resamples.

    Returns:
        Only NaN without a value; no interval for a single value.
    """
    v = _vector(values, "values")
    v = v[np.isfinite(v)]
    if v.size == 0:
        return Interval(np.nan, np.nan, np.nan)
    draws = _draws(v.size, resamples, rng_seed)
    return Interval(float(np.mean(v)), *_percentiles(np.mean(v[draws], axis=1), v.size, confidence))


def bootstrap_difference(
    values: ArrayLike,
    reference: ArrayLike,
    confidence: float = 0.95,
    resamples: int = _RESAMPLES,
    rng_seed: int = 0,
) -> Interval:
    """`mean(values) - mean(reference)` of paired runs, with an interval from resampling pairs.

    Effects of a seed on both sides, such as its traffic or its placement, cancel. The interval is therefore narrower
    than that of two independent means.

    Args:
        values: One per seed.
        reference: Values for the same seeds. A pair with a NaN is left out.
        confidence: As for `bootstrap_mean`, like the result.
        resamples: Number of resamples of the pairs.
        rng_seed: Equal seeds and equal numbers of pairs give equal resamples.
    """
    v, r = _pairs(values, reference)
    return bootstrap_mean(v - r if v.size else [np.nan], confidence, resamples, rng_seed)


def bootstrap_ratio(
    values: ArrayLike,
    reference: ArrayLike,
    confidence: float = 0.95,
    resamples: int = _RESAMPLES,
    rng_seed: int = 0,
) -> Interval:
    """`mean(values) / mean(reference)` of paired runs, with an interval from resampling pairs.

    Arguments and result are those of `bootstrap_difference`. If the mean of the reference is 0, all numbers are NaN.
    """
    v, r = _pairs(values, reference)
    if v.size == 0 or np.mean(r) == 0:
        return Interval(np.nan, np.nan, np.nan)
    draws = _draws(v.size, resamples, rng_seed)
    # A resample whose reference is 0 has no ratio and is left out of the percentiles.
    below = np.mean(r[draws], axis=1)
    ratios = np.divide(np.mean(v[draws], axis=1), below, out=np.full(resamples, np.nan), where=below != 0)
    return Interval(float(np.mean(v) / np.mean(r)), *_percentiles(ratios, v.size, confidence))


def bootstrap_crossed(
    values: ArrayLike, confidence: float = 0.95, resamples: int = _RESAMPLES, rng_seed: int = 0
) -> Interval:
    """The mean over two crossed factors, such as trainings and scenes, with an interval from resampling both.

    Rows and columns are resampled independently, with replacement. This accounts for effects that all scenes of a
    training or all trainings of a scene share (Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007).
    The interval is too narrow for few rows or columns, as in `bootstrap_mean`. It is too wide if rows and columns
    hardly differ and single values do.

    Args:
        values: [rows, columns] without NaN.
        confidence: The confidence of the interval, between 0 and 1.
        resamples: Number of resamples of rows and columns.
        rng_seed: Equal seeds and equal shapes give equal resamples.

    Returns:
        The mean has no interval if there is a single value.
    """
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 2 or v.size == 0:
        raise ValueError(f"values must be a non-empty two-dimensional array, not of shape {v.shape}")
    rng = np.random.default_rng(rng_seed)
    rows, columns = (rng.integers(0, size, (resamples, size)) for size in v.shape)
    means = np.mean(v[rows[:, :, None], columns[:, None, :]], axis=(1, 2))
    return Interval(float(np.mean(v)), *_percentiles(means, v.size, confidence))


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
    (ibid., section 4.1). It is too narrow for few runs, as in `bootstrap_mean`, but less so with many tasks.

    Args:
        strata: The values of each stratum. NaN and strata without other values are left out.
        statistic: Reduces the last axis of [..., values].
        confidence: The confidence of the interval, between 0 and 1.
        resamples: Number of resamples of every stratum, with replacement and of the same size.
        rng_seed: Equal seeds and equal numbers of values give equal resamples.

    Returns:
        Only NaN without a value; no interval unless a stratum has two values.
    """
    arrays = [np.asarray(stratum, dtype=np.float64) for stratum in strata]
    kept = [array[np.isfinite(array)] for array in arrays if np.isfinite(array).any()]
    if not kept:
        return Interval(np.nan, np.nan, np.nan)
    rng = np.random.default_rng(rng_seed)
    drawn = [array[rng.integers(0, array.size, (resamples, array.size))] for array in kept]
    most = max(array.size for array in kept)
    value = float(statistic(np.concatenate(kept)))
    return Interval(value, *_percentiles(statistic(np.concatenate(drawn, axis=1)), most, confidence))


def relative_difference(measured: float, expected: float) -> float:
    """`measured / expected - 1`."""
    return measured / expected - 1


def _draws(size: int, resamples: int, rng_seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(rng_seed).integers(0, size, (resamples, size))


def _percentiles(estimates: NDArray[np.float64], size: int, confidence: float) -> tuple[float, float]:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence:g}")
    # A single run does not show the variation between runs.
    if size < 2:
        return np.nan, np.nan
    tail = 50 * (1 - confidence)
    low, high = np.nanpercentile(estimates, [tail, 100 - tail])
    return float(low), float(high)


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
