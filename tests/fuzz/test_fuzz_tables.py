"""Forwarding tables, demands and policies with changed bytes are read, or refused by the name of their file."""

import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.agents.policy.file import load_policy
from flitgym.configs.policies import shipped_policy
from flitgym.simcore import (
    ChannelGraph,
    ConfigError,
    ForwardingTable,
    Simulation,
    read_demand,
    read_flows,
)
from mutations import fuzz

pytestmark = pytest.mark.deep

HYPERX: dict[str, Any] = {"name": "hyperx", "widths": [4, 4], "terminals_per_router": 2}
WORDS = [
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"\x93NUMPY",
    b"'descr': '<f4'",
    b"'shape': (9999999999,)",
    b"|O8",
    b"format.npy",
]


def one_bit_off(data: bytes, number: int) -> Iterator[bytes]:
    """`number` copies with one flipped bit each, spread over the file."""
    for k in range(number):
        copy = bytearray(data)
        copy[k * len(data) // number] ^= 1 << (k % 8)
        yield bytes(copy)


@pytest.fixture(scope="module")
def graph() -> ChannelGraph:
    return ChannelGraph(HYPERX)


@pytest.fixture(scope="module")
def tables(graph: ChannelGraph, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("tables")
    table = ForwardingTable.route(graph, "dfsssp")
    table.save(folder / "table.npz")
    table.save_dump(folder / "lfts.dump")
    dump = (folder / "lfts.dump").read_bytes()
    rows = [f"{s},{t},{port}" for s, ports in enumerate(table.port) for t, port in enumerate(ports)]
    return {
        "table.npz": (folder / "table.npz").read_bytes(),
        "lfts.dump": dump,
        "packed.dump.gz": gzip.compress(dump),
        "list.lft.csv": "\n".join(["switch,host,port", *rows]).encode(),
    }


def matrices() -> dict[str, bytes]:
    matrix = np.random.default_rng(1).integers(0, 9, (32, 32)).astype(float)
    flows = "source,destination,weight\n" + "".join(f"{k},{(k + 5) % 32},{k + 1}\n" for k in range(32))
    single, archive, sparse = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(single, matrix)
    np.savez_compressed(archive, matrix)
    first, peer = np.arange(0, 33), np.arange(32)[::-1]
    np.savez(sparse, data=np.ones(32), indices=peer, indptr=first, shape=np.array([32, 32]), format=np.array(b"csr"))
    entries = "".join(f"{k + 1} {(k + 5) % 32 + 1} {k + 1}.5\n" for k in range(32))
    return {
        "matrix.npy": single.getvalue(),
        "matrix.npz": archive.getvalue(),
        "sparse.npz": sparse.getvalue(),
        "flows.csv": flows.encode(),
        "flows.csv.gz": gzip.compress(flows.encode()),
        "matrix.mtx": f"%%MatrixMarket matrix coordinate real general\n32 32 32\n{entries}".encode(),
        "schedule.goal": b"num_ranks 2\nrank 0 {\na: send 70b to 1 tag 1\n}\nrank 1 {\nb: recv 70b from 0 tag 1\n}\n",
    }


def reader(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """Writes bytes to a file and reads it. A refusal must name the file."""

    def run(data: bytes) -> None:
        path.write_bytes(data)
        try:
            read(path)
        except ConfigError as error:
            assert str(error).startswith((str(path), f"policy file {path}")), error  # noqa: PT017
            raise

    return run


def check(data: bytes, read: Callable[[bytes], None], runs: int) -> None:
    fuzz([data], WORDS, runs, read, (ConfigError,))
    for flipped in one_bit_off(data, runs):
        with suppress(ConfigError):
            read(flipped)


@pytest.mark.parametrize("name", ["table.npz", "lfts.dump", "packed.dump.gz", "list.lft.csv"])
def test_a_damaged_table(graph: ChannelGraph, tables: dict[str, bytes], tmp_path: Path, name: str) -> None:
    check(tables[name], reader(tmp_path / name, lambda path: ForwardingTable.load(path, graph)), 150)


@pytest.mark.parametrize("name", matrices())
def test_a_damaged_demand(graph: ChannelGraph, tmp_path: Path, name: str) -> None:
    def read(path: Path) -> None:
        demand = read_demand(path, graph)
        assert np.isfinite(ForwardingTable.route(graph, "min_hop").loads(demand)["channel"]).all()

    check(matrices()[name], reader(tmp_path / name, read), 150)


def test_damaged_flows(graph: ChannelGraph, tmp_path: Path) -> None:
    check(matrices()["flows.csv.gz"], reader(tmp_path / "flows.csv.gz", lambda path: read_flows(path, graph)), 150)


def test_the_core_and_load_policy_refuse_the_same_policies(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    whole = Path(shipped_policy("dqn")).read_bytes()
    size = 8 + int.from_bytes(whole[:8], "little")
    config = {"topology": HYPERX, "traffic": "uniform", "routing": {"name": "policy", "path": str(path)}}

    def read(data: bytes) -> None:
        path.write_bytes(data)
        try:
            Simulation(config)
        except ConfigError as error:
            assert str(path) in str(error) or "routing" in str(error), error  # noqa: PT017
            raise
        layers, metadata = load_policy(path)  # load_policy must accept every policy that the core accepts
        assert layers
        assert metadata

    check(whole, read, 100)
    header = whole[:size]
    for flipped in one_bit_off(header, 300):
        with suppress(ConfigError):
            read(flipped + whole[size:])
