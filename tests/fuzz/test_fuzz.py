"""Mutated files are read, or refused by an error that names the file."""

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.configs.policies import shipped_policy
from flitgym.simcore import ChannelGraph, ConfigError, CoreError, ForwardingTable, Simulation, read_demand
from flitgym.simcore._policy_file import load_policy
from flitgym.simcore.traces import TraceOptions, read_trace
from mutations import fuzz

sys.path.append(str(Path(__file__).parents[1] / "simcore"))
from test_liballprof_traces import INT, Rank
from trace_files import node, trace

pytestmark = pytest.mark.deep

DATA = Path(__file__).parents[1] / "data"
HYPERX: dict[str, Any] = {"name": "hyperx", "widths": [4, 4], "terminals_per_router": 2}
Q_ROUTING: dict[str, Any] = {"topology": HYPERX, "routing": "q_routing", "traffic": "uniform", "seed": 1}
WORDS = [
    *(b"PK\x03\x04", b"PK\x01\x02", b"\x93NUMPY", b"'descr': '<f4'", b"'shape': (9999999999,)", b"|O8", b"\xff" * 9),
    *(b"null", b"-1", b"NaN", b"1e999", b"9" * 20, b"{", b"[" * 9, b'"', b"\n", b"\0"),
    *(b"MPI_Finalize:9:-\n", b"rank 1 {"),
]


@pytest.fixture(scope="module")
def graph() -> ChannelGraph:
    return ChannelGraph(HYPERX)


# --- Forwarding tables, Q-tables, demands and policies ----------------------------------------------------------------


def tables(folder: Path) -> dict[str, bytes]:
    table = ForwardingTable.route(ChannelGraph(HYPERX), "dfsssp")
    table.save(folder / "table.npz")
    table.save_dump(folder / "lfts.dump")
    names = table.graph.switch_names, table.graph.terminal_names
    rows = [f"{names[0][s]},{names[1][t]},{port}" for s, row in enumerate(table.port) for t, port in enumerate(row)]
    return {
        "table.npz": (folder / "table.npz").read_bytes(),
        "lfts.dump": (folder / "lfts.dump").read_bytes(),
        "list.lft.csv": "\n".join(["switch,host,port", *rows]).encode(),
    }


def demands(folder: Path) -> dict[str, bytes]:
    flows = "source,destination,weight\n" + "".join(f"{k},{(k + 5) % 32},{k + 1}\n" for k in range(32))
    matrix = io.BytesIO()
    np.savez_compressed(matrix, np.random.default_rng(1).integers(0, 9, (32, 32)).astype(float))
    entries = "".join(f"{k + 1} {(k + 5) % 32 + 1} {k + 1}.5\n" for k in range(32))
    return {
        "matrix.npz": matrix.getvalue(),
        "flows.csv.gz": gzip.compress(flows.encode()),
        "matrix.mtx": f"%%MatrixMarket matrix coordinate real general\n32 32 32\n{entries}".encode(),
    }


def named(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        path.write_bytes(data)
        try:
            read(path)
        except ConfigError as error:
            assert path.name in str(error)  # noqa: PT017
            raise

    return run


@pytest.mark.parametrize("name", ["table.npz", "lfts.dump", "list.lft.csv"])
def test_a_table(graph: ChannelGraph, tmp_path: Path, name: str) -> None:
    corpus = [tables(tmp_path)[name]]
    fuzz(corpus, WORDS, 150, named(tmp_path / name, lambda path: ForwardingTable.load(path, graph)), (ConfigError,))


@pytest.mark.parametrize("name", ["matrix.npz", "flows.csv.gz", "matrix.mtx"])
def test_a_demand(graph: ChannelGraph, tmp_path: Path, name: str) -> None:
    corpus = [demands(tmp_path)[name]]
    fuzz(corpus, WORDS, 150, named(tmp_path / name, lambda path: read_demand(path, graph)), (ConfigError,))


def test_a_q_table_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    path, sim = tmp_path / "q.npz", Simulation(Q_ROUTING)
    sim.save_q_table(path)

    def read(path: Path) -> None:
        before = sim.state_hash()
        try:
            sim.load_q_table(path)
        except ConfigError:
            assert sim.state_hash() == before
            raise

    fuzz([path.read_bytes()], WORDS, 300, named(path, read), (ConfigError,))


def test_the_core_and_load_policy_refuse_the_same_policies(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"

    def read(path: Path) -> None:
        Simulation({"topology": HYPERX, "traffic": "uniform", "routing": {"name": "policy", "path": str(path)}})
        load_policy(path)

    def run(data: bytes) -> None:
        path.write_bytes(data)
        read(path)

    fuzz([Path(shipped_policy("dqn")).read_bytes()], WORDS, 200, run, (ConfigError,))


# --- Traces -----------------------------------------------------------------------------------------------------------

AICB = b"""HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 ga: 2 all_gpus: 16 checkpoints: 1 0 \
checkpoint_initiates: 1 1 pp_comm: 64
2
a -1 5 ALLGATHER 640 7 REDUCESCATTER 640 1 NONE 0 100
b -1 5 ALLTOALL_EP 640 7 BROADCAST 320 1 ALLREDUCE_DP_EP 1600 100
"""
FEEDER = b"""{"workload_graph": [
 {"Id": 1, "Name": "a", "NodeType": 4, "data_deps": [], "runtime": 5, "is_cpu_op": true},
 {"Id": 2, "Name": "b", "NodeType": 7, "data_deps": [1], "comm_type": 0, "comm_size": 4000, "pg_name": ""}]}"""


def liballprof() -> bytes:
    rank = Rank(0, 1)
    rank.call("Irecv", 1, 4, INT, 0, 3, rank.world, 64).call("Isend", 1, 4, INT, 0, 3, rank.world, 72)
    rank.call("Waitall", 2, 64, 0, gap=2).call("Allreduce", 1, 2, 6, INT, 3, rank.world)
    return rank.call("Comm_split", rank.world, 0, 0, 5).end().encode()


def chakra(folder: Path) -> bytes:
    collective = node(2, "COMM_COLL_NODE", deps=(1,), comm_type="ALL_TO_ALL", comm_size=4096, involved_dim=[True])
    send = node(3, "COMM_SEND_NODE", deps=(2,), comm_src=0, comm_dst=1, comm_size=64, comm_tag=3)
    receive = node(4, "COMM_RECV_NODE", deps=(2,), comm_src=3, comm_dst=0, comm_size=64, comm_tag=3)
    return trace(folder / "seed.et", node(1, "COMP_NODE", us=5), collective, send, receive).read_bytes()


@pytest.mark.parametrize("name", ["aicb", "chakra", "feeder", "liballprof", "goal", "goal_binary"])
def test_a_trace(tmp_path: Path, name: str) -> None:
    whole = {
        "aicb": AICB,
        "chakra": chakra(tmp_path),
        "feeder": FEEDER,
        "liballprof": liballprof(),
        "goal": (DATA / "goal" / "overlap.goal").read_bytes(),
        "goal_binary": (DATA / "traces" / "goal_binary" / "binary_tree_32.bin").read_bytes(),
    }[name]
    format_ = "chakra" if name == "feeder" else name
    options = TraceOptions(replicate=4) if format_ == "chakra" else TraceOptions()

    def read(path: Path) -> None:
        read_trace(path, format=format_, options=options).program.check()

    fuzz([whole], WORDS, 300, named(tmp_path / "trace.0.bin", read), (ConfigError, CoreError))
