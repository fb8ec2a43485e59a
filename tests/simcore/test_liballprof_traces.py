"""MPI traces of liballprof: times, requests, wildcards, communicators, collectives, and damaged files."""

from pathlib import Path

import pytest
from flitgym.simcore.traces import Trace, TraceOptions, read_trace
from trace_files import finish_ns

INT = "1,4,4"  # a data type of 4 bytes
WORLD = 91


class Rank:
    """Writes the calls of a rank. `at` is the time in microseconds, which passes between the calls."""

    def __init__(self, rank: int, size: int) -> None:
        self.world = f"{WORLD},{rank},{size}"
        self.at = 100
        self.lines = [
            "# collprof 0.9 output file",
            "# Init clockdiff: 0.000000",
            "",
            f"MPI_Init:-:7:8:{self.at}.000000",
        ]

    def call(self, name: str, *arguments: object, gap: int = 0, takes: int = 1) -> "Rank":
        start = self.at + gap
        self.at = start + takes
        words = ":".join(str(a) for a in arguments)
        self.lines.append(f"MPI_{name}:{start}.000000:{words}:{self.at}.000000")
        return self

    def end(self, gap: int = 0) -> str:
        return (
            "\n".join([*self.lines, "# Finalize clockdiff: 0.000000", f"MPI_Finalize:{self.at + gap}.000000:-"]) + "\n"
        )


def written(folder: Path, *ranks: str) -> Path:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(ranks):
        (folder / f"pmpi-trace-rank-{number}.txt").write_text(text)
    return folder


def played(folder: Path, *ranks: str, collective: str = "auto") -> Trace:
    return read_trace(written(folder / "t", *ranks), options=TraceOptions(collective=collective))


def test_gaps_are_computation_and_calls_are_simulated(tmp_path: Path) -> None:
    a, b = Rank(0, 2), Rank(1, 2)
    a.call("Send", 1, 25, INT, 1, 7, a.world, gap=5, takes=900)
    b.call("Recv", 1, 50, INT, 0, 7, b.world, 0, gap=2, takes=700)  # room for more than the message
    read = played(tmp_path, a.end(gap=1), b.end(gap=4))
    assert read.format == "liballprof"
    assert read.program.totals() == {"messages": 1, "bytes": 100, "receives": 1, "calc_ns": 12_000, "operations": 6}
    assert finish_ns(read.program) == 5000 + 1000 + 4000


def test_requests_overlap_until_they_are_waited_for(tmp_path: Path) -> None:
    a, b = Rank(0, 2), Rank(1, 2)
    for rank, other in ((a, 1), (b, 0)):
        rank.call("Irecv", 1, 10, INT, other, 1, rank.world, 64)
        rank.call("Irecv", 1, 10, INT, other, 2, rank.world, 72)
        rank.call("Isend", 1, 10, INT, other, 2, rank.world, 80)
        rank.call("Isend", 1, 10, INT, other, 1, rank.world, 88)
        rank.call("Waitall", 4, 64, 0, gap=3)
        rank.call("Wait", 4711, 0)  # MPI_REQUEST_NULL
    read = played(tmp_path, a.end(gap=2), b.end(gap=2))
    assert read.program.totals()["bytes"] == 160
    assert finish_ns(read.program) == 5000  # 3 us of computation hide the message


def test_a_persistent_request_is_started_again(tmp_path: Path) -> None:
    a, b = Rank(0, 2), Rank(1, 2)
    a.call("Send_init", 1, 10, INT, 1, 1, a.world, 64)
    b.call("Recv_init", 1, 10, INT, 0, 1, b.world, 64)
    for rank in (a, b):
        for _ in range(3):
            rank.call("Start", 64).call("Wait", 64, 0)
    assert played(tmp_path, a.end(), b.end()).program.totals()["messages"] == 3


def test_any_tag_of_a_known_source_takes_the_next_message(tmp_path: Path) -> None:
    a, b = Rank(0, 2), Rank(1, 2)
    a.call("Send", 1, 1, INT, 1, 5, a.world).call("Send", 1, 2, INT, 1, 6, a.world)
    a.call("Barrier", a.world)
    b.call("Recv", 1, 9, INT, 0, -1, b.world, 0).call("Recv", 1, 9, INT, 0, 6, b.world, 0)
    b.call("Barrier", b.world)
    goal = played(tmp_path, a.end(), b.end()).program.to_goal()
    assert "recv 4b from 0\n" in goal  # tag 0
    assert "recv 8b from 0 tag 1" in goal


