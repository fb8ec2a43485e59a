"""Point-to-point messages of a trace: their tags and sizes in the program, and messages without a partner.

MPI matches by source, communicator and tag, and keeps the order of two messages with the same source and communicator
(MPI 4.1, section 3.5). A receive from a known source therefore has a known partner, even if it takes any tag. The
program gets that partner's tag and size. A receive from any source stays a wildcard.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import ConfigError

ANY = -1  # source or tag of a receive


class Messages:
    """Collects the sends and receives of all ranks, rank by rank, in the order of the calls.

    `place` gives the text of a place, such as `trace.0.et: node 7 'send'`, from the rank and the number of `add`.
    """

    def __init__(self, place: Callable[[int, int], str]) -> None:
        self._place = place
        # operation, whether it sends, own rank, other rank, communicator, tag, bytes, place
        self._columns = tuple(array("q") for _ in range(8))

    def add(self, op: int, send: bool, rank: int, peer: int, context: int, tag: int, bytes_: int, place: int) -> None:
        """Record operation `op` of the program."""
        for column, value in zip(self._columns, (op, send, rank, peer, context, tag, bytes_, place), strict=True):
            column.append(value)

    def resolve(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
        """Return (operation, tag, size) of every message, and the number of tags.

        Tags are numbered 0, 1, ... per (communicator, tag), so that they fit into 31 bits.
        """
        op, send, rank, peer, context, tag, size, place = map(np.array, self._columns)
        if not len(op):
            return op, tag, size, 0
        sends = send.astype(bool)
        source, destination = np.where(sends, rank, peer), np.where(sends, peer, rank)
        ends, any_source = np.stack([destination, context], 1), ~sends & (source == ANY)
        # A receive from any source with any tag must not take a message of a collective, so all messages of its rank
        # and communicator get one tag.
        for d, c in np.unique(ends[any_source & (tag == ANY)], axis=0):
            tag[(destination == d) & (context == c)] = 0
        loose = set(map(tuple, ends[any_source].tolist()))
        order = np.lexsort((np.arange(len(op)), context, destination, source))
        keys = np.stack([source, destination, context], 1)[order]
        cuts = np.flatnonzero((np.diff(keys, axis=0) != 0).any(1)) + 1
        for mine in np.split(order, cuts):
            if source[mine[0]] == ANY or tuple(ends[mine[0]].tolist()) in loose:
                continue  # the core compares the totals of these messages
            self._match(mine, sends, tag, size, place, rank)
        _, number = np.unique(np.stack([context, tag], 1), axis=0, return_inverse=True)
        number = number.reshape(-1)
        return op, np.where(tag == ANY, ANY, number), size, int(number.max()) + 1

    def _match(self, mine: Any, sends: Any, tag: Any, size: Any, place: Any, rank: Any) -> None:
        """Match the messages of one source, destination and communicator."""
        out, taken = mine[sends[mine]], mine[~sends[mine]]
        if (tag[taken] == ANY).any():
            self._match_in_order(out, taken, tag, size)
        out = out[np.argsort(tag[out], kind="stable")]
        taken = taken[np.argsort(tag[taken], kind="stable")]
        if len(out) == len(taken) and (tag[out] == tag[taken]).all():
            size[taken] = size[out]  # a receive may offer more room than the message needs
            return
        wrong = next(t for t in np.unique(tag[mine]) if (tag[out] == t).sum() != (tag[taken] == t).sum())
        sent, received = out[tag[out] == wrong], taken[tag[taken] == wrong]
        more = len(sent) > len(received)
        lonely, side, other = (sent[-1], "sent", "received") if more else (received[-1], "received", "sent")
        words = f"with tag {wrong}" if wrong != ANY else "with any tag"
        raise ConfigError(
            f"{self._place(int(rank[lonely]), int(place[lonely]))}: this message has no partner: {len(sent)} messages "
            f"{words} are sent and {len(received)} are received between these ranks, so one is {side} but not {other}; "
            "check that the trace of every rank is complete and that the tags agree"
        )

    @staticmethod
    def _match_in_order(out: Any, taken: Any, tag: Any, size: Any) -> None:
        waiting: dict[int, list[int]] = defaultdict(list)  # by tag, the next message last
        for k in out[::-1]:
            waiting[int(tag[k])].append(int(k))
        position = {int(k): at for at, k in enumerate(out)}
        for k in taken:
            if tag[k] != ANY:
                found = waiting.get(int(tag[k]))
            else:
                found = min((w for w in waiting.values() if w), key=lambda w: position[w[-1]], default=None)
            if found:
                partner = found.pop()
                tag[k], size[k] = tag[partner], size[partner]
