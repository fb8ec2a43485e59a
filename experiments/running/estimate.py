"""The remaining time of a sweep, estimated from the speed of its own runs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..terminal.progress import LEAST_PART

_LEAST_SECONDS = 0.05  # per run, for its start and its files


class Estimate:
    """Measures the time per unit of cost for each group of similar runs. A group without a measurement uses the mean.

    Args:
        groups: The group of every run.
        costs: The cost of every run.
        workers: Number of parallel runs.
    """

    def __init__(self, groups: Sequence[str], costs: Sequence[float], workers: int) -> None:
        self._groups, self._costs, self._workers = groups, costs, workers
        self._ended: dict[int, float] = {}

    def ended(self, run: int, seconds: float) -> None:
        """Record the seconds that a whole run took."""
        self._ended[run] = seconds

    def left(self, active: Mapping[int, tuple[float, float]]) -> float | None:
        """The expected seconds until all runs have ended, or None before the first measurement.

        Args:
            active: Finished fraction and elapsed seconds of each run in progress that has reported.
        """
        measured = {run: (1.0, seconds) for run, seconds in self._ended.items()}
        measured |= {run: (part, seconds) for run, (part, seconds) in active.items() if part >= LEAST_PART}
        seconds_of: defaultdict[str, float] = defaultdict(float)
        cost_of: defaultdict[str, float] = defaultdict(float)
        for run, (part, seconds) in measured.items():
            seconds_of[self._groups[run]] += seconds
            cost_of[self._groups[run]] += part * self._costs[run]
        if not sum(cost_of.values()):
            return None
        mean = sum(seconds_of.values()) / sum(cost_of.values())
        remaining = []
        for run, (group, cost) in enumerate(zip(self._groups, self._costs, strict=True)):
            if run in measured:  # the run's own speed is the best estimate
                part, seconds = measured[run]
                remaining.append(seconds * (1 - part) / part)
            else:
                rate = seconds_of[group] / cost_of[group] if cost_of[group] else mean
                remaining.append(max(_LEAST_SECONDS, rate * cost - active.get(run, (0.0, 0.0))[1]))
        return max(sum(remaining) / self._workers, *remaining)
