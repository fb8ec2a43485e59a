"""Load and stalls of the links between groups over time, in at most 100 frames."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import Simulation

MOST_FRAMES = 100  # an even number, because pairs of frames are merged when it is reached


class LinkFrames:
    """Takes differences of the channels' counters at the ends of intervals.

    All links of one kind from one group to another form a bundle. Whenever there are `MOST_FRAMES` frames, neighbours
    are merged and the interval doubles. A run of any length thus has 50 to 100 frames, or fewer if it is shorter than
    50 intervals. The simulation, whose window begins now, is only read. `interval` is in cycles.
    """

    def __init__(self, simulation: Simulation, interval: int) -> None:
        self._simulation = simulation
        routers, channels = simulation.routers(), simulation.channels()
        keys = np.stack([*channel_groups(routers["group"], channels), channels["kind"].astype(np.int64)], axis=1)
        self._bundles, self._bundle_of, self._links = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        self._bundle_of = self._bundle_of.reshape(-1)
        self._begin = self._last = simulation.now
        self._interval = interval
        self._frames: list[tuple[int, NDArray[np.int64]]] = []  # end in cycles, and the counts since the frame before
        self._counts = self._now()

    @property
    def next(self) -> int:
        """The cycle at which the present frame ends."""
        return self._last + self._interval

    def look(self) -> None:
        """End the present frame if its end is reached."""
        if self._simulation.now >= self.next:
            self._take()

    def table(self, names: list[str]) -> dict[str, NDArray[Any]]:
        """A row per frame and bundle of links, including the unfinished frame. `names` are those of the jobs."""
        if self._simulation.now > self._last:
            self._take()
        frames, cycle_ns = self._frames, self._simulation.cycle_ns
        ends = np.array([end for end, _ in frames], dtype=np.int64)
        begins = np.concatenate([[self._begin], ends])[: len(ends)]
        bundles, links = len(self._bundles), np.tile(self._links, len(frames))
        link_cycles = (ends - begins).repeat(bundles) * links
        columns = np.tile(self._bundles, (len(frames), 1))

        flits, busy, stall, *of_jobs = np.concatenate([self._counts[:, :0], *(counts for _, counts in frames)], axis=1)
        return {
            "begin_ns": (begins * cycle_ns).repeat(bundles),
            "end_ns": (ends * cycle_ns).repeat(bundles),
            "group": columns[:, 0],
            "peer_group": columns[:, 1],
            "kind": columns[:, 2],
            "links": links,
            "flits": flits,
            "utilisation": busy / link_cycles,
            "stall_share": stall / link_cycles,
            **{f"flits.{name}": own for name, own in zip(names, of_jobs, strict=False)},
        }

    def _take(self) -> None:
        counts = self._now()
        self._frames.append((self._simulation.now, counts - self._counts))
        self._last, self._counts = self._simulation.now, counts
        if len(self._frames) == MOST_FRAMES:
            pairs = zip(self._frames[::2], self._frames[1::2], strict=True)
            self._frames = [(end, first + second) for (_, first), (end, second) in pairs]
            self._interval *= 2

    def _now(self) -> NDArray[np.int64]:
        """[quantity, bundle of links] counts from the beginning, summed over the links of a bundle.

        The quantities are flits, cycles in which a link carried a flit, cycles in which a link waited for credits, and
        the flits of each job, if the core counts them.
        """
        channels = self._simulation.channels()
        quantities = [
            channels["flits"],
            # `utilisation` covers the window, which began with the first frame.
            channels["utilisation"] * (self._simulation.now - self._begin),
            channels["stall_ns"] / self._simulation.cycle_ns,
            *self._simulation.blame()["flits"].T,
        ]
        sums = [np.bincount(self._bundle_of, weights=one, minlength=len(self._bundles)) for one in quantities]
        # The counts are integers that the core returns as floats. Rounding keeps differences of sums exact.
        return np.rint(sums).astype(np.int64)


def channel_groups(group: NDArray[Any], channels: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The groups of the sending and the receiving router of each channel; -1 if a terminal receives.

    `group` is [routers], from `Simulation.routers()`; `channels` is the result of `Simulation.channels()`.
    """
    own, peer = group.astype(np.int64), channels["peer_router"]
    return own[channels["router"]], np.where(peer < 0, -1, own[peer])
