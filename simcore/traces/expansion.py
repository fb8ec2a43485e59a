"""Collectives as operations of one member: the core's algorithms, and a few operations that the core has no name for.

A `Template` holds positions in the group instead of ranks. It is made once per (collective, bytes, size, position).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from .._core import ConfigError, collective_algorithms, collective_operations
from .._program import RECEIVE, SEND

Ints = NDArray[np.int64]
MOST_BYTES = 1 << 40  # of a message or vector, the limit of the motifs, too
MOST_NS = 1 << 50  # of a computation: 13 days, the limit of the motifs, too
_CACHED = 256  # templates


@dataclass(frozen=True)
class Template:
    """The operations of one member of a collective.

    Args:
        kind, size, peer, tag: [operations] as in `Program`; `peer` is a position in the group, and tags count from 0.
        before, after: [dependencies] numbers of operations.
    """

    kind: Ints
    size: Ints
    peer: Ints
    tag: Ints
    before: Ints
    after: Ints

    @cached_property
    def first(self) -> list[int]:
        """Operations that depend on no other operation."""
        return [int(op) for op in np.setdiff1d(np.arange(len(self.kind)), self.after)]

    @cached_property
    def last(self) -> list[int]:
        """Operations that no other operation depends on."""
        return [int(op) for op in np.setdiff1d(np.arange(len(self.kind)), self.before)]

    @cached_property
    def sent(self) -> int:
        """Bytes that the member sends."""
        return int(self.size[self.kind == SEND].sum())

    @cached_property
    def tags(self) -> int:
        """Number of tags."""
        return int(self.tag.max(initial=0)) + 1


def template(messages: Sequence[tuple[int, int, int]], chain: bool = False) -> Template:
    """Return a template of messages (kind, peer, bytes), all at once or, with `chain`, one after another."""
    columns = np.array(messages, np.int64).reshape(-1, 3)
    steps = np.arange(len(columns) if chain else 0)
    return Template(
        kind=columns[:, 0],
        size=columns[:, 2],
        peer=columns[:, 1],
        tag=np.zeros(len(columns), np.int64),
        before=steps[:-1],
        after=steps[1:],
    )


def _gather(bytes_: int, size: int, me: int) -> Template:
    return template([(RECEIVE, k, bytes_) for k in range(1, size)] if me == 0 else [(SEND, 0, bytes_)])


def _scatter(bytes_: int, size: int, me: int) -> Template:
    return template([(SEND, k, bytes_) for k in range(1, size)] if me == 0 else [(RECEIVE, 0, bytes_)])


def _scan(bytes_: int, size: int, me: int) -> Template:
    before = [(RECEIVE, me - 1, bytes_)] if me > 0 else []
    return template([*before, *([(SEND, me + 1, bytes_)] if me < size - 1 else [])], chain=True)


# Operations that the core has no collective for. The first member is the root, which exchanges a message with every
# other member. `scan` passes partial results from member to member.
DIRECT: dict[str, Callable[[int, int, int], Template]] = {"gather": _gather, "scatter": _scatter, "scan": _scan}


def exchange(sends: Sequence[int], receives: Sequence[int], me: int) -> Template:
    """Return a template that sends `sends[k]` bytes to member k and receives `receives[k]` bytes, all at once.

    Empty messages are left out.
    """
    if (largest := max(*sends, *receives)) > MOST_BYTES:
        raise ConfigError(f"a message of {largest} bytes; valid are 0 to {MOST_BYTES} bytes")
    taken = [(RECEIVE, k, bytes_) for k, bytes_ in enumerate(receives) if bytes_ > 0 and k != me]
    return template(taken + [(SEND, k, bytes_) for k, bytes_ in enumerate(sends) if bytes_ > 0 and k != me])


class Expansion:
    """Makes and keeps the templates of one trace.

    `of(name, bytes, size, me)` returns the operations of member `me` of `size` members. The name is a collective of the
    core or a key of `DIRECT`. The bytes are the vector (bcast, reduce, allreduce, reduce_scatter, scan), the share of a
    rank (allgather, gather, scatter), or the message (alltoall, barrier).

    A collective that lacks the named `algorithm` uses `auto`.
    """

    def __init__(self, algorithm: str) -> None:
        self._algorithm = algorithm
        self._replaced: set[str] = set()  # collectives that lack the algorithm
        self._valid = collective_algorithms()
        self.of = lru_cache(_CACHED)(self._of)
        names = sorted(set().union(*self._valid.values()))
        if algorithm not in names:
            raise ConfigError(f"collective: there is no algorithm '{algorithm}'; valid values: {', '.join(names)}")

    def _of(self, name: str, bytes_: int, size: int, me: int) -> Template:
        if name in DIRECT:
            return DIRECT[name](bytes_, size, me)
        algorithm = self._algorithm
        if algorithm not in self._valid[name]:
            self._replaced.add(name)
            algorithm = "auto"
        return Template(**collective_operations(name, bytes_, algorithm, size, me))

    def notes(self) -> list[str]:
        """Return a sentence about the collectives that lack the algorithm, if there are any."""
        names = ", ".join(sorted(self._replaced))
        return [f"The algorithm {self._algorithm} does not exist for {names}, which use auto."] if names else []
