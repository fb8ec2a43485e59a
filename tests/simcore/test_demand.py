"""Demands of engines: matrices, motifs and schedules in every form, invalid demands, and the benefit of balancing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from core_scenes import config, traffic
from flitgym.simcore import (
    ChannelGraph,
    Demand,
    ForwardingTable,
    Program,
    Simulation,
    read_demand,
)
from numpy.typing import NDArray
from table_scenes import paths

HYPERX: dict[str, Any] = {"name": "hyperx", "widths": [4, 4], "terminals_per_router": 2}  # 32 terminals


@pytest.fixture(scope="module")
def graph() -> ChannelGraph:
    return ChannelGraph(HYPERX)


@pytest.fixture(scope="module")
def table(graph: ChannelGraph) -> ForwardingTable:
    return ForwardingTable.route(graph, "dfsssp")


def exchange(ranks: int) -> NDArray[np.float64]:
    """A ring and a few long-distance flows, in bytes."""
    matrix = np.zeros((ranks, ranks))
    for rank in range(ranks):
        matrix[rank, (rank + 1) % ranks] = 100
        matrix[rank, (rank * 5 + 3) % ranks] += 1000
    np.fill_diagonal(matrix, 0)
    return matrix


def loads(table: ForwardingTable, demand: Any) -> NDArray[np.float64]:
    return table.loads(read_demand(demand, table.graph))["channel"]


def test_one_matrix_in_every_form(graph: ChannelGraph, table: ForwardingTable, tmp_path: Path) -> None:
    matrix = exchange(32)
    rows, columns = np.nonzero(matrix)
    wanted = np.zeros(graph.channels)
    for source, destination, channels in paths(table):
        wanted[channels] += matrix[source, destination]
    np.save(tmp_path / "dense.npy", matrix)
    np.savez(tmp_path / "dense.npz", matrix)
    lines = [f"{s},{d},{matrix[s, d]}" for s, d in zip(rows, columns, strict=True)]
    (tmp_path / "list.csv").write_text("\n".join(["source,destination,weight", *lines]))
    sparse = pytest.importorskip("scipy.sparse")
    for kind in ("csr", "csc"):
        sparse.save_npz(tmp_path / f"{kind}.npz", sparse.coo_array(matrix).asformat(kind))
    pytest.importorskip("scipy.io").mmwrite(tmp_path / "matrix.mtx", sparse.coo_matrix(matrix), precision=17)
    forms = [
        matrix,
        matrix.tolist(),
        matrix.astype(int),
        Program.exchange(matrix),
        Demand(32, rows, columns, matrix[rows, columns]),
    ]
    forms += [
        sparse.csr_array(matrix),
        sparse.coo_matrix(matrix),
        str(tmp_path / "dense.npy"),
        *sorted(tmp_path.iterdir()),
    ]
    for form in forms:
        np.testing.assert_allclose(loads(table, form), wanted, err_msg=str(form))


def test_ranks_are_placed_on_the_terminals_in_order(table: ForwardingTable, tmp_path: Path) -> None:
    few = np.zeros((32, 32))
    few[:5, :5] = exchange(5)
    np.testing.assert_allclose(loads(table, Program.exchange(exchange(5))), loads(table, few))
    schedule = tmp_path / "pair.goal"
    schedule.write_text(
        "num_ranks 3\nrank 0 {\ns: send 700b to 2 tag 1\n}\nrank 1 {\n}\nrank 2 {\nr: recv 700b from 0 tag 1\n}\n"
    )
    sent = np.zeros((32, 32))
    sent[0, 2] = 700
    np.testing.assert_allclose(loads(table, schedule), loads(table, sent))


def test_motifs_by_name(table: ForwardingTable) -> None:
    for name, ranks in (("motif:halo3d", 32), ("motif:halo3d:8", 8), ("motif:fft3d", 32)):
        program = Program.motif(name.split(":")[1], {"ranks": ranks})
        np.testing.assert_allclose(loads(table, name), loads(table, program))


def test_the_simulation_accepts_all_forms(table: ForwardingTable) -> None:
    def played(demand: Any) -> str:
        routing = {"name": "table", "engine": "dfsssp", "demand": demand}
        simulation = Simulation(config(routing, traffic("uniform", 0.3), topology=HYPERX))
        simulation.run(300)
        return simulation.state_hash()

    sparse = pytest.importorskip("scipy.sparse")
    aware = played(exchange(32))
    assert aware == played(sparse.csr_array(exchange(32))) == played(Program.exchange(exchange(32)))
    assert aware != played("")
    assert played("motif:halo3d") != played("")
