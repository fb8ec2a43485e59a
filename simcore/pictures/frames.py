"""Load, stalls and queues of the links over time, in at most 100 frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import Simulation

MOST_FRAMES = 100  # an even number, because pairs of frames are merged when it is reached
MOST_LINKS = 12_000  # per frame; the links of a larger network are recorded by groups
_GROUPS = 64  # at most, of a topology that has none
_MOST_FLOWS = 5  # per link, of the packets that wait for it
_UNROUTED = 0xFFFF  # InputVc::out_vc of a packet without a route
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
        rows = _entries(group, channels)
        self.by_link = len(np.unique(rows, axis=0)) <= MOST_LINKS
        if not self.by_link:
            group = _blocks(group)
            own, peer = channel_groups(group, channels)
            none = np.full(len(own), -1)
            rows = np.stack([none, none, none, own, peer, channels["kind"].astype(np.int64)], axis=1)
        self._keys, self._entry_of, self._links = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        self._entry_of = self._entry_of.reshape(-1)
        self._port = first[channels["router"]] + channels["port"].astype(np.int64)
        self._of_port = np.full(int(first.max()) + int(simulation.facts()["radix"]), -1, dtype=np.int64)
        self._of_port[self._port] = self._entry_of
        self._first_port = first
        self._flit_cycles = np.rint(channels["flit_time_ns"] / simulation.cycle_ns).astype(np.int64)
        self._groups = int(_blocks(group).max()) + 1
        self._terminal_group = _blocks(group)[simulation.terminals()["router"].astype(np.int64)]
        self._flows: tuple[Integers, Integers] = (np.empty(0, np.int64), np.empty(0, np.int64))
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
        flits, busy, stall, *of_jobs = counts
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
            **{f"flits.{name}": own for name, own in zip(names, of_jobs, strict=False)},
        }

    def flows(self) -> dict[str, NDArray[Any]]:
        """The most frequent flows between groups at the front of buffers, in samples at the ends of frames.

        A row per entry and flow. The columns are those of an entry, the groups of source and destination, the sampled
        packets, and their share of all sampled packets of the entry.
        """
        codes, counts = self._flows
        groups = self._groups
        entry, pair = np.divmod(codes, groups * groups)
        totals = np.bincount(entry, weights=counts, minlength=len(self._keys))
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
        the flits of each job, if the core counts them.
        """
        ports, now = self._simulation.arrays()["ports"], self._simulation.now
        flits = ports["flits"][self._port].astype(np.int64)
        waiting = np.where(ports["stalled"], now - ports["stalled_since"].astype(np.int64), 0)
        stall = (ports["stall"].astype(np.int64) + waiting)[self._port]
        return self._sums([flits, flits * self._flit_cycles, stall, *self._simulation.blame()["flits"].T])

    def _samples(self) -> NDArray[np.float64]:
        """[2, entry] flits that wait in their router for a link, and buffer slots in use downstream of it.

        Also counts the flows between groups at the front of the buffers.
        """
        arrays, groups = self._simulation.arrays(), self._groups
        ports, inputs = arrays["ports"], arrays["input_vcs"]
        routed = np.flatnonzero(inputs["out_vc"] != _UNROUTED)
        vcs, radix = self._radix(len(inputs))
        output = routed // vcs // radix * radix + inputs["out_port"][routed]
        waiting = np.bincount(output, weights=inputs["count"][routed], minlength=len(self._of_port))
        queued = ports["queued"].astype(np.float64)
        uncredited = ports["load"].astype(np.float64) - queued

        front = self._simulation._fronts()
        entry = self._of_port[self._first_port[front["router"]] + front["port"]]
        source, destination = (self._terminal_group[front[key]] for key in ("source", "destination"))
        code = (entry * groups + source) * groups + destination
        codes, counts = self._flows
        merged, at = np.unique(np.concatenate([codes, code]), return_inverse=True)
        weights = np.concatenate([counts, np.ones(len(code), np.int64)])
        self._flows = merged, np.bincount(at, weights=weights, minlength=len(merged)).astype(np.int64)
        return np.stack(
            [
                np.bincount(self._entry_of, weights=one[self._port], minlength=len(self._keys))
                for one in (waiting + queued[: len(waiting)], uncredited)
            ]
        )

    def _radix(self, input_vcs: int) -> tuple[int, int]:
        """The VCs of a port and the ports of a router in the core's arrays, which are powers of two."""
        radix = int(self._first_port[1]) if len(self._first_port) > 1 else len(self._of_port)
        return input_vcs // (len(self._first_port) * radix), radix

    def _sums(self, quantities: Sequence[NDArray[Any]]) -> Integers:
        sums = [np.bincount(self._entry_of, weights=one, minlength=len(self._keys)) for one in quantities]
        # Rounding keeps differences of sums exact, because the counts are integers.
        return np.rint(sums).astype(np.int64)


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


def _entries(group: NDArray[Any], channels: Mapping[str, NDArray[Any]]) -> Integers:
    """[channels, keys] the entry of each channel if links are not merged by groups."""
    peer = channels["peer_router"].astype(np.int64)
    port = np.where(peer < 0, -1, channels["port"].astype(np.int64))
    own, other = channel_groups(group, channels)
    return np.stack([channels["router"], port, peer, own, other, channels["kind"]], axis=1).astype(np.int64)
