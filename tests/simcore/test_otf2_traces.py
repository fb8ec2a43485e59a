"""MPI traces in the Open Trace Format 2, which its own library writes: messages, requests, collectives, errors."""

from pathlib import Path
from typing import Any

import pytest
from flitgym.simcore import ConfigError
from flitgym.simcore.traces import Trace, TraceOptions, read_trace
from trace_files import finish_ns

otf2 = pytest.importorskip("otf2", reason="has no wheel for this Python")
MPI, KIND, OP = otf2.Paradigm.MPI, otf2.GroupType, otf2.CollectiveOp


class Calls:
    """Writes the calls of some ranks. A tick is a microsecond."""

    def __init__(self, path: Path, ranks: int) -> None:
        self.path, self.at = path, [100] * ranks
        self.writer = otf2.writer.Writer(str(path), timer_resolution=1_000_000)
        self.known = self.writer.definitions
        node = self.known.system_tree_node("machine")
        groups = [self.known.location_group(f"rank {k}", system_tree_parent=node) for k in range(ranks)]
        self.locations = [self.known.location("main", group=group) for group in groups]
        self.known.group("all", group_type=KIND.COMM_LOCATIONS, paradigm=MPI, members=self.locations)
        self.world = self.comm(*range(ranks))

    def comm(self, *ranks: int) -> Any:
        members = [self.locations[rank] for rank in ranks]
        group = self.known.group(f"{ranks}", group_type=KIND.COMM_GROUP, paradigm=MPI, members=members)
        return self.known.comm(f"{ranks}", group=group)

    def call(self, rank: int, *events: tuple[Any, ...], gap: int = 0) -> None:
        region, writer = self.known.region("MPI", paradigm=MPI), self.writer.event_writer_from_location
        start, self.at[rank] = self.at[rank] + gap, self.at[rank] + gap + 9
        writer(self.locations[rank]).enter(start, region)
        for name, *values in events:
            getattr(writer(self.locations[rank]), name)(start + 1, *values)
        writer(self.locations[rank]).leave(self.at[rank], region)

    def read(self, collective: str = "auto") -> Trace:
        self.writer.close()
        return read_trace(self.path, options=TraceOptions(collective=collective))


def test_a_folder_of_many_ranks_is_recognised(tmp_path: Path) -> None:
    calls = Calls(tmp_path / "t", 40)
    for rank in range(40):
        calls.call(rank)
    assert calls.read().format == "otf2"


def test_gaps_are_computation_and_requests_overlap_it(tmp_path: Path) -> None:
    calls = Calls(tmp_path / "t", 2)
    for rank, other in ((0, 1), (1, 0)):
        calls.call(rank, ("mpi_irecv_request", 5))
        calls.call(rank, ("mpi_isend", other, calls.world, 2, 40, 6))
        calls.call(rank, ("mpi_irecv", other, calls.world, 2, 40, 5), ("mpi_isend_complete", 6), gap=3)
        both = ("mpi_send", other, calls.world, 3, 8), ("mpi_recv", other, calls.world, 3, 8)
        calls.call(rank, *both, gap=rank)  # MPI_Sendrecv
    calls.call(0, gap=4)
    read = calls.read()
    assert read.format == "otf2"
    assert {"messages": 4, "bytes": 96, "receives": 4, "calc_ns": 11_000}.items() <= read.program.totals().items()
    assert finish_ns(read.program) == 3000 + 1000 + 1000 + 4000  # 3 us of computation hide the first message


ALL = (3 * 24, 3 * 24)
COLLECTIVES = [  # of three ranks: (sent, received) as Score-P records 24 bytes, and the bytes on the network
    *((op, [(0, 24), (72, 24), (0, 24)], 2 * 24) for op in (OP.BCAST, OP.SCATTER)),
    *((op, [(24, 0), (24, 72), (24, 0)], 2 * 24) for op in (OP.REDUCE, OP.GATHER)),
    *((op, [ALL] * 3, 6 * 24) for op in (OP.ALLGATHER, OP.ALLTOALL, OP.REDUCE_SCATTER_BLOCK)),
    (OP.ALLREDUCE, [ALL] * 3, 4 * 24),
    (OP.SCAN, [(72, 24), (48, 48), (24, 72)], 2 * 24),
    (OP.GATHERV, [(8, 0), (16, 48), (24, 0)], 8 + 24),
    (OP.SCATTERV, [(0, 8), (48, 16), (0, 24)], 8 + 24),
    (OP.ALLGATHERV, [(3 * 8, 48), (3 * 16, 48), (3 * 24, 48)], 2 * 48),
    (OP.CREATE_HANDLE, [(0, 0)] * 3, 0),
]


@pytest.mark.parametrize(("op", "sizes", "sent"), COLLECTIVES, ids=[str(each[0]) for each in COLLECTIVES])
def test_bytes_of_collectives(tmp_path: Path, op: Any, sizes: list[tuple[int, int]], sent: int) -> None:
    calls = Calls(tmp_path / "t", 4)
    comm = calls.comm(3, 0, 2)  # the root is rank 0
    for rank, pair in zip((3, 0, 2), sizes, strict=True):
        calls.call(rank, ("mpi_collective_end", op, comm, 1, *pair))
        calls.call(rank, ("non_blocking_collective_request", 5))
        calls.call(rank, ("non_blocking_collective_complete", op, comm, 1, *pair, 5))
    ring = op in (OP.ALLREDUCE, OP.ALLGATHER, OP.REDUCE_SCATTER_BLOCK)
    assert calls.read("ring" if ring else "binomial").program.totals()["bytes"] == 2 * sent


def test_errors_have_a_place(tmp_path: Path) -> None:
    calls = Calls(tmp_path / "t", 2)
    calls.call(1, ("rma_put", calls.known.rma_win("w", comm=calls.world), 0, 64, 1))
    with pytest.raises(ConfigError, match=r"traces\.otf2: rank 1: RmaPut at time 101: this event cannot be played"):
        calls.read()
    with pytest.raises(ConfigError, match="name the folder"):
        read_trace(tmp_path / "t" / "traces.otf2")
    (tmp_path / "t" / "traces" / "1.evt").unlink()
    with pytest.raises(ConfigError, match="damaged, or without the files of some ranks"):
        read_trace(tmp_path / "t")
