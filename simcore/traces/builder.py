"""`ProgramBuilder`: the program of a trace, made rank by rank from computations, messages and collectives.

Tags. The messages of a trace have the tags 0, 1, ... (`messages.py`). The tags above are for collectives. Each
collective gets a range as long as its algorithm needs.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import ConfigError, available_memory
from .._program import CALC, SEND, Program
from .expansion import MOST_BYTES, MOST_NS, Expansion, Template
from .messages import ANY, Messages

MOST_RANKS = 1 << 20
_TAGS = 1 << 31
_BYTES_PER_OP = 400  # of an operation with its dependencies, in the builder, in `Program`'s arguments and in the core
_NO_TAG, _MESSAGE = -1, -2  # instead of a collective's number


@dataclass
class _Collective:
    """A collective of one group, as its first member described it."""

    name: str
    bytes: int | None
    group: int
    rank: int
    place: int
    members: int = 0
    tags: int = 1


class ProgramBuilder:
    """Builds a program. Call `begin(rank)` for every rank in ascending order, then the other methods.

    Methods return the number of the operation that ends a node. `after` lists such numbers. A collective starts when
    the operations in `after` have ended, and ends when the rank's own part has ended. The collectives of a rank in one
    group follow each other, as in a stream of NCCL or in blocking calls of MPI.

    Args:
        ranks: Number of ranks.
        collective: Algorithm of the collectives, or `auto`.
        place: Text of a place from a rank and the number that a method received as `place`.
        size_scale: Factor of the bytes of every message.
        alike: The ranks have equally many operations, so the memory is estimated after the first rank.
    """

    def __init__(
        self,
        ranks: int,
        collective: str,
        place: Callable[[int, int], str],
        *,
        size_scale: float = 1.0,
        alike: bool = False,
    ) -> None:
        if not 1 <= ranks <= MOST_RANKS:
            raise ConfigError(f"{ranks} ranks; a trace has 1 to {MOST_RANKS} ranks")
        if not 1e-9 <= size_scale <= 1e6:
            raise ConfigError(f"size_scale: {size_scale}; valid are numbers from 1e-9 to 1e6")
        self.ranks = ranks
        self._size_scale = size_scale
        self.expansion = Expansion(collective)
        self.place = place
        self._rank = -1
        self._alike = alike
        self._columns = {name: array("q") for name in ("kind", "size", "peer", "tag", "cpu", "owner")}
        self._before, self._after, self._on_start = array("q"), array("q"), array("b")
        self._at_once: set[int] = set()  # operations of this rank that count as ended when they start
        self._first_op, self._first_dependency = [0], [0]
        self._messages = Messages(place)
        self._groups: dict[tuple[int, ...], int] = {}
        self._members: list[NDArray[Any]] = []
        self._position: list[dict[int, int]] = []
        self._collectives: list[_Collective] = []
        self._numbers: dict[tuple[int, int, int], int] = {}  # (stream, group, index) -> collective
        self._next: dict[tuple[int, int], tuple[int, int]] = {}  # (stream, group) -> (index, end) of this rank
        self._sent = Counter[str]()  # bytes by kind of node

    def begin(self, rank: int) -> None:
        """Begin the operations of a rank."""
        while self._rank < rank:
            if self._rank >= 0:
                self._check_memory()
                self._first_op.append(len(self._columns["kind"]))
                self._first_dependency.append(len(self._before))
            self._rank += 1
        self._next.clear()
        self._at_once.clear()

    def group(self, ranks: Sequence[int]) -> int:
        """Return the number of a group of ranks, in the order of their positions."""
        key = tuple(ranks)
        if key in self._groups:
            return self._groups[key]
        if not key or len(set(key)) < len(key) or min(key) < 0 or max(key) >= self.ranks:
            shown = ", ".join(map(str, key[:8])) + (", ..." if len(key) > 8 else "")
            raise ConfigError(f"the group of ranks [{shown}] needs different ranks from 0 to {self.ranks - 1}")
        self._groups[key] = len(self._members)
        self._members.append(np.array(key, np.int64))
        self._position.append({rank: at for at, rank in enumerate(key)})
        return self._groups[key]

    def calc(self, ns: int, after: Sequence[int] = (), cpu: int = 0, place: int = 0) -> int:
        """Add a computation. Computations of one processor `cpu` of a rank follow each other."""
        if not 0 <= ns <= MOST_NS:
            raise self._error(place, f"a computation of {ns} ns; valid are 0 to {MOST_NS} ns")
        return self._op(CALC, ns, 0, cpu, _NO_TAG, after)

    def message(
        self,
        kind: int,
        peer: int,
        bytes_: int,
        tag: int,
        after: Sequence[int] = (),
        cpu: int = 0,
        context: int = 0,
        place: int = 0,
        blocking: bool = True,
    ) -> int:
        """Add a message to or from rank `peer`. A send matches a receive with the same context and tag.

        Args:
            kind: `SEND` or `RECEIVE`.
            peer: The other rank. A receive may have `messages.ANY` here and as tag.
            bytes_: Size.
            tag: Number that a receive must match.
            after: Operations that end before it starts.
            cpu: Processor that it occupies.
            context: Number of the communicator.
            place: Number of the place for messages.
            blocking: False: operations that wait for a send start when it starts, and never wait for the receiver.
        """
        least, word = (0, "send to") if kind == SEND else (ANY, "receive from")
        if not least <= peer < self.ranks:
            raise self._error(place, f"{word} rank {peer}; the trace has the ranks 0 to {self.ranks - 1}")
        if not 0 <= bytes_ <= MOST_BYTES or not least <= tag < 1 << 62:
            raise self._error(place, f"{word} rank {peer}: {bytes_} bytes with tag {tag} are out of range")
        op = self._op(kind, bytes_, peer, cpu, _MESSAGE, after)
        self._messages.add(self._first_op[-1] + op, kind == SEND, self._rank, peer, context, tag, bytes_, place)
        if kind == SEND:
            self._sent["send"] += bytes_
        if not blocking:
            self._at_once.add(op)
        return op

    def join(self, after: Sequence[int], cpu: int = 0) -> int:
        """Return an operation that ends when all of `after` have ended."""
        return after[0] if len(after) == 1 else self._op(CALC, 0, 0, cpu, _NO_TAG, after)

    def collective(
        self,
        name: str,
        bytes_: int,
        group: int,
        after: Sequence[int] = (),
        *,
        root: int = 0,
        cpu: int = 0,
        stream: int = 0,
        place: int = 0,
        own: Template | None = None,
    ) -> int:
        """Add this rank's part of a collective.

        Args:
            name: Collective of the core or of `expansion.DIRECT`, or any other name together with `own`.
            bytes_: Size as `Expansion.of` defines it.
            group: Number of the group.
            after: Operations that end before it starts.
            root: Position of the root in the group.
            cpu: Processor that the messages occupy.
            stream: Collectives of one stream and group have the same order on all ranks.
            place: Number of the place for messages.
            own: Operations of this member, if they depend on more than its position.
        """
        members, me = self._members[group], self._position[group].get(self._rank)
        if me is None:
            raise self._error(place, f"rank {self._rank} is not a member of the group of its {name}")
        if not 0 <= bytes_ <= MOST_BYTES or not 0 <= root < len(members):
            raise self._error(place, f"{name} of {bytes_} bytes with root {root}; valid are 0 to {MOST_BYTES} bytes")
        index, last = self._next.get((stream, group), (0, -1))
        after = [*after, last] if last >= 0 else list(after)
        number = self._known(name, bytes_ if own is None else None, group, (stream, group, index), place)
        if len(members) == 1:
            end = self.join(after, cpu)
        else:
            made = own or self.expansion.of(name, bytes_, len(members), (me - root) % len(members))
            end = self._expand(made, np.roll(members, -root) if own is None else members, number, after, cpu)
            self._sent[name] += made.sent
        self._next[stream, group] = (index + 1, end)
        return end

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the collectives by name, the sum of their sizes, and the bytes that all ranks send by kind."""
        calls, sizes = Counter[str](), Counter[str]()
        for known in self._collectives:
            calls[known.name] += 1
            sizes[known.name] += known.bytes or 0
        return {"collectives": dict(calls), "bytes": dict(sizes), "sent_bytes": dict(self._sent)}

    def program(self) -> Program:
        """Return the program."""
        self.begin(self.ranks)
        self._check_members()
        operations, tags, sizes, used = self._messages.resolve()
        ops = {name: np.array(column) for name, column in self._columns.items()}
        ops["tag"][operations], ops["size"][operations] = tags, sizes
        collective = ops["owner"] >= 0
        bases = self._tag_bases(used)
        ops["tag"][collective] += bases[ops["owner"][collective]]
        if self._size_scale != 1:
            message = ops["kind"] != CALC
            ops["size"][message] = np.maximum(1, np.rint(ops["size"][message] * self._size_scale))
        ranks = np.arange(self.ranks)
        return Program(
            self.ranks,
            op_rank=np.repeat(ranks, np.diff(self._first_op)),
            op_kind=ops["kind"],
            op_size=ops["size"],
            op_peer=ops["peer"],
            op_tag=ops["tag"],
            op_cpu=ops["cpu"],
            before=np.array(self._before),
            after=np.array(self._after),
            on_start=np.array(self._on_start),
            dependency_rank=np.repeat(ranks, np.diff(self._first_dependency)),
        )

    def _error(self, place: int, text: str) -> ConfigError:
        return ConfigError(f"{self.place(self._rank, place)}: {text}")

    def _op(self, kind: int, size: int, peer: int, cpu: int, owner: int, after: Sequence[int]) -> int:
        columns = self._columns
        op = len(columns["kind"]) - self._first_op[-1]
        for name, value in zip(columns, (kind, size, peer, 0, cpu, owner), strict=True):
            columns[name].append(value)
        self._depend(op, after)
        return op

    def _depend(self, op: int, after: Sequence[int]) -> None:
        self._before.extend(after)
        self._after.extend([op] * len(after))
        self._on_start.extend(int(each in self._at_once) for each in after)

    def _known(self, name: str, bytes_: int | None, group: int, key: tuple[int, int, int], place: int) -> int:
        """Number of the collective. All members must call the same one."""
        number = self._numbers.setdefault(key, len(self._collectives))
        if number == len(self._collectives):
            self._collectives.append(_Collective(name, bytes_, group, self._rank, place))
        first = self._collectives[number]
        if (first.name, first.bytes) != (name, bytes_):
            mine, theirs = (
                f"{n} of {b} bytes" if b is not None else n for n, b in ((name, bytes_), (first.name, first.bytes))
            )
            raise self._error(
                place,
                f"rank {self._rank} calls {mine} as number {key[2] + 1} of its group, but rank {first.rank} calls "
                f"{theirs} ({self.place(first.rank, first.place)}); the members need the same order of collectives",
            )
        first.members += 1
        return number

    def _expand(self, made: Template, ranks: NDArray[Any], number: int, after: list[int], cpu: int) -> int:
        """Append a template. Returns the operation that ends it."""
        if not len(made.kind):
            return self.join(after, cpu)
        first, last = made.first, made.last
        if len(after) > 1 and len(first) > 1:
            after = [self.join(after, cpu)]
        base = len(self._columns["kind"]) - self._first_op[-1]
        calc = made.kind == CALC
        values = {
            "kind": made.kind,
            "size": made.size,
            "peer": np.where(calc, 0, ranks[np.where(calc, 0, made.peer)]),
            "tag": made.tag,
            "cpu": np.full(len(calc), cpu, np.int64),
            "owner": np.where(calc, _NO_TAG, number),
        }
        for name, value in values.items():
            self._columns[name].frombytes(np.ascontiguousarray(value, np.int64).tobytes())
        self._before.frombytes((made.before + base).astype(np.int64).tobytes())
        self._after.frombytes((made.after + base).astype(np.int64).tobytes())
        self._on_start.frombytes(bytes(len(made.before)))
        for op in first:
            self._depend(base + op, after)
        known = self._collectives[number]
        known.tags = max(known.tags, made.tags)
        return self.join([base + op for op in last], cpu)

    def _check_memory(self) -> None:
        """Refuse operations that need more than the free memory, with those of the ranks to come if all are alike."""
        done = len(self._columns["kind"])
        operations = done * self.ranks if self._alike and self._rank == 0 else done
        need, free = operations * _BYTES_PER_OP, available_memory()
        if need > free:
            raise ConfigError(
                f"the trace has more than {operations:,} operations after the expansion of its collectives, which need "
                f"{need / 1e9:.1f} GB, but {free / 1e9:.1f} GB of memory are free; use fewer ranks"
            )

    def _check_members(self) -> None:
        for known in self._collectives:
            members = self._members[known.group]
            if known.members < len(members):
                raise ConfigError(
                    f"{self.place(known.rank, known.place)}: {known.members} of the {len(members)} members "
                    f"call this {known.name}; the trace of every member must have it"
                )

    def _tag_bases(self, used: int) -> NDArray[Any]:
        ends = used + np.cumsum([0, *(known.tags for known in self._collectives)])
        if ends[-1] > _TAGS:
            raise ConfigError(f"the collectives need {ends[-1] - used:,} tags; {_TAGS - used:,} are free")
        return ends[:-1]
