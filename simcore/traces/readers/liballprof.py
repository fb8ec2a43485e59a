"""MPI traces of liballprof as text, one file per rank: the traces that Schedgen turns into schedules.

Hoefler, Schneider, Lumsdaine, "LogGOPSim", LSAP 2010; Schedgen's `process_trace.cpp` in github.com/spcl/atlahs. The
time between two calls is a computation. The time inside a call is not used, because the simulation computes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..._core import ConfigError
from ..._program import RECEIVE, SEND
from ..builder import ProgramBuilder
from ..expansion import Template, exchange
from ..files import rank_files
from ..messages import ANY
from ..reader import Reader, Trace, TraceOptions
from ._mpi_calls import Call, looks_like_trace, read_calls
from ._mpi_communicators import COLLECTIVES, POSITION, Communicators

_SENDS = {"Send", "Ssend", "Bsend", "Rsend"}
_ISENDS = {"Isend", "Issend", "Ibsend", "Irsend"}
# Calls that end when some request has ended, which the trace does not name.
_TESTS = {"Test", "Testall", "Testany", "Testsome", "Waitany", "Waitsome"}
# Collectives with equal sizes on all ranks: name in the core, and positions of count, data type and root (0: none).
_EQUAL = {
    "Bcast": ("bcast", 1, 2, 3),
    "Reduce": ("reduce", 2, 3, 5),
    "Allreduce": ("allreduce", 2, 3, 0),
    "Scan": ("scan", 2, 3, 0),
    "Exscan": ("scan", 2, 3, 0),
    "Allgather": ("allgather", 4, 5, 0),
    "Alltoall": ("alltoall", 4, 5, 0),
    "Gather": ("gather", 4, 5, 6),
    "Scatter": ("scatter", 4, 5, 6),
    "Reduce_scatter_block": ("reduce_scatter", 2, 3, 0),
}
# Calls that communicate and that the reader cannot play. Calls that are in no list do not communicate.
_REFUSED = {
    *("Put", "Get", "Accumulate", "Win_fence", "Win_lock", "Win_unlock", "Alltoallw", "Ialltoallw"),
    *("Neighbor_allgather", "Neighbor_alltoall", "Neighbor_alltoallv", "Comm_spawn", "Imrecv", "Mrecv"),
}
_REQUEST_SIZES = (8, 4)  # bytes of an MPI_Request: a pointer in Open MPI, an integer in MPICH


class _Rank:
    """Turns the calls of a rank into operations."""

    def __init__(self, player: _Player, rank: int, uses: dict[int, dict[str, tuple[int, ...]]]) -> None:
        self.player, self.builder, self.rank = player, player.builder, rank
        self._uses = uses
        self._of_handle: dict[str, tuple[int, ...]] = {}
        self.now: list[int] = []  # operations that end before the next one
        self.clock: int | None = None  # end of the previous call in ns
        self.pending: dict[int, int | None] = {}  # address of a request -> its operation; None: nothing to wait for
        self.persistent: dict[int, Call] = {}

    def play(self, call: Call) -> None:
        """Add a call."""
        name = call.name.removeprefix("MPI_")
        if name in _REFUSED:
            raise call.error("this call cannot be played; the reader knows messages and collectives")
        self._of_handle.update(self._uses.get(call.line, {}))
        if self.clock is not None and call.start is not None:
            self._compute(call, call.start - self.clock)
        if call.end is not None:
            self.clock = call.end
        self.player.calls[call.name] += 1
        if name in _SENDS:
            self._blocking(self._send(call))
        elif name == "Recv":
            self._blocking(self._receive(call))
        elif name in _ISENDS:
            self.pending[call.integer(6)] = self._send(call)
        elif name == "Irecv":
            self.pending[call.integer(6)] = self._receive(call)
        elif name in POSITION and name.endswith("_init"):
            self.persistent[call.integer(6)] = call
        elif name in ("Start", "Startall"):
            self._start(call, name)
        elif name == "Sendrecv":
            self._both(call, sends=(0, 3), receives=(5, 8))
        elif name == "Sendrecv_replace":
            self._both(call, sends=(0, 3), receives=(0, 5))
        elif name == "Wait":
            self._wait(self._done([call.integer(0)]))
        elif name == "Waitall":
            self._wait(self._all(call))
        elif name in _TESTS:
            self.player.tests += 1
        elif name in COLLECTIVES:
            self._blocking(self._collective(call, name))
        elif name[0] == "I" and name[1:].capitalize() in COLLECTIVES:
            self.pending[call.integer(-1)] = self._collective(call, name[1:].capitalize())

    def _ranks(self, call: Call) -> tuple[int, ...]:
        """Ranks of the communicator of a call, in its order."""
        return self._of_handle[call.communicator(POSITION[call.name.removeprefix("MPI_")]).handle]

    def _compute(self, call: Call, ns: int) -> None:
        if ns < 0:
            self.player.overlaps += 1
        elif ns > 0:
            self.now = [self.builder.calc(ns, self.now, place=call.line)]

    def _blocking(self, op: int | None) -> None:
        if op is not None:
            self.now = [op]

    def _wait(self, operations: list[int]) -> None:
        if operations:
            self.now = [self.builder.join(sorted({*self.now, *operations}))]

    def _send(self, call: Call, first: int = 0, peer: int = 3) -> int | None:
        """Send `count` elements; `first` is the position of the buffer, followed by count and type."""
        to = call.integer(peer)
        if to < 0:
            return None  # MPI_PROC_NULL
        ranks = self._ranks(call)
        return self.builder.message(
            SEND,
            self._world(call, to, ranks),
            call.bytes(first + 1, first + 2),
            call.integer(peer + 1),
            self.now,
            context=self.builder.group(ranks),
            place=call.line,
        )

    def _receive(self, call: Call, first: int = 0, peer: int = 3) -> int | None:
        source, tag = call.integer(peer), call.integer(peer + 1)
        if source < 0 and source in self.player.null:
            return None
        ranks = self._ranks(call)
        return self.builder.message(
            RECEIVE,
            ANY if source < 0 else self._world(call, source, ranks),
            call.bytes(first + 1, first + 2),
            ANY if tag < 0 else tag,
            self.now,
            context=self.builder.group(ranks),
            place=call.line,
        )

    @staticmethod
    def _world(call: Call, rank: int, ranks: tuple[int, ...]) -> int:
        if rank >= len(ranks):
            raise call.error(f"rank {rank} does not exist in a communicator of {len(ranks)} ranks")
        return ranks[rank]

    def _both(self, call: Call, sends: tuple[int, int], receives: tuple[int, int]) -> None:
        taken, sent = self._receive(call, *receives), self._send(call, *sends)
        self._wait([op for op in (taken, sent) if op is not None])

    def _start(self, call: Call, name: str) -> None:
        addresses = [call.integer(0)] if name == "Start" else self._array(call, self.persistent)
        for address in addresses:
            made = self.persistent.get(address)
            if made is None:
                raise call.error(f"the persistent request {address} was not created; is the trace complete?")
            receives = made.name == "MPI_Recv_init"
            self.pending[address] = self._receive(made) if receives else self._send(made)

    def _done(self, addresses: Sequence[int]) -> list[int]:
        """Operations of requests, which end. An unknown request is MPI_REQUEST_NULL."""
        ended = (self.pending.pop(address, None) for address in addresses)
        return [op for op in ended if op is not None]

    def _all(self, call: Call) -> list[int]:
        addresses = self._array(call, self.pending)
        if call.count(0) and self.pending and not any(address in self.pending for address in addresses):
            self.player.unknown += 1  # Fortran prints values of requests, but the address of their array
            return self._done(list(self.pending))
        return self._done(addresses)

    @staticmethod
    def _array(call: Call, known: dict[int, Call] | dict[int, int | None]) -> list[int]:
        """Addresses of an array of requests: with the request size that hits the most known requests."""
        number, first = call.count(0), call.integer(1)
        within = {
            size: [a for a in known if first <= a < first + number * size and (a - first) % size == 0]
            for size in _REQUEST_SIZES
        }
        return max(within.values(), key=len)

    def _collective(self, call: Call, name: str) -> int:
        ranks = self._ranks(call)
        me, size = ranks.index(self.rank), len(ranks)
        root, own, core, bytes_ = 0, None, name.lower(), 0
        if name in _EQUAL:
            core, count, kind, at = _EQUAL[name]
            root = call.integer(at) if at else 0
            if (name, me == root) in (("Gather", False), ("Scatter", True)):
                count, kind = 1, 2  # of the buffer that is sent
            bytes_ = call.bytes(count, kind) * (size if core == "reduce_scatter" else 1)
        elif name == "Reduce_scatter":
            bytes_ = sum(call.counts(3, size)) * call.type_size(4)
        elif name == "Barrier":
            bytes_ = 1
        else:
            own = self._varying(call, name, me, size)
        return self.builder.collective(
            core, bytes_, self.builder.group(ranks), self.now, root=root, place=call.line, own=own
        )

    @staticmethod
    def _varying(call: Call, name: str, me: int, size: int) -> Template:
        """A collective in which the sizes differ between ranks. All its messages start at once."""
        if name == "Alltoallv":
            sends = [n * call.type_size(5) for n in call.counts(2, size)]
            return exchange(sends, [n * call.type_size(11) for n in call.counts(8, size)], me)
        if name == "Allgatherv":
            receives = [n * call.type_size(8) for n in call.counts(5, size)]
            return exchange([receives[me]] * size, receives, me)
        root = call.integer(9)
        mine, nothing = [0] * size, [0] * size
        if not 0 <= root < size:
            raise call.error(f"the root {root} does not exist in a communicator of {size} ranks")
        if name == "Gatherv":
            if me == root:
                return exchange(nothing, [n * call.type_size(8) for n in call.counts(5, size)], me)
            mine[root] = call.bytes(1, 2)
            return exchange(mine, nothing, me)
        if me == root:
            return exchange([n * call.type_size(5) for n in call.counts(2, size)], nothing, me)
        mine[root] = call.bytes(7, 8)
        return exchange(nothing, mine, me)


class _Player:
    """The parts that all ranks share."""

    def __init__(self, files: list[Path], options: TraceOptions) -> None:
        self.files = files
        self.builder = ProgramBuilder(
            len(files),
            options.collective,
            lambda rank, line: f"{files[rank]}: line {line}",
            size_scale=options.size_scale,
        )
        self.null: set[int] = set()  # destinations below 0, which are MPI_PROC_NULL
        self.calls: Counter[str] = Counter()
        self.tests = self.overlaps = self.unknown = 0
        self._communicators = Communicators(len(files))

    def scan(self) -> None:
        """Read all files once for the communicators and for the value of MPI_PROC_NULL."""
        for rank, file in enumerate(self.files):
            calls = list[Call]()
            for call in read_calls(file):
                name = call.name.removeprefix("MPI_")
                if name in _SENDS | _ISENDS | {"Sendrecv"} and (to := call.integer(3)) < 0:
                    self.null.add(to)
                calls.append(call)
                if name in POSITION:
                    comm = call.communicator(POSITION[name])
                    if comm.size > len(self.files):
                        raise call.error(
                            f"a communicator of {comm.size} ranks, but the trace has {len(self.files)} files; name the "
                            "folder with the files of all ranks"
                        )
            self._communicators.add(rank, calls)
        self._communicators.resolve()

    def play(self) -> None:
        """Add the operations of all ranks."""
        for rank, file in enumerate(self.files):
            self.builder.begin(rank)
            mine = _Rank(self, rank, self._communicators.uses(rank))
            last: Call | None = None
            for call in read_calls(file):
                last = call
                try:
                    mine.play(call)
                except ConfigError as error:
                    raise error if str(error).startswith(str(file)) else call.error(str(error)) from error
            if last is None or last.name != "MPI_Finalize":
                line = last.line if last else 1
                raise ConfigError(f"{file}: line {line}: the file ends without MPI_Finalize, so it is truncated")

    def notes(self) -> tuple[str, ...]:
        """Return the assumptions that the trace needed."""
        counted = (
            (self.tests, "calls such as MPI_Test or MPI_Waitany wait for nothing, as the trace does not name the "
             "requests that ended."),
            (self.unknown, "calls of MPI_Waitall wait for all pending requests, because the trace does not name "
             "theirs."),
            (self.overlaps, "calls start before the previous call ends; no computation is between them."),
        )  # fmt: skip
        return (
            "The time between two MPI calls is a computation, and the time inside a call is simulated.",
            *(f"{count} {text}" for count, text in counted if count),
            *self.builder.expansion.notes(),
        )


def _read(path: Path, options: TraceOptions) -> Trace:
    player = _Player(rank_files(path, looks_like_trace), options)
    player.scan()
    player.play()
    counts = {"ranks": len(player.files), "calls": dict(player.calls), **player.builder.counts()}
    return Trace(player.builder.program(), "liballprof", counts, player.notes())


READER = Reader(
    "liballprof",
    "an MPI trace of liballprof as text: a folder with one file per rank, such as pmpi-trace-rank-0.txt",
    looks_like_trace,
    _read,
    options=("collective", "size_scale"),
    folders=True,
)
