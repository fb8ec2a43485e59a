"""MPI traces in the Open Trace Format 2, as Score-P writes them: a folder with `traces.otf2`, definitions and events.

Eschweiler et al., "Open Trace Format 2", ParCo 2011. The sizes of collectives are those of Score-P
(`scorep_mpi_coll.inc.c`): the bytes that a rank exchanges with all members, including itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from ..._core import ConfigError, collective_algorithms
from ..._program import RECEIVE, SEND
from ..builder import ProgramBuilder
from ..expansion import DIRECT, Template, exchange
from ..files import begin_of, trace_files
from ..reader import Reader, Trace, TraceOptions

_REQUESTS = ("MpiIsend", "MpiIrecvRequest", "NonBlockingCollectiveRequest")
_COMPLETIONS = ("MpiIsendComplete", "MpiIrecv", "NonBlockingCollectiveComplete")
_CALLS = ("MpiSend", "MpiIsend", "MpiRecv", "MpiCollectiveEnd")
_OTHERS = ("Enter", "Leave", "MpiCollectiveBegin", "MpiRequestTest", "MpiRequestCancelled")


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
                kind = type(event).__name__
                if kind in ("Enter", "Leave"):
                    kept = event.region.paradigm == mpi
                elif hasattr(event, "win"):  # CUDA and SHMEM have windows, too
                    kept = event.win.comm.group.paradigm == mpi
                else:
                    kept = kind.startswith(("Mpi", "NonBlocking"))
                if kept and location not in self.rank_of:
                    raise ConfigError(f"{location.name}: {kind} at time {event.time}: only ranks may call MPI")
                if kept:
                    self.events[self.rank_of[location]].append(event)
        self.builder = ProgramBuilder(len(ranks), options.collective, self._place, size_scale=options.size_scale)
        # The event with peer and size by rank and number of the event that starts the operation.
        self.started: dict[tuple[int, int], Any] = {}
        self.call: dict[tuple[int, int], tuple[Any, int]] = {}  # communicator and number of a collective
        self.bytes: dict[tuple[Any, int], dict[int, tuple[int, int]]] = defaultdict(dict)  # sent, received by rank
        for rank in range(len(ranks)):
            self._start(rank)

    def _place(self, rank: int, at: int) -> str:
        event = self.events[rank][at]
        return f"{self.anchor}: rank {rank}: {type(event).__name__} at time {event.time}"

    def _start(self, rank: int) -> None:
        waiting, number = dict[int, int](), Counter[Any]()
        for at, event in enumerate(self.events[rank]):
            kind = type(event).__name__
            if kind in _CALLS:
                self.started[rank, at] = event
            elif kind in _REQUESTS:
                waiting[event.request_id] = at
            elif kind in _COMPLETIONS and event.request_id in waiting:
                self.started[rank, waiting.pop(event.request_id)] = event
        for at in range(len(self.events[rank])):
            event = self.started.get((rank, at))
            if event is not None and hasattr(event, "collective_op"):
                self.call[rank, at] = event.communicator, number[event.communicator]
                self.bytes[self.call[rank, at]][rank] = event.size_sent, event.size_received
                number[event.communicator] += 1

    def play(self, rank: int) -> None:
        """Add the operations of a rank. The operations of a call start together, and the call waits for them."""
        self.builder.begin(rank)
        now, ended, pending = list[int](), list[int](), dict[int, int]()
        depth, clock = 0, None
        for at, event in enumerate(self.events[rank]):
            kind = type(event).__name__
            if kind not in (*_REQUESTS, *_COMPLETIONS, *_CALLS, *_OTHERS):
                raise ConfigError(f"{self._place(rank, at)}: this event cannot be played")
            if depth == 0 and clock is not None and (ns := round((event.time - clock) * self.tick_ns)) > 0:
                now = [self.builder.calc(ns, now, place=at)]
            depth += {"Enter": 1, "Leave": -1}.get(kind, 0)
            op = self._operation(rank, at, now) if (rank, at) in self.started else None
            if op is not None and kind in _REQUESTS:
                pending[event.request_id] = op
            elif op is not None:
                ended.append(op)
            elif kind in _COMPLETIONS and event.request_id in pending:
                ended.append(pending.pop(event.request_id))
            if depth == 0 and ended:  # an operation that is later than `now` depends on it
                now = [self.builder.join(ended if max(ended) > max(now, default=-1) else [*now, *ended])]
                ended = []
            clock = event.time

    def _operation(self, rank: int, at: int, now: list[int]) -> int | None:
        event = self.started[rank, at]
        if not hasattr(event.communicator, "group"):
            raise ConfigError(f"{self._place(rank, at)}: an inter-communicator cannot be played")
        # MPI_COMM_SELF has no list of members.
        ranks = tuple(self.rank_of[each] for each in event.communicator.group.members) or (rank,)
        group = self.builder.group(ranks)
        if (rank, at) not in self.call:
            kind, peer = (SEND, event.receiver) if hasattr(event, "receiver") else (RECEIVE, event.sender)
            size, tag = event.msg_length, event.msg_tag
            return self.builder.message(kind, ranks[peer], size, tag, now, context=group, place=at)
        name = str(event.collective_op).rpartition(".")[2].lower()
        name = {"exscan": "scan", "reduce_scatter_block": "reduce_scatter"}.get(name, name)
        sizes = [self.bytes[self.call[rank, at]].get(member, (0, 0)) for member in ranks]
        root = event.root if event.root < len(ranks) else 0  # a large number: there is no root
        if name in DIRECT or name in collective_algorithms():
            return self.builder.collective(name, _bytes(name, sizes), group, now, root=root, place=at)
        if name.endswith(("v", "w")):
            own = _varying(name, sizes, root, ranks.index(rank))
            return self.builder.collective(name, 0, group, now, place=at, own=own)
        return None  # makes or frees a communicator, a window or a file


def _bytes(name: str, sizes: list[tuple[int, int]]) -> int:
    """Size of a collective as `Expansion.of` defines it."""
    most = max(sent for sent, _ in sizes)
    if name in ("allgather", "allreduce", "alltoall"):
        return most // len(sizes)
    if name in ("barrier", "reduce_scatter"):
        return max(most, name == "barrier")
    return min((size for pair in sizes for size in pair if size), default=0)  # of a member other than the root


def _varying(name: str, sizes: list[tuple[int, int]], root: int, me: int) -> Template:
    def between(source: int, to: int) -> int:
        if name == "gatherv":
            return sizes[source][0] if to == root else 0
        if name == "scatterv":
            return sizes[to][1] if source == root else 0
        return sizes[source][0] // len(sizes)

    members = range(len(sizes))
    return exchange([between(me, k) for k in members], [between(k, me) for k in members], me)


def _recognises(begin: bytes) -> bool:
    return begin.startswith(b"\x03BOTF2")


def _read(path: Path, options: TraceOptions) -> Trace:
    try:
        import _otf2
        import otf2
    except ImportError as error:
        raise ConfigError("needs the library otf2, which is not installed; pip install 'flitgym[otf2]'") from error
    anchors = [file for file in trace_files(path) if _recognises(begin_of(file))]
    if not path.is_dir() or len(anchors) != 1:
        raise ConfigError("name the folder of one trace, which holds its definitions and events beside traces.otf2")
    try:
        player = _Player(otf2, anchors[0], options)
    except (_otf2.Error, otf2.error.Error) as error:
        raise ConfigError(f"damaged, or without the files of some ranks: {error}") from error
    for rank in range(len(player.events)):
        player.play(rank)
    counts = {"ranks": len(player.events), **player.builder.counts()}
    notes = (
        "The time between two MPI calls is a computation, and the time inside a call is simulated.",
        "MPI_Alltoallv and MPI_Alltoallw send equal parts, because the trace has only the sums.",
    )
    return Trace(player.builder.program(), "otf2", counts, (*notes, *player.builder.expansion.notes()))


_SUMMARY = "an MPI trace of Score-P: the folder with traces.otf2"
READER = Reader("otf2", _SUMMARY, _recognises, _read, options=("collective", "size_scale"), folders=True)
