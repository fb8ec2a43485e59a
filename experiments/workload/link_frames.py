"""Load and stalls of the links between groups over time, in at most 100 frames."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import Simulation

MOST_FRAMES = 100  # an even number, because pairs of frames are merged when it is reached


@dataclass
class _Frame:
    """Counts from the end of the previous frame until `end`. Arrays are [bundles of links]."""

    end: int  # cycle
    flits: NDArray[np.int64]
    busy: NDArray[np.int64]  # cycles in which a link carried a flit, summed over the links
    stall: NDArray[np.int64]  # cycles in which a link waited for credits, summed over the links
    job_flits: NDArray[np.int64]  # [bundle, job]; no columns if the core does not count flits by job

    def __add__(self, later: "_Frame") -> "_Frame":
        return _Frame(
            later.end,
            self.flits + later.flits,
            self.busy + later.busy,
            self.stall + later.stall,
            self.job_flits + later.job_flits,
        )

    def __sub__(self, earlier: "_Frame") -> "_Frame":
        return _Frame(
            self.end,
            self.flits - earlier.flits,
            self.busy - earlier.busy,
            self.stall - earlier.stall,
            self.job_flits - earlier.job_flits,
        )


class LinkFrames:
    """Takes differences of the channels' counters at the ends of intervals.

    All links of one kind from one group to another form a bundle. Whenever there are `MOST_FRAMES` frames, neighbours
    are merged and the interval doubles. A run of any length thus has 50 to 100 frames, or fewer if it is shorter than
    50 intervals. The simulation is only read.

    Args:
        simulation: A simulation whose window begins now.
        interval: Length of the first frames in cycles.
    """

    def __init__(self, simulation: Simulation, interval: int) -> None:
        self._simulation = simulation
        routers, channels = simulation.routers(), simulation.channels()
        keys = np.stack([*channel_groups(routers["group"], channels), channels["kind"].astype(np.int64)], axis=1)
        self._bundles, self._bundle_of, self._links = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        self._bundle_of = self._bundle_of.reshape(-1)
        self._begin = simulation.now
        self._interval = interval
        self._frames: list[_Frame] = []
        self._last = self._now()

    @property
    def next(self) -> int:
        """The cycle at which the present frame ends."""
        return self._last.end + self._interval

    def look(self) -> None:
        """End the present frame if its end is reached."""
        if self._simulation.now >= self.next:
            self._take()

    def table(self, names: list[str]) -> dict[str, NDArray[Any]]:
        """A row per frame and bundle of links, including the unfinished frame.

        Args:
            names: The names of the jobs, for the columns `flits.<job>`.
        """
        if self._simulation.now > self._last.end:
            self._take()
        frames, cycle_ns = self._frames, self._simulation.cycle_ns
        ends = np.array([frame.end for frame in frames], dtype=np.int64)
        begins = np.concatenate([[self._begin], ends])[: len(ends)]
        bundles, links = len(self._bundles), np.tile(self._links, len(frames))
        link_cycles = (ends - begins).repeat(bundles) * links
        columns = np.tile(self._bundles, (len(frames), 1))

        def rows(arrays: list[NDArray[Any]]) -> NDArray[Any]:
            return np.stack(arrays).reshape(-1) if arrays else np.empty(0)

        table = {
            "begin_ns": (begins * cycle_ns).repeat(bundles),
            "end_ns": (ends * cycle_ns).repeat(bundles),
            "group": columns[:, 0],
            "peer_group": columns[:, 1],
            "kind": columns[:, 2],
            "links": links,
            "flits": rows([frame.flits for frame in frames]),
            "utilisation": rows([frame.busy for frame in frames]) / link_cycles,
            "stall_share": rows([frame.stall for frame in frames]) / link_cycles,
        }
        for job in range(self._last.job_flits.shape[1]):
            table[f"flits.{names[job]}"] = rows([frame.job_flits[:, job] for frame in frames])
        return table

    def _take(self) -> None:
        now = self._now()
        self._frames.append(now - self._last)
        self._last = now
        if len(self._frames) == MOST_FRAMES:
            self._frames = [a + b for a, b in zip(self._frames[::2], self._frames[1::2], strict=True)]
            self._interval *= 2

    def _now(self) -> _Frame:
        channels, now = self._simulation.channels(), self._simulation.now
        per_channel = self._simulation.blame()["flits"]
        jobs = per_channel.shape[1]
        by_job = [self._sum(per_channel[:, job]) for job in range(jobs)]
        return _Frame(
            now,
            self._sum(channels["flits"]),
            # `utilisation` covers the window, which began with the first frame.
            self._sum(channels["utilisation"] * (now - self._begin)),
            self._sum(channels["stall_ns"] / self._simulation.cycle_ns),
            np.array(by_job, dtype=np.int64).reshape(jobs, len(self._bundles)).T,
        )

    def _sum(self, counts: NDArray[Any]) -> NDArray[np.int64]:
        # The counts are integers that the core returns as floats. Rounding keeps differences of sums exact.
        return np.rint(np.bincount(self._bundle_of, weights=counts, minlength=len(self._bundles))).astype(np.int64)


def channel_groups(group: NDArray[Any], channels: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The groups of the sending and the receiving router of each channel; -1 if a terminal receives.

    Args:
        group: [routers] group of each router, from `Simulation.routers()`.
        channels: The result of `Simulation.channels()`.
    """
    own, peer = group.astype(np.int64), channels["peer_router"]
    return own[channels["router"]], np.where(peer < 0, -1, own[peer])