def test_any_source_stays_a_wildcard_and_the_null_process_is_nothing(tmp_path: Path) -> None:
    a, b = Rank(0, 2), Rank(1, 2)
    a.call("Send", 1, 4, INT, -1, 5, a.world)  # the value of MPI_PROC_NULL in MPICH
    a.call("Recv", 1, 4, INT, -1, 5, a.world, 0)
    a.call("Recv", 1, 4, INT, -2, -1, a.world, 0)
    b.call("Sendrecv", 1, 4, INT, 0, 5, 2, 4, INT, -1, 5, b.world, 0)
    read = played(tmp_path, a.end(), b.end())
    assert read.program.totals()["receives"] == 1
    assert finish_ns(read.program) == 1000


@pytest.mark.parametrize(
    ("name", "arguments", "sent"),
    [
        ("Bcast", (1, 6, INT, 2, "C"), 2 * 24),
        ("Reduce", (1, 2, 6, INT, 3, 1, "C"), 2 * 24),
        ("Allreduce", (1, 2, 6, INT, 3, "C"), 2 * 2 * 24),
        ("Allgather", (1, 6, INT, 2, 6, INT, "C"), 3 * 2 * 24),
        ("Alltoall", (1, 6, INT, 2, 6, INT, "C"), 3 * 2 * 24),
        ("Gather", (1, 6, INT, 2, 6, INT, 1, "C"), 2 * 24),
        ("Scatter", (1, 6, INT, 2, 6, INT, 1, "C"), 2 * 24),
        ("Scan", (1, 2, 6, INT, 3, "C"), 2 * 24),
        ("Reduce_scatter_block", (1, 2, 6, INT, 3, "C"), 2 * 3 * 24),
        ("Reduce_scatter", (1, 2, 3, "3,6,9", INT, 3, "C"), 2 * 18 * 4),
        ("Allgatherv", (1, 6, INT, 2, 3, "1,2,3", 4, "0,1,3", INT, "C"), 2 * 6 * 4),
        ("Alltoallv", (1, 3, "4,4,4", 4, "0,0,0", INT, 2, 3, "4,4,4", 4, "0,0,0", INT, "C"), 3 * 2 * 16),
    ],
)
def test_bytes_of_collectives(tmp_path: Path, name: str, arguments: tuple[object, ...], sent: int) -> None:
    ranks = [Rank(k, 3) for k in range(3)]
    for rank in ranks:
        rank.call(name, *(rank.world if each == "C" else each for each in arguments))
        if name in ("Bcast", "Allreduce"):
            rank.call(f"I{name.lower()}", *(rank.world if each == "C" else each for each in arguments), 640)
            rank.call("Wait", 640, 0)
            doubled = True
        else:
            doubled = False
    algorithm = "ring" if name.startswith(("Allred", "Allgather", "Reduce_")) else "binomial"
    read = played(tmp_path, *(rank.end() for rank in ranks), collective=algorithm)
    assert read.program.totals()["bytes"] == sent * (1 + doubled)


def test_communicators_of_a_split(tmp_path: Path) -> None:
    ranks = [Rank(k, 4) for k in range(4)]
    for number, rank in enumerate(ranks):
        # Colors 0 and 1 for even and odd ranks; the keys reverse their order. MPICH gives both the same handle.
        rank.call("Comm_split", rank.world, number % 2, -number, 555)
        half = f"777,{1 - number // 2},2"
        rank.call("Bcast", 1, 8, INT, 0, half)
        rank.call("Comm_split", half, 0, 0, 556)
        rank.call("Send" if number < 2 else "Recv", 1, 3, INT, number // 2, 9, half, *([] if number < 2 else [0]))
    first, peer, size = played(tmp_path, *(rank.end() for rank in ranks)).program.communication()
    # The roots are the ranks 2 and 3, and the messages go back.
    assert peer.tolist() == [2, 3, 0, 1]
    assert size.tolist() == [12, 12, 32, 32]
    assert first.tolist() == [0, 1, 2, 3, 4]


def test_a_sample_with_equal_ranks_in_all_files(tmp_path: Path) -> None:
    ranks = [Rank(0, 3).call("Bcast", 1, 8, INT, 0, f"{WORLD},0,3") for _ in range(3)]
    assert played(tmp_path, *(rank.end() for rank in ranks)).program.totals()["bytes"] == 64
