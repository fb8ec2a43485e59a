"""Chakra execution traces: closed forms, processors and dependencies of hand-made traces, and damaged files."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from flitgym.simcore import ConfigError, Program
from flitgym.simcore.traces import TraceOptions, read_trace
from flitgym.simcore.traces.readers._chakra_schema import messages
from google.protobuf.json_format import MessageToJson
from trace_files import DATA, feeder_json, finish_ns, framed, node, trace

MIB = 1 << 20
RING = TraceOptions(collective="ring")


def test_an_all_reduce_equals_the_motif_and_the_closed_form() -> None:
    read = read_trace(DATA / "chakra" / "all_reduce_4", options=RING)
    assert read.format == "chakra"
    assert read.counts["collectives"] == {"allreduce": 1}
    params = {"ranks": 4, "collective": "allreduce", "algorithm": "ring", "bytes": MIB, "iterations": 1}
    motif = Program.motif("collective", {**params, "compute_ns": 0})
    totals = read.program.totals()
    # 2 (N - 1) steps of N messages, of S / N bytes each (Patarasuk, Yuan 2009).
    assert (totals["messages"], totals["bytes"]) == (24, 6 * MIB)
    assert totals["bytes"] == motif.totals()["bytes"]
    for hosts in (
        {},
        {"loggops_G_ns_per_byte": 0.01, "loggops_o_ns": 70, "loggops_g_ns": 30},
        {"network": "simulated"},
    ):
        assert finish_ns(read.program, **hosts) == finish_ns(motif, **hosts)


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("ALL_REDUCE", 2 * 7 * 4096),
        ("ALL_GATHER", 8 * 7 * 4096),  # comm_size is the input of a rank
        ("REDUCE_SCATTER", 7 * 4096),
        ("ALL_TO_ALL", 8 * 7 * 4096 // 8),
        ("BROADCAST", 7 * 4096),
        ("REDUCE", 7 * 4096),
        ("GATHER", 7 * 4096),
        ("SCATTER", 7 * 4096 // 8),
    ],
)
def test_bytes_of_every_collective(tmp_path: Path, kind: str, sent: int) -> None:
    path = trace(tmp_path / "a.0.et", node(1, "COMM_COLL_NODE", comm_type=kind, comm_size=4096))
    algorithm = "ring" if kind in ("ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER") else "auto"
    algorithm = "pairwise" if kind == "ALL_TO_ALL" else algorithm
    read = read_trace(path, options=TraceOptions(replicate=8, collective=algorithm))
    assert read.program.totals()["bytes"] == sent


def test_processors_and_dependencies(tmp_path: Path) -> None:
    kernels = [node(1, "COMP_NODE", us=5), node(2, "COMP_NODE", us=7), node(3, "MEM_LOAD_NODE", us=2)]
    operator = node(4, "COMP_NODE", us=6, is_cpu_op=True)
    assert finish_ns(read_trace(trace(tmp_path / "a.et", *kernels, operator)).program) == 14_000  # GPU: 5 + 7 + 2
    after = node(5, "COMP_NODE", us=4, deps=(4, 3), is_cpu_op=True)
    assert finish_ns(read_trace(trace(tmp_path / "b.et", after, *kernels, operator)).program) == 18_000
    controlled = node(6, "COMP_NODE", us=1, is_cpu_op=True)
    controlled.ctrl_deps.append(5)
    assert finish_ns(read_trace(trace(tmp_path / "c.et", controlled, after, *kernels, operator)).program) == 19_000


def test_a_collective_waits_for_its_dependencies_and_delays_others(tmp_path: Path) -> None:
    for rank in range(2):
        trace(
            tmp_path / "job" / f"t.{rank}.et",
            node(1, "COMP_NODE", us=3 + 4 * rank),
            node(2, "COMM_COLL_NODE", deps=(1,), comm_type="REDUCE_SCATTER", comm_size=64),
            node(3, "COMP_NODE", us=2, deps=(2,)),
            node(4, "COMP_NODE", us=1, deps=(1,)),
        )
    # Rank 1 sends at 7 us and the message takes 1 us. Node 3 follows node 2, and node 4 overlaps it.
    assert finish_ns(read_trace(tmp_path / "job", options=RING).program) == 10_000


def test_messages_with_tags(tmp_path: Path) -> None:
    first = [node(k, "COMM_SEND_NODE", comm_src=0, comm_dst=1, comm_size=100 * k, comm_tag=2**31 + k) for k in (1, 2)]
    second = [node(k, "COMM_RECV_NODE", comm_src=0, comm_size=100 * k, comm_tag=2**31 + k) for k in (2, 1)]
    trace(tmp_path / "t" / "x.0.et", *first, version="1.0.0")
    trace(tmp_path / "t" / "x.1.et", *second, version="1.0.0")
    read = read_trace(tmp_path / "t")
    assert read.program.totals()["bytes"] == 300
    assert finish_ns(read.program) == 1000
    trace(
        tmp_path / "t" / "x.1.et", second[0], node(7, "COMM_RECV_NODE", name="odd", comm_src=0, comm_size=1, comm_tag=5)
    )
    with pytest.raises(ConfigError, match=r"x\.\d\.et: node \d .*no partner.*with tag"):
        read_trace(tmp_path / "t")


def test_a_send_does_not_wait_for_its_receiver(tmp_path: Path) -> None:
    # As in ASTRA-sim: both ranks receive after they have sent, and a computation follows the send.
    for rank, size in ((0, 131_072), (1, 131_072)):
        trace(
            tmp_path / "p2p" / f"x.{rank}.et",
            node(1, "COMM_SEND_NODE", comm_dst=1 - rank, comm_size=size),
            node(2, "COMM_RECV_NODE", comm_src=1 - rank, comm_size=size, deps=(1,)),
            node(3, "COMP_NODE", us=7, deps=(1,)),
            node(4, "COMP_NODE", us=5, deps=(2,)),
        )
    program = read_trace(tmp_path / "p2p").program
    assert finish_ns(program) == 7000 + 5000  # one kernel at a time; the message takes 1,000 ns
    assert finish_ns(program, host="mpi", network="simulated") > 12_000
    assert finish_ns(Program.goal(program.to_goal())) == 12_000


def test_groups(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    for rank in range(4):
        trace(folder / f"g.{rank}.et", node(0, "COMM_COLL_NODE", comm_type=7, comm_size=80, pg_name=str(1 + rank % 2)))
    with pytest.raises(ConfigError, match=r"g\.0\.et: node 0 'n': .*process group '1' are unknown.*comm_group\.json"):
        read_trace(folder)
    (folder / "comm_group.json").write_text(json.dumps({"1": [0, 2], "2": [1, 3]}))
    matrix = read_trace(folder, options=RING).program.communication()
    assert [sorted(matrix[1][a:b].tolist()) for a, b in zip(matrix[0], matrix[0][1:], strict=False)] == [
        [2],
        [3],
        [0],
        [1],
    ]
    one = read_trace(folder / "g.0.et", options=TraceOptions(replicate=8, collective="ring")).program.communication()
    assert one[1].tolist() == [2, 3, 0, 1, 6, 7, 4, 5]  # the groups of the other ranks have the same shape


def test_a_record_of_the_framework_takes_its_time(tmp_path: Path) -> None:
    record = node(1, "COMM_COLL_NODE", us=6, name="nccl:all_reduce", is_cpu_op=True)
    kernel = node(2, "COMM_COLL_NODE", deps=(1,), comm_type=0, comm_size=4000, involved_dim=[True])
    kernel.ctrl_deps.append(99)  # the call stack of the recorder
    path = trace(tmp_path / "p.0.et", record, kernel)
    read = read_trace(path, options=TraceOptions(replicate=2, collective="ring"))
    assert finish_ns(read.program) == 8000
    assert read.program.totals()["bytes"] == 8000
    assert any("All 2 ranks play the file of rank 0" in note for note in read.notes)
    assert any("2 communication nodes on the CPU" in note for note in read.notes)
    assert any("1 control dependencies are left out" in note for note in read.notes)


def test_protobuf_json_and_gzip_agree(tmp_path: Path) -> None:
    nodes = [
        node(1, "COMP_NODE", us=5, is_cpu_op=True),
        node(2, "COMM_COLL_NODE", deps=(1,), comm_type="ALL_GATHER", comm_size=3_000_000_000),
    ]
    options = TraceOptions(replicate=3)
    expected = read_trace(trace(tmp_path / "t.et", *nodes), options=options).program.to_goal()
    metadata = messages()[0](version="0.0.4")
    (tmp_path / "t.json").write_text("".join(MessageToJson(each) for each in (metadata, *nodes)))
    (tmp_path / "t.et.gz").write_bytes(gzip.compress((tmp_path / "t.et").read_bytes()))
    (tmp_path / "empty.et").write_bytes(framed(b"", *(each.SerializeToString() for each in nodes)))
    given = [
        {"Id": 1, "Name": "n", "NodeType": 4, "data_deps": [], "runtime": 5, "is_cpu_op": True},
        {"Id": 2, "Name": "n", "NodeType": 7, "data_deps": [1], "comm_type": 2, "comm_size": 3_000_000_000},
    ]
    feeder_json(tmp_path / "feeder.json", given)
    for name in ("t.json", "t.et.gz", "empty.et", "feeder.json"):
        assert read_trace(tmp_path / name, options=options).program.to_goal() == expected, name


BAD: dict[str, tuple[list[Any], str]] = {
    "a cycle": ([node(1, "COMP_NODE", deps=(2,)), node(2, "COMP_NODE", deps=(1,))], "node 1 'n' waits for node 2 'n'"),
    "a missing node": ([node(1, "COMP_NODE", deps=(9,))], "node 1 'n': depends on node 9"),
    "no collective": (
        [node(3, "COMM_COLL_NODE", comm_type=77, comm_size=1)],
        "node 3 'n': comm_type 77 .*0 .ALL_REDUCE",
    ),
    "no size": ([node(3, "COMM_COLL_NODE", comm_type=0)], "node 3 'n': ALL_REDUCE has no attribute comm_size"),
    "no destination": (
        [node(3, "COMM_SEND_NODE", comm_size=4)],
        "node 3 'n': COMM_SEND_NODE has no attribute comm_dst",
    ),
    "no such rank": (
        [node(3, "COMM_SEND_NODE", comm_size=4, comm_dst=7)],
        "node 3 'n': send to rank 7; .* ranks 0 to 0",
    ),
    "a lonely message": (
        [node(3, "COMM_SEND_NODE", comm_size=4, comm_dst=0)],
        "node 3 'n': this message has no partner",
    ),
    "dimensions": (
        [node(3, "COMM_COLL_NODE", comm_type=0, comm_size=4, involved_dim=[True, False])],
        "node 3 'n': involved_dim selects",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_node_is_named(tmp_path: Path, name: str) -> None:
    nodes, message = BAD[name]
    path = trace(tmp_path / "bad.0.et", *nodes)
    with pytest.raises(ConfigError, match=f"bad.0.et: .*{message}") as caught:
        read_trace(path)
    assert str(caught.value).count(str(path)) == 1
