"""The ranks of each communicator in an MPI trace, from the arguments of MPI_Comm_split, MPI_Comm_dup and the like.

The trace prints a communicator as (handle, rank, size) when a call uses it, but not the handle that a split returns.
The first use of a handle is therefore assigned to the first unused communicator of the rank in which it has this rank
and size.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from ._mpi_calls import Call, Communicator

# Position of the communicator among the arguments of the calls that the reader plays.
POSITION = {
    **dict.fromkeys(("Send", "Ssend", "Bsend", "Rsend", "Recv"), 5),
    **dict.fromkeys(("Isend", "Issend", "Ibsend", "Irsend", "Irecv"), 5),
    **dict.fromkeys(("Send_init", "Ssend_init", "Bsend_init", "Rsend_init", "Recv_init"), 5),
    **{"Sendrecv": 10, "Sendrecv_replace": 7},
    **{"Barrier": 0, "Bcast": 4, "Reduce": 6, "Allreduce": 5, "Allgather": 6, "Allgatherv": 9, "Gather": 7},
    **{"Gatherv": 10, "Scatter": 7, "Scatterv": 10, "Alltoall": 6, "Alltoallv": 12, "Reduce_scatter": 6},
    **{"Reduce_scatter_block": 5, "Scan": 5, "Exscan": 5},
}
COLLECTIVES = list(POSITION)[list(POSITION).index("Barrier") :]
POSITION |= {f"I{name.lower()}": POSITION[name] for name in COLLECTIVES}
MAKERS = {"Comm_split", "Comm_dup", "Cart_create", "Comm_dup_with_info", "Graph_create"}


@dataclass
class _Rank:
    """The events of a rank that are not yet resolved, and its communicators."""

    events: deque[tuple[str, Call, Communicator, int, int]] = field(default_factory=deque)
    of_handle: dict[Communicator, tuple[int, ...]] = field(default_factory=dict)
    created: list[tuple[int, ...] | None] = field(default_factory=list)  # None: not yet known
    known: int = 0  # all communicators before this one are known
    # Numbers of known communicators without a handle, by (size, own rank in it): a heap
    unused: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[int, dict[str, tuple[int, ...]]] = field(default_factory=dict)  # groups by line of first use and handle


class Communicators:
    """Collects the events of every rank with `add`, then resolves them."""

    def __init__(self, ranks: int) -> None:
        self._size = ranks
        self._world = tuple(range(ranks))
        self._ranks = [_Rank() for _ in range(ranks)]
        # Splits by (ranks of the parent, number of the split): member -> (color, key, index among its created ones)
        self._splits: dict[tuple[tuple[int, ...], int], dict[int, tuple[int, int, int]]] = defaultdict(dict)
        self._count: dict[tuple[int, tuple[int, ...]], int] = defaultdict(int)

    def add(self, rank: int, calls: Iterable[Call]) -> None:
        """Record the events of a rank."""
        latest: dict[str, Communicator] = {}
        for call in calls:
            name = call.name.removeprefix("MPI_")
            if name not in POSITION and name not in MAKERS:
                continue
            maker = name in MAKERS
            comm = call.communicator(0 if maker else POSITION[name])
            if latest.get(comm.handle) != comm:
                latest[comm.handle] = comm
                self._ranks[rank].events.append(("use", call, comm, 0, 0))
            if maker:
                color, key = (call.integer(1), call.integer(2)) if name == "Comm_split" else (0, comm.rank)
                self._ranks[rank].events.append(("make", call, comm, color, key))

    def resolve(self) -> None:
        """Find the ranks of all communicators."""
        progress = True
        while progress:
            progress = False
            for me, rank in enumerate(self._ranks):
                while rank.events and self._step(me, rank):
                    rank.events.popleft()
                    progress = True
        for me, rank in enumerate(self._ranks):
            if rank.events:
                _, call, comm, _, _ = rank.events[0]
                raise call.error(
                    f"the ranks of the communicator {comm.handle}, in which rank {me} is rank {comm.rank} of "
                    f"{comm.size}, are unknown; the trace needs MPI_Comm_split, MPI_Comm_dup or MPI_Cart_create of all "
                    f"its members, and {self._size} files were read"
                )

    def uses(self, rank: int) -> dict[int, dict[str, tuple[int, ...]]]:
        """Return the handle and the ranks of each communicator of a rank, by the line of its first use."""
        return self._ranks[rank].uses

    def _step(self, me: int, rank: _Rank) -> bool:
        kind, call, comm, color, key = rank.events[0]
        if kind == "use":
            group = self._group(me, rank, comm)
            if group is None:
                return False
            rank.of_handle[comm] = group
            rank.uses[call.line] = {comm.handle: group}
            return True
        parent = rank.of_handle[comm]
        number = self._count[me, parent]
        self._count[me, parent] += 1
        split = self._splits[parent, number]
        split[me] = (color, key, len(rank.created))
        rank.created.append(None)
        if len(split) == len(parent):
            self._close(parent, split)
        return True

    def _close(self, parent: tuple[int, ...], split: dict[int, tuple[int, int, int]]) -> None:
        """All members have called a split."""
        colors: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for place, member in enumerate(parent):
            color, key, _ = split[member]
            colors[color].append((key, place, member))
        for color, members in colors.items():
            group = tuple(member for _, _, member in sorted(members))
            for place, member in enumerate(group):
                rank, number = self._ranks[member], split[member][2]
                rank.created[number] = group if color >= 0 else ()
                if color >= 0:
                    heappush(rank.unused[len(group), place], number)

    def _group(self, me: int, rank: _Rank, comm: Communicator) -> tuple[int, ...] | None:
        while rank.known < len(rank.created) and rank.created[rank.known] is not None:
            rank.known += 1
        unused = rank.unused[comm.size, comm.rank]
        # After an unknown communicator, a later one must not take its handle.
        if unused and unused[0] < rank.known:
            return rank.created[heappop(unused)]
        # Traces that were written by hand, such as Schedgen's sample `bcast`, have the same rank in all files.
        if comm.size == self._size and (comm.rank == me or not rank.created):
            return self._world
        return (me,) if comm.size == 1 else None
