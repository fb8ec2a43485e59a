"""The core's random draws in NumPy: a draw is a function of (seed, stream, counter) only.

The formulas equal those of `simcore/include/simcore/rng.hpp`, bit for bit. Each packet has its own stream, and each of
its hops has 16 counters. So an agent outside the core can draw the same numbers as a routing in the core.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ROUTE = 64  # the first counter of routings
_PER_HOP = 16

Bits = NDArray[np.uint64]


def _bits(values: ArrayLike) -> Bits:
    return np.asarray(values).astype(np.uint64)


def mix64(x: Bits) -> Bits:
    """A bijective 64-bit mixer with full avalanche (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def draw(seed: int, stream: ArrayLike, counter: ArrayLike) -> Bits:
    """64 random bits for each (stream, counter)."""
    with np.errstate(over="ignore"):  # products wrap around on purpose
        key = mix64(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * (_bits(stream) + np.uint64(1)))
        return mix64(key + np.uint64(0xD1B54A32D192ED03) * (_bits(counter) + np.uint64(1)))


def route_draw(seed: int, source: ArrayLike, sequence: ArrayLike, hops: ArrayLike, k: int) -> Bits:
    """The k-th (0 .. 15) draw of the routing for a packet after `hops` hops."""
    stream = _bits(source) << np.uint64(32) | _bits(sequence)
    return draw(seed, stream, _bits(hops) * np.uint64(_PER_HOP) + np.uint64(_ROUTE + k))


def below(bits: Bits, n: ArrayLike) -> NDArray[np.int64]:
    """Uniform integers in [0, n): the upper 32 bits of the 96-bit product `bits` x `n`."""
    n = _bits(n)
    low = (bits & np.uint64(0xFFFFFFFF)) * n
    return (((bits >> np.uint64(32)) * n + (low >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)


def unit(bits: Bits) -> NDArray[np.float64]:
    """Uniform reals in (0, 1)."""
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
