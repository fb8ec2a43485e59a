"""Traces with changed bytes become a program, or are refused by the name of their file."""

import sys
from pathlib import Path

import pytest
from flitgym.simcore import ConfigError
from flitgym.simcore.traces import TraceOptions, read_trace
from mutations import fuzz

sys.path.append(str(Path(__file__).parents[1] / "simcore"))
from test_liballprof_traces import INT, Rank
from trace_files import DATA, node, trace

pytestmark = pytest.mark.deep

AICB = b"""HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 ga: 2 all_gpus: 16 checkpoints: 1 0 \
checkpoint_initiates: 1 1 pp_comm: 64
2
a -1 5 ALLGATHER 640 7 REDUCESCATTER 640 1 NONE 0 100
b -1 5 ALLTOALL_EP 640 7 BROADCAST 320 1 ALLREDUCE_DP_EP 1600 100
"""
WORDS = {
    "aicb": [b" 99999999999999999999 ", b"all_gpus: 1048576", b"ALLREDUCE", b"\n", b"-1", b"_EP", b"MICRO\n"],
    "chakra": [b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0a\x09comm_type\x48\x07", b"\x22\x01\x01", b"\x52\x00"],
    "json": [
        b"99999999999999999999",
        b'"data_deps": [1]',
        b"NaN",
        b"[[[[",
        b"null",
        b'"comm_size": -1',
        b'"NodeType": 7',
    ],
    "liballprof": [b"MPI_Barrier:1:91,0,2:2\n", b"91,1,2", b":-1:", b"9999999999999", b"MPI_Finalize:9:-\n", b"\n"],
}


def liballprof() -> bytes:
    rank = Rank(0, 1)
    rank.call("Irecv", 1, 4, INT, 0, 3, rank.world, 64).call("Isend", 1, 4, INT, 0, 3, rank.world, 72)
    rank.call("Waitall", 2, 64, 0, gap=2).call("Allreduce", 1, 2, 6, INT, 3, rank.world)
    rank.call("Comm_split", rank.world, 0, 0, 5).call(
        "Alltoallv", 1, 2, "4", 3, "0", INT, 4, 5, "4", 6, "0", INT, rank.world
    )
    return rank.end().encode()


def chakra(folder: Path) -> bytes:
    nodes = [
        node(1, "COMP_NODE", us=5, is_cpu_op=True),
        node(2, "COMM_COLL_NODE", deps=(1,), comm_type="ALL_TO_ALL", comm_size=4096, involved_dim=[True]),
        node(3, "COMM_SEND_NODE", deps=(2,), comm_src=0, comm_dst=1, comm_size=64, comm_tag=3),
        node(4, "COMM_RECV_NODE", deps=(2,), comm_src=3, comm_dst=0, comm_size=64, comm_tag=3),
    ]
    return trace(folder / "seed.et", *nodes).read_bytes()


JSON = b"""{"workload_graph": [
 {"Id": 1, "Name": "a", "NodeType": 4, "data_deps": [], "runtime": 5, "is_cpu_op": true},
 {"Id": 2, "Name": "b", "NodeType": 7, "data_deps": [1], "comm_type": 0, "comm_size": 4000, "pg_name": ""}]}"""


@pytest.mark.parametrize("name", WORDS)
def test_a_damaged_trace(tmp_path: Path, name: str) -> None:
    whole = {"aicb": AICB, "json": JSON, "liballprof": liballprof(), "chakra": chakra(tmp_path)}[name]
    format_ = "chakra" if name == "json" else name
    path = tmp_path / "trace.0.bin"
    options = TraceOptions() if name in ("aicb", "liballprof") else TraceOptions(replicate=4)

    def read(data: bytes) -> None:
        path.write_bytes(data)
        try:
            read_trace(path, format=format_, options=options)
        except ConfigError as error:
            assert str(error).startswith(str(path)), error  # noqa: PT017
            raise

    fuzz([whole], WORDS[name], 150, read, (ConfigError,))


def test_damaged_begins_are_recognised_or_not(tmp_path: Path) -> None:
    files = [AICB, JSON, liballprof(), (DATA / "chakra/all_reduce_4/all_reduce.0.et").read_bytes()]
    path = tmp_path / "trace"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        read_trace(path)

    fuzz(files, [b"{", b"\x00", b"MPI_", b"MICRO "], 150, read, (ConfigError,))
