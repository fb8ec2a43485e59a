"""The remaining time of a sweep, estimated from the speed of its own runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..terminal.progress import LEAST_PART

PICTURE_SECONDS = 2.0  # for the picture and the report of a sweep, including the import of Matplotlib
_LEAST_SECONDS = 0.05  # per run, for its start and its files


@dataclass
class Speed:
    """The time that runs of one kind have taken so far.

    Args:
        seconds: Time for the finished parts, without the start of a worker.
        cost: The cost of these parts.
    """

    seconds: float = 0.0
    cost: float = 0.0


@dataclass
class Estimate:
    """Measures the time per unit of cost for each group of similar runs. A group without a measurement uses the mean.

    Args:
        groups: The group of every run.
        costs: The cost of every run.
        workers: Number of parallel runs.
        after: Seconds of work after the last run, for the picture and the report.
    """

    groups: Sequence[str]
    costs: Sequence[float]
    workers: int
    after: float = 0.0
    _ended: dict[str, Speed] = field(default_factory=dict)
    _taken: dict[int, float] = field(default_factory=dict)

    def ended(self, run: int, seconds: float) -> None:
        """Record the seconds that a whole run took."""
        self._taken[run] = seconds
        speed = self._ended.setdefault(self.groups[run], Speed())
        speed.seconds, speed.cost = speed.seconds + seconds, speed.cost + self.costs[run]

    def left(self, active: Mapping[int, tuple[float, float]]) -> float | None:
        """The expected seconds until all runs have ended, or None before the first measurement.

        Args:
            active: Finished fraction and elapsed seconds of each run in progress that has reported.
        """
        speeds = {group: Speed(speed.seconds, speed.cost) for group, speed in self._ended.items()}
        measured = {run: (part, seconds) for run, (part, seconds) in active.items() if part >= LEAST_PART}
        for run, (part, seconds) in measured.items():
            speed = speeds.setdefault(self.groups[run], Speed())
            speed.seconds, speed.cost = speed.seconds + seconds, speed.cost + part * self.costs[run]
        known = [speed for speed in speeds.values() if speed.cost > 0]
        if not known:
            return None
        overall = sum(speed.seconds for speed in known) / sum(speed.cost for speed in known)
        remaining = []
        for run, cost in enumerate(self.costs):
            if run in self._taken:
                continue
            if run in measured:  # the run's own speed is the best estimate
                part, seconds = measured[run]
                remaining.append(seconds * (1 - part) / part)
                continue
            _, seconds = active.get(run, (0.0, 0.0))
            speed = speeds.get(self.groups[run], Speed())
            rate = speed.seconds / speed.cost if speed.cost > 0 else overall
            remaining.append(max(_LEAST_SECONDS, rate * cost - seconds))
        return max(sum(remaining) / self.workers, max(remaining, default=0.0)) + self.after
