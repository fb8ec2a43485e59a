"""Load, stalls and queues of the links over time, in at most 100 frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import Simulation

MOST_FRAMES = 100  # an even number, because pairs of frames are merged when it is reached
MOST_LINKS = 12_000  # per frame; the links of a larger network are recorded by groups
_GROUPS = 64  # at most, of a topology that has none
_MOST_FLOWS = 5  # per link, of the packets that wait for it
KEYS = ("router", "port", "peer_router", "group", "peer_group", "kind")

Integers = NDArray[np.int64]


class LinkFrames:
    """Takes differences of the channels' counters at the ends of intervals.

    An entry of a frame is a link between routers, or all links of a router to its terminals. In a network with more
    than `MOST_LINKS` entries, it is all links of one kind from one group to another. Whenever there are `MOST_FRAMES`
    frames, neighbours are merged and the interval doubles. A run of any length thus has 50 to 100 frames, or fewer if
    it is shorter than 50 intervals. The simulation is only read. `interval` is in cycles. The first frame begins at the
    cycle `since`, at which the counters were 0; None: now.
    """

    def __init__(self, simulation: Simulation, interval: int, since: int | None = None) -> None:
        self._simulation = simulation
        routers, channels = simulation.routers(), simulation.channels()
        group, first = routers["group"].astype(np.int64), routers["first_port"].astype(np.int64)
        peer = channels["peer_router"].astype(np.int64)
        links = [channels["router"], np.where(peer < 0, -1, channels["port"].astype(np.int64)), peer]
        if (peer >= 0).sum() + len(group) > MOST_LINKS:
            group, links = _blocks(group), [np.full(len(peer), -1)] * 3
        rows = np.stack([*links, *channel_groups(group, channels), channels["kind"]], axis=1).astype(np.int64)
        self._keys, self._entry_of, self._links = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        self._entry_of = self._entry_of.reshape(-1)
        self._port = first[channels["router"]] + channels["port"].astype(np.int64)
        self._of_port = np.full(int(first.max()) + int(simulation.facts()["radix"]), -1, dtype=np.int64)
        self._of_port[self._port] = self._entry_of
        self._first_port = first
        self._flit_cycles = np.rint(channels["flit_time_ns"] / simulation.cycle_ns).astype(np.int64)
        self._classes = [f"class {one['name']}" for one in simulation.classes()]
        self._groups = int(_blocks(group).max()) + 1
        self._terminal_group = _blocks(group)[simulation.terminals()["router"].astype(np.int64)]
        self._flows = Counter[int]()  # sampled packets by entry, group of the source and group of the destination
        self._begin = self._last = simulation.now if since is None else since
        self._interval = interval
        # The end in cycles, the counts since the frame before, and the samples.
        self._frames: list[tuple[int, Integers, NDArray[np.float64]]] = []
        self._counts = self._now() * (since is None)

    @property
    def next(self) -> int:
        """The cycle at which the present frame ends."""
        return self._last + self._interval

    def look(self) -> None:
        """End the present frame if its end is reached."""
        if self._simulation.now >= self.next:
            self._take()

    def cut(self) -> None:
        """End the present frame, because a measuring window begins now, which resets the counters."""
        if self._simulation.now > self._last:
            self._take()
        self._counts = np.zeros_like(self._counts)

    def table(self, names: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
        """A row per frame and entry, including the unfinished frame. `names` are those of the jobs.

        `queue` and `uncredited` are means over samples at the ends of the original frames, per link.
        """
        if self._simulation.now > self._last or not self._frames:
            self._take()
        frames, cycle_ns = self._frames, self._simulation.cycle_ns
        ends = np.array([end for end, _, _ in frames], dtype=np.int64)
        begins = np.concatenate([[self._begin], ends])[: len(ends)]
        entries, links = len(self._keys), np.tile(self._links, len(frames))
        link_cycles = np.maximum(ends - begins, 1).repeat(entries) * links
        columns = np.tile(self._keys, (len(frames), 1)).astype(np.int32)
        counts = np.concatenate([self._counts[:, :0], *(counts for _, counts, _ in frames)], axis=1)
        samples = np.concatenate([np.empty((2, 0)), *(samples for _, _, samples in frames)], axis=1) / links
        flits, busy, stall, *parts = counts
        return {
            "begin_ns": (begins * cycle_ns).repeat(entries),
            "end_ns": (ends * cycle_ns).repeat(entries),
            **{key: columns[:, k] for k, key in enumerate(KEYS)},
            "links": links.astype(np.int32),
            "flits": flits,
            "utilisation": busy / link_cycles,
            "stall_share": stall / link_cycles,
            "queue": samples[0].astype(np.float32),
            "uncredited": samples[1].astype(np.float32),
            **{f"flits.{name}": own for name, own in zip([*self._classes, *names], parts, strict=False)},
        }

    def flows(self) -> dict[str, NDArray[Any]]:
        """The most frequent flows between groups at the front of buffers, in samples at the ends of frames.

        A row per entry and flow. The columns are those of an entry, the groups of source and destination, the sampled
        packets, and their share of all sampled packets of the entry.
        """
        codes, counts = (np.array(list(of), dtype=np.int64) for of in (self._flows, self._flows.values()))
        groups = self._groups
        entry, pair = np.divmod(codes, groups * groups)
        totals = self._sums(entry, counts)
        order = np.lexsort((pair, -counts, entry))
        entry, pair, counts = entry[order], pair[order], counts[order]
        kept = np.arange(len(entry)) - np.searchsorted(entry, entry) < _MOST_FLOWS
        entry, pair, counts = entry[kept], pair[kept], counts[kept]
        return {
            **{key: self._keys[entry, k] for k, key in enumerate(KEYS)},
            "source_group": pair // groups,
            "destination_group": pair % groups,
            "packets": counts,
            "share": counts / totals[entry] if len(entry) else np.empty(0),
        }

    def _take(self) -> None:
        counts = self._now()
        self._frames.append((self._simulation.now, counts - self._counts, self._samples()))
        self._last, self._counts = self._simulation.now, counts
        if len(self._frames) == MOST_FRAMES:
            pairs = zip(self._frames[::2], self._frames[1::2], strict=True)
            self._frames = [(end, first + second, (a + b) / 2) for (_, first, a), (end, second, b) in pairs]
            self._interval *= 2

    def _now(self) -> Integers:
        """[quantity, entry] counts since the window began, or since cycle 0 without one.

        The quantities are flits, cycles in which a link carried a flit, cycles in which a link waited for credits, and
        the flits of each traffic class and each job, if the core counts them.
        """
        ports, now = self._simulation.arrays()["ports"], self._simulation.now
        flits = ports["flits"][self._port].astype(np.int64)
        waiting = np.where(ports["stalled"], now - ports["stalled_since"].astype(np.int64), 0)
        stall = (ports["stall"].astype(np.int64) + waiting)[self._port]
        parts = [self._simulation.blame(by_class=True)["flits"].T] if self._classes else []
        parts.append(self._simulation.blame()["flits"].T)
        quantities = [flits, flits * self._flit_cycles, stall, *(own for part in parts for own in part)]
        # Rounding keeps differences of sums exact, because the counts are integers.
        return np.rint([self._sums(self._entry_of, one) for one in quantities]).astype(np.int64)

    def _samples(self) -> NDArray[np.float64]:
        """[2, entry] flits that wait in their router for a link, and buffer slots in use downstream of it.

        Also counts the flows between groups at the front of the buffers.
        """
        front, ports = self._simulation._fronts(), self._simulation.arrays()["ports"][self._port]
        entry = self._of_port[self._first_port[front["router"]] + front["port"]]
        source, destination = (self._terminal_group[front[key]] for key in ("source", "destination"))
        self._flows.update(((entry * self._groups + source) * self._groups + destination).tolist())
        uncredited = ports["load"].astype(np.int64) - ports["queued"]
        return np.stack([self._sums(entry, front["flits"]), self._sums(self._entry_of, uncredited)])

    def _sums(self, entry: Integers, values: NDArray[Any]) -> NDArray[np.float64]:
        sums: NDArray[np.float64] = np.bincount(entry, weights=values, minlength=len(self._keys)).astype(np.float64)
        return sums


def channel_groups(group: NDArray[Any], channels: Mapping[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The groups of the sending and the receiving router of each channel; -1 if a terminal receives.

    `group` is [routers], from `Simulation.routers()`; `channels` is the result of `Simulation.channels()`.
    """
    own, peer = group.astype(np.int64), channels["peer_router"]
    return own[channels["router"]], np.where(peer < 0, -1, own[peer])


def _blocks(group: Integers) -> Integers:
    """The groups of the routers; in a topology without groups, up to 64 blocks of routers."""
    routers = len(group)
    return group if group.max() > 0 else np.arange(routers) * min(_GROUPS, routers) // routers
