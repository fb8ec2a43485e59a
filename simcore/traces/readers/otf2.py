"""MPI traces in the Open Trace Format 2, as Score-P writes them: a folder with `traces.otf2`, definitions and events.

Eschweiler et al., "Open Trace Format 2", ParCo 2011. The sizes of collectives are those of Score-P
(`scorep_mpi_coll.inc.c`): the bytes that a rank exchanges with all members, including itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..._core import ConfigError
from ..._program import RECEIVE, SEND
from ..builder import ProgramBuilder
from ..files import begin_of, trace_files
from ..reader import Reader, Trace, TraceOptions

_ANCHOR = b"\x03BOTF2"
_CALLS = ("MpiSend", "MpiIsend", "MpiRecv", "MpiCollectiveEnd")
_REQUESTS = ("MpiIsend", "MpiIrecvRequest", "NonBlockingCollectiveRequest")
_COMPLETIONS = ("MpiIsendComplete", "MpiIrecv", "NonBlockingCollectiveComplete")
_OTHERS = ("Enter", "Leave", "MpiCollectiveBegin", "MpiRequestTest", "MpiRequestCancelled")
_TAG = 1 << 40  # of the messages of unequal collectives; a tag of MPI has 32 bits
_NOTES = (
    "The time between two MPI calls is a computation, and the time inside a call is simulated.",
    "MPI_Scatterv, MPI_Alltoallv and MPI_Alltoallw send equal parts, because the trace has only their sums.",
)


class _Player:
    """Turns the events of all ranks into operations."""

    def __init__(self, otf2: Any, anchor: Path, options: TraceOptions) -> None:
        self.anchor, mpi = anchor, otf2.Paradigm.MPI
        with otf2.reader.open(str(anchor)) as trace:
            groups = [each for each in trace.definitions.groups if each.group_type == otf2.GroupType.COMM_LOCATIONS]
            ranks = next((each.members for each in groups if each.paradigm == mpi), ())
            self.rank_of = {location: rank for rank, location in enumerate(ranks)}
            self.events: list[list[Any]] = [[] for _ in ranks]
            self.tick_ns = 1e9 / trace.timer_resolution
            for location, event in trace.events:
                calls = type(event).__name__.startswith(("Mpi", "NonBlocking", "Rma"))
                if calls and location not in self.rank_of:
                    raise ConfigError(f"{anchor}: at time {event.time}, {location.name} calls MPI, and is no rank")
                if location in self.rank_of and (calls or (hasattr(event, "region") and event.region.paradigm == mpi)):
                    self.events[self.rank_of[location]].append(event)
        self.builder = ProgramBuilder(len(ranks), options.collective, self._place, size_scale=options.size_scale)

    def _place(self, rank: int, at: int) -> str:
        event = self.events[rank][at]
        return f"{self.anchor}: rank {rank}: {type(event).__name__} at time {event.time}"

    def _started(self, rank: int) -> dict[int, Any]:
        """The event with peer and size of each operation, by the number of the event that starts it."""
        found, waiting = dict[int, Any](), dict[int, int]()
        for at, event in enumerate(self.events[rank]):
            kind = type(event).__name__
            if kind in _CALLS:
                found[at] = event
            elif kind in _REQUESTS:
                waiting[event.request_id] = at
            elif kind in _COMPLETIONS and event.request_id in waiting:
                found[waiting.pop(event.request_id)] = event
        return found

    def play(self, rank: int) -> None:
        """Add the operations of a rank. The operations of a call start together, and the call waits for them."""
        self.builder.begin(rank)
        now, ended, pending = list[int](), list[int](), dict[int, int]()
        started, depth, clock = self._started(rank), 0, None
        for at, event in enumerate(self.events[rank]):
            kind = type(event).__name__
            if kind not in (*_REQUESTS, *_COMPLETIONS, *_CALLS, *_OTHERS):
                raise ConfigError(f"{self._place(rank, at)}: this event cannot be played")
            if depth == 0 and clock is not None and (ns := round((event.time - clock) * self.tick_ns)) > 0:
                now = [self.builder.calc(ns, now, place=at)]
            depth += {"Enter": 1, "Leave": -1}.get(kind, 0)
            op = self._operation(rank, at, started[at], now) if at in started else None
            if kind in _COMPLETIONS:
                op = pending.pop(event.request_id, None)
            if op is not None and kind in _REQUESTS:
                pending[event.request_id] = op
            elif op is not None:
                ended.append(op)
            if depth == 0 and ended:  # an operation that is later than `now` depends on it
                now = [self.builder.join(ended if max(ended) > max(now, default=-1) else [*now, *ended])]
                ended = []
            clock = event.time

    def _operation(self, rank: int, at: int, event: Any, now: list[int]) -> int | None:
        # MPI_COMM_SELF has no list of members.
        ranks = tuple(self.rank_of[each] for each in event.communicator.group.members) or (rank,)
        group = self.builder.group(ranks)

        def message(kind: int, peer: int, size: int, tag: int = _TAG) -> int:
            return self.builder.message(kind, peer, size, tag, now, context=group, place=at)

        if not hasattr(event, "collective_op"):
            kind, peer = (SEND, event.receiver) if hasattr(event, "receiver") else (RECEIVE, event.sender)
            return message(kind, ranks[peer], event.msg_length, event.msg_tag)
        name = str(event.collective_op).rpartition(".")[2].lower()
        root = event.root if event.root < len(ranks) else 0  # a large number: there is no root
        if name in ("gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw"):
            others = [each for each in ranks if each != rank]
            to, by = ([], others) if rank == ranks[root] else ([ranks[root]], [])
            to, by = (others, others) if name[0] == "a" else (by, to) if name == "scatterv" else (to, by)
            part = event.size_sent // (1 if name == "gatherv" else len(ranks))
            parts = [message(RECEIVE, peer, 0) for peer in by] + [message(SEND, peer, part) for peer in to]
            return self.builder.join(parts) if parts else None
        if (bytes_ := _bytes(name, event.size_sent, event.size_received, len(ranks))) is None:
            return None
        name = {"exscan": "scan", "reduce_scatter_block": "reduce_scatter"}.get(name, name)
        return self.builder.collective(name, bytes_, group, now, root=root, place=at)


def _bytes(name: str, sent: int, received: int, members: int) -> int | None:
    """Size of a collective as `Expansion.of` defines it; None: it makes or frees a communicator, a window or a file."""
    others = max(members - 1, 1)
    return {
        **dict.fromkeys(("bcast", "scatter"), received or sent // others),  # the latter for the root in place
        **dict.fromkeys(("reduce", "gather"), sent or received // others),
        **dict.fromkeys(("allgather", "allreduce", "alltoall"), sent // members),
        **dict.fromkeys(("reduce_scatter", "reduce_scatter_block"), sent),
        **{"barrier": 1, "scan": (sent + received) // (members + 1), "exscan": (sent + received) // others},
    }.get(name)


def _read(path: Path, options: TraceOptions) -> Trace:
    try:
        import _otf2
        import otf2
    except ImportError as error:
        raise ConfigError("needs the library otf2, which is not installed; pip install 'flitgym[otf2]'") from error
    anchors = [file for file in trace_files(path) if begin_of(file).startswith(_ANCHOR)]
    if not path.is_dir() or len(anchors) != 1:
        raise ConfigError("name the folder of one trace, which holds its definitions and events beside traces.otf2")
    try:
        player = _Player(otf2, anchors[0], options)
    except (_otf2.Error, otf2.error.Error) as error:
        raise ConfigError(f"damaged, or without the files of some ranks: {error}") from error
    for rank in range(len(player.events)):
        player.play(rank)
    counts = {"ranks": len(player.events), **player.builder.counts()}
    return Trace(player.builder.program(), "otf2", counts, (*_NOTES, *player.builder.expansion.notes()))


READER = Reader(
    "otf2",
    "an MPI trace of Score-P: the folder with traces.otf2",
    lambda begin: begin.startswith(_ANCHOR),
    _read,
    options=("collective", "size_scale"),
    folders=True,
)
