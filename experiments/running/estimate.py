"""The time that a sweep has left, from the speed of its own runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PICTURE_SECONDS = 2.0  # a sweep's picture and report, with the import of Matplotlib
_LEAST_SECONDS = 0.05  # of a run, for files and start; a run of next to nothing takes as long


@dataclass
class Speed:
    """The time that runs of one kind have taken so far.

    Args:
        seconds: That the parts which are done took, without the start of a worker.
        cost: The cost of these parts.
    """

    seconds: float = 0.0
    cost: float = 0.0


@dataclass
class Estimate:
    """Learns how long runs take per cost: for those that are alike, and for all where alike ones are still unknown.

    Args:
        groups: The groups of every run, equal for runs that are alike.
        costs: The costs of every run.
        workers: Runs at the same time.
        after: Seconds of work behind the last run: the picture and the report.
    """

    groups: Sequence[str]
    costs: Sequence[float]
    workers: int
    after: float = 0.0
    _ended: dict[str, Speed] = field(default_factory=dict)
    _taken: dict[int, float] = field(default_factory=dict)

    def ended(self, run: int, seconds: float) -> None:
        """Note the seconds that a whole run took."""
        self._taken[run] = seconds
        speed = self._ended.setdefault(self.groups[run], Speed())
        speed.seconds, speed.cost = speed.seconds + seconds, speed.cost + self.costs[run]

    def left(self, active: Mapping[int, tuple[float, float]]) -> float | None:
        """Seconds until all runs have ended; None while nothing is known.

        Args:
            active: The part that is done and the seconds that it took, of runs that have reported.
        """
        speeds = {group: Speed(speed.seconds, speed.cost) for group, speed in self._ended.items()}
        for run, (part, seconds) in active.items():
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
            part, seconds = active.get(run, (0.0, 0.0))
            if part > 0.05:  # the run's own speed says most of its rest
                remaining.append(seconds * (1 - part) / part)
                continue
            speed = speeds.get(self.groups[run], Speed())
            rate = speed.seconds / speed.cost if speed.cost > 0 else overall
            remaining.append(max(_LEAST_SECONDS, rate * cost - seconds))
        return max(sum(remaining) / self.workers, max(remaining, default=0.0)) + self.after
