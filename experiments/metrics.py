"""Metrics as pure functions of arrays. No files, no configuration, no plotting."""

import numpy as np
from numpy.typing import ArrayLike


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


def relative_difference(measured: float, published: float) -> float:
    """`measured / published - 1`."""
    return measured / published - 1


def _vector(values: ArrayLike, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"{name} must be a non-empty one-dimensional array, not of shape {vector.shape}")
    return vector
