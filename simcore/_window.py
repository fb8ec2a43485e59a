"""A measuring window, and the judgement whether the network had settled in it. All commands and `play` use it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import Simulation

_PARTS = 10  # of a window, for the trend of the latency
_LEAST_PACKETS = 1_000  # in each half of the window; the means of fewer packets differ by chance
_DRIFT = 0.1  # of the latency, from one half of the window to the other, which is never chance
_SMALL_DRIFT = 0.02  # the same with a trend
_TREND = 0.8  # correlation of latency and time; 10 independent values exceed it with probability 0.0055
_BEYOND_CHANCE = 3.0  # standard deviations
_SATURATED = 0.97  # a network that accepts a smaller fraction of the offered load is saturated


def measure_window(simulation: Simulation, cycles: int, advance: Callable[[int], Any]) -> dict[str, float | None]:
    """Open a measuring window, run it, and return the fields for `cautions_of`, which are also fields of a result.

    The simulation has traffic, and its warm-up is over. `advance` runs it for a number of cycles.
    """
    simulation.begin_window()
    seen = [(0.0, 0.0)]  # packets and the sum of their latencies since the beginning of the window
    for k in range(_PARTS):
        advance(cycles * (k + 1) // _PARTS - cycles * k // _PARTS)
        numbers = simulation.statistics()
        packets = numbers["packets_delivered"]
        seen.append((packets, packets * numbers["packet_latency_mean_ns"] if packets else 0.0))
    return trend_of(seen)


def trend_of(seen: Iterable[tuple[float, float]]) -> dict[str, float | None]:
    """The mean latency of each half of a window in ns, and the correlation of the latency with time.

    All are None with fewer than 1,000 packets in a half. `seen`: [parts + 1] packets and the sum of their latencies in
    ns since the beginning, for an even number of parts.
    """
    packets, sums = np.array(list(seen), dtype=float).T
    middle = len(packets) // 2
    halves: list[float | None] = [None, None]
    trend = None
    if min(packets[middle], packets[-1] - packets[middle]) >= _LEAST_PACKETS:
        parts = ((packets[middle], sums[middle]), (packets[-1] - packets[middle], sums[-1] - sums[middle]))
        halves = [float(total / count) for count, total in parts]
        counts = np.diff(packets)
        if len(counts) > 2 and counts.min() > 0:
            means = np.diff(sums) / counts
            trend = float(np.corrcoef(means, np.arange(len(means)))[0, 1]) if np.ptp(means) else 0.0
    names = ("packet_latency_first_half_ns", "packet_latency_second_half_ns", "packet_latency_trend")
    return dict(zip(names, (*halves, trend), strict=True))


def cautions_of(numbers: Mapping[str, Any]) -> dict[str, str]:
    """The warnings about a window by kind: `saturated`, or `drift` if the latency had not settled.

    Args:
        numbers: The statistics of the window, with the fields of `measure_window`.
    """
    if is_saturated([numbers]):
        return {
            "saturated": f"the network is saturated (accepted {numbers['accepted_load']:.3f} of "
            f"{numbers['offered_load']:.3f}), so its latency depends on the window; use a lower load, "
            "or search for the highest one with flitgym saturate"
        }
    first, second = (numbers.get(f"packet_latency_{which}_half_ns") for which in ("first", "second"))
    if first is None or second is None:
        return {}
    change, trend = second / first - 1, numbers.get("packet_latency_trend") or 0.0
    if abs(change) <= _DRIFT and not (abs(change) > _SMALL_DRIFT and abs(trend) > _TREND):
        return {}
    state = "is still filling" if change > 0 else "has not settled yet"
    return {
        "drift": f"the mean latency is {first:,.0f} ns in the first half of the window and {second:,.0f} ns in the "
        f"second half: the network {state}; use a longer warm-up (run.warmup_ns)"
    }


def is_saturated(runs: Iterable[Mapping[str, Any]]) -> bool:
    """Whether some runs together accepted less than 97 % of the offered load. Runs of jobs are never saturated.

    The number of packets in a short window or at a low load varies by chance. The missing part must also exceed three
    standard deviations of a Poisson count.

    Args:
        runs: Results or rows.
    """
    known = [run for run in runs if run.get("accepted_load") is not None and run.get("offered_load") is not None]
    offered = sum(run["offered_load"] for run in known)
    missing = offered - sum(run["accepted_load"] for run in known)
    packets = sum(_packets(run) for run in known)
    return bool(missing > offered * max(1 - _SATURATED, _BEYOND_CHANCE / math.sqrt(max(packets, 1))))


def _packets(run: Mapping[str, Any]) -> float:
    """The packets that were generated in the window or, if there are more, delivered; unknown counts as infinite.

    Flows differ more than packets, so the number of equal flows counts instead.
    """
    if flows := run.get("flows.equal_flows") or (run.get("flows") or {}).get("equal_flows"):
        return float(flows)
    delivered = run.get("packets_delivered")
    return math.inf if delivered is None else max(delivered, run.get("packets_generated") or 0)
