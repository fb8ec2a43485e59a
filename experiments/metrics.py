"""Metrics as pure functions of arrays. No files, no configuration, no plotting."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_RESAMPLES = 10_000  # the ends of an interval then move by about a hundredth of its width from one rng to another


def peak_throughput(accepted: ArrayLike) -> float:
    """The highest accepted load (flits per terminal per flit time) over the offered loads of one curve."""
    return float(np.max(_vector(accepted, "accepted")))


def saturation_load(offered: ArrayLike, accepted: ArrayLike, tolerance: float = 0.05) -> float | None:
    """The offered load from which on the network no longer delivers what is offered.

    Args:
        offered: Offered loads, increasing.
        accepted: Accepted loads, as many.
        tolerance: The part of the offered load that may be missing before the network counts as saturated.

    Returns:
        The load at which accepted/offered crosses `1 - tolerance`, interpolated between the two points around it; the
        first load if already that is saturated; None if no load of the curve is.
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
        time: Ends of the intervals, increasing, any unit.
        value: What was measured in each interval; NaN where nothing was.
        band: Allowed deviation from the final level, as a part of it.
        tail: The last part of the series, whose median is taken for the final level.

    Returns:
        The end of the first interval from which on every value lies within the band; None if the series leaves the band
        within its own tail, that is, has not settled.
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
    """Median of `width` (odd) neighbours around each value, NaN left out; shorter windows at both ends."""
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
    """An estimate and the ends of its confidence interval; NaN where there is none."""

    value: float
    low: float
    high: float


def bootstrap_mean(
    values: ArrayLike, confidence: float = 0.95, resamples: int = _RESAMPLES, rng_seed: int = 0
) -> Interval:
    """The mean of independent runs, with the percentile bootstrap's interval.

    Few runs make it too narrow: of normal values, 95 % intervals cover the truth in about 75 % of cases with 3 values,
    85 % with 5 and 90 % with 10.

    Args:
        values: One per run (seed). NaN, a run that gave no value, is left out.
        confidence: The confidence of the interval, between 0 and 1.
        resamples: How often the runs are drawn anew, with replacement.
        rng_seed: The same seed and number of values, the same draws.

    Returns:
        NaN throughout without a value; with a single one, no interval.
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
    """`mean(values) - mean(reference)` of paired runs, with an interval from drawing pairs.

    What a seed does to both (its traffic, its placement) cancels, so that the interval is narrower than that of two
    independent means.

    Args:
        values: One per seed.
        reference: Those of the same seeds. A pair with a NaN is left out.
        confidence: As for `bootstrap_mean`, and so are the rest and the result.
        resamples: How often pairs are drawn anew.
        rng_seed: The same seed and number of pairs, the same draws.
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
    """`mean(values) / mean(reference)` of paired runs, with an interval from drawing pairs.

    Args and result as for `bootstrap_difference`; NaN throughout if the reference's mean is 0.
    """
    v, r = _pairs(values, reference)
    if v.size == 0 or np.mean(r) == 0:
        return Interval(np.nan, np.nan, np.nan)
    draws = _draws(v.size, resamples, rng_seed)
    # A draw of pairs whose reference is 0 has no ratio and takes no part in the percentiles.
    below = np.mean(r[draws], axis=1)
    ratios = np.divide(np.mean(v[draws], axis=1), below, out=np.full(resamples, np.nan), where=below != 0)
    return Interval(float(np.mean(v) / np.mean(r)), *_percentiles(ratios, v.size, confidence))


def bootstrap_crossed(
    values: ArrayLike, confidence: float = 0.95, resamples: int = _RESAMPLES, rng_seed: int = 0
) -> Interval:
    """The mean over two crossed factors, trainings and scenes say, with the interval of drawing both anew.

    Rows and columns are drawn independently, each with replacement: what all scenes of a training share, and all
    trainings of a scene, counts as often as it was drawn (Owen, "The pigeonhole bootstrap", Annals of Applied
    Statistics 1, 2007). Few rows or columns that differ make it too narrow, as with `bootstrap_mean`; where rows and
    columns hardly differ, but single values do, it is too wide.

    Args:
        values: [rows, columns], all of them known.
        confidence: The confidence of the interval, between 0 and 1.
        resamples: How often both are drawn anew.
        rng_seed: The same seed and shape, the same draws.

    Returns:
        No interval for a single value.
    """
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 2 or v.size == 0:
        raise ValueError(f"values must be a non-empty two-dimensional array, not of shape {v.shape}")
    rng = np.random.default_rng(rng_seed)
    rows, columns = (rng.integers(0, size, (resamples, size)) for size in v.shape)
    means = np.mean(v[rows[:, :, None], columns[:, None, :]], axis=(1, 2))
    return Interval(float(np.mean(v)), *_percentiles(means, v.size, confidence))


def interquartile_mean(values: ArrayLike) -> Any:
    """The mean of the middle half of the values along the last axis: a quarter, rounded down, is cut at each end.

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
    """A statistic of all values together, with the percentile bootstrap's interval; each stratum is drawn by itself.

    The strata are tasks and the values scores of runs: the interval is that of the same tasks with other seeds (ibid.,
    section 4.1). Few runs make it too narrow, as with `bootstrap_mean`, though less so the more tasks there are.

    Args:
        strata: The values of each, in any number. NaN is left out, and so is a stratum that has nothing else.
        statistic: Takes [..., values] and reduces the last axis.
        confidence: The confidence of the interval, between 0 and 1.
        resamples: How often every stratum is drawn anew, with replacement, as many values as it has.
        rng_seed: The same seed and numbers of values, the same draws.

    Returns:
        NaN throughout without a value; no interval where no stratum has two.
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
    # A single run says nothing of how much runs differ.
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
