"""Placement by demand from Python: mappers of libraries, matrices of applications, and runs of mapped jobs."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from core_scenes import SMALL, router
from flitgym.simcore import (
    ChannelGraph,
    ConfigError,
    ForwardingTable,
    Program,
    Simulation,
    exchange_of,
    read_matrix_market,
    registered,
)

sparse = pytest.importorskip("scipy.sparse")
mmwrite = pytest.importorskip("scipy.io").mmwrite

HOSTS_FREE = {"host": "loggops", "loggops_o_ns": 0, "loggops_g_ns": 0, "blame": False}


def placed(jobs: list[dict[str, Any]], topology: Any = SMALL, routing: str = "minimal", **more: Any) -> Simulation:
    workload = {"placement": "mapped", **HOSTS_FREE, **more, "jobs": jobs}
    return Simulation({"topology": topology, "router": router("sc22"), "routing": routing, "workload": workload})


def torus(*sizes: int) -> dict[str, Any]:
    return {"name": "torus", "sizes": list(sizes)}


def halo(ranks: int, **more: Any) -> dict[str, Any]:
    return {"name": "halo", "motif": "halo3d", "ranks": ranks, "iterations": 1, "bytes": 4096, **more}


def terminals(sim: Simulation) -> list[int]:
    return [int(t) for job in sim.jobs() for t in job["rank_terminal"]]


def kkt_matrix(n: int) -> Any:
    """The matrix of the motif kkt3d, entry by entry."""
    line = sparse.diags_array([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1])
    # z, y, x; without a format, scipy may store zeros as entries
    grid = sparse.kron(line, sparse.kron(line, line, "csr"), "csr")
    point = np.arange(n**3).reshape(n, n, n)
    faces = [point[:, :, 0], point[:, :, -1], point[:, 0, :], point[:, -1, :], point[0], point[-1]]
    rows, columns = [], []
    for f, face in enumerate(faces):
        for b in range(n):
            for a in range(n):
                near = face[max(b - 1, 0) : b + 2, max(a - 1, 0) : a + 2].ravel()
                columns += [f * n * n + b * n + a] * len(near)
                rows += near.tolist()
    control = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n**3, 6 * n * n))
    own, controls = sparse.eye_array(n**3), sparse.eye_array(6 * n * n)
    return sparse.block_array([[own, None, grid.T], [None, controls, control.T], [grid, control, own]])


@pytest.mark.parametrize(("n", "ranks"), [(5, 7), (6, 20), (4, 1), (3, 108), (12, 40)])
def test_the_exchange_of_kkt3d_equals_that_of_its_matrix(n: int, ranks: int) -> None:
    wanted = exchange_of(kkt_matrix(n), ranks)
    first, peer, size = Program.motif("kkt3d", {"n": n, "ranks": ranks, "iterations": 1}).communication()
    found = sparse.csr_array((size, peer, first), shape=(ranks, ranks))
    assert (wanted != found).nnz == 0
    assert found.nnz == wanted.nnz


def test_kkt_has_the_size_of_the_published_matrix() -> None:
    def size(n: int) -> tuple[int, int]:
        return 2 * n**3 + 6 * n**2, 2 * (3 * n - 2) ** 3 + 12 * (3 * n - 2) ** 2 + 2 * n**3 + 6 * n**2

    for n in (2, 5, 8):
        matrix = kkt_matrix(n).tocsr()
        assert (matrix.shape[0], matrix.nnz) == size(n)
    rows, entries = size(240)
    assert rows == 27_993_600
    assert (entries + rows) // 2 == 401_232_976  # a triangle that includes the diagonal


def test_an_exchange_matches_hand_computed_values() -> None:
    # Ranks own rows 0, 1 | 2, 3 | 4. Row 0 needs columns 2 and 4; row 1 needs 2, row 3 needs 1, and row 4 needs 0 and
    # 1.
    matrix = sparse.coo_array((np.ones(6), ([0, 0, 1, 3, 4, 4], [2, 4, 2, 1, 0, 1])), shape=(5, 5))
    assert exchange_of(matrix, 3, bytes_per_value=4).toarray().tolist() == [[0, 4, 8], [4, 0, 0], [4, 0, 0]]
    assert exchange_of(matrix).shape == (5, 5)
    with pytest.raises(ConfigError, match=r"ranks: 6.* 5 rows"):
        exchange_of(matrix, 6)
    with pytest.raises(ConfigError, match=r"\(5, 4\)"):
        exchange_of(matrix.tocsr()[:, :4], 2)


def test_a_program_of_a_matrix() -> None:
    matrix = np.array([[0, 10, 0], [5, 7, 0], [0, 0, 0]])
    program = Program.exchange(matrix, iterations=3)
    totals = program.totals()
    assert (totals["bytes"], totals["messages"], totals["receives"]) == (45, 6, 6)
    first, peer, size = program.communication()
    assert (first.tolist(), peer.tolist(), size.tolist()) == ([0, 1, 2, 2], [1, 0], [30, 15])
    sim = placed([{"name": "matrix", "program": program}])
    assert sim.run_workload(1_000_000)
    with pytest.raises(ConfigError, match=r"\(2, 3\)"):
        Program.exchange(np.ones((2, 3)))


def test_matrix_market_files(tmp_path: Path) -> None:
    path = tmp_path / "graph.mtx"
    matrix = sparse.coo_array((np.ones(4), ([1, 0, 3, 2], [0, 1, 2, 3])), shape=(4, 4))
    mmwrite(path, matrix, symmetry="symmetric")
    assert (read_matrix_market(path) != matrix).nnz == 0


@pytest.mark.parametrize("mapping", registered("workload")["workload"]["params"]["mapping"]["choices"])
def test_every_mapping_places_and_runs(mapping: str) -> None:
    if mapping == "multicore":
        pytest.importorskip("pymetis")
    jobs = [halo(30), {**halo(24), "name": "other"}]
    sim, again = placed(jobs, mapping=mapping), placed(jobs, mapping=mapping)
    at = terminals(sim)
    assert len(set(at)) == 54
    assert at == terminals(again)
    facts = sim.mapping()
    assert facts is not None
    assert facts["mapper"] == mapping
    assert facts["dilation"] <= facts["start_dilation"] + 1e-12
    quality = sim.mapping_quality()
    assert quality["dilation"] == facts["dilation"]
    assert quality["worst_congestion_bytes"] == facts["worst_congestion_bytes"]
    assert sim.run_workload(10_000_000), sim.waiting()


def test_dilation_equals_the_mean_hops_of_packets() -> None:
    for topology, routing in ((torus(4, 4, 4), "minimal"), (SMALL, "minimal"), (torus(5, 4), "dimension_order")):
        sim = placed([halo(20)], topology, routing, mapping_terminals="random", mapping="in_order")
        sim.begin_window()
        assert sim.run_workload(10_000_000)
        facts = sim.mapping()
        assert facts is not None
        assert sim.jobs()[0]["hops_mean"] == pytest.approx(facts["dilation"], rel=1e-12)  # 8 packets per message


def test_congestion_equals_the_bytes_on_the_busiest_channel() -> None:
    # A stencil on a torus of its own shape uses one channel per message.
    own = halo(64, grid=[4, 4, 4], periodic=True)
    sim = placed([own], torus(4, 4, 4), mapping="in_order", mapping_refine="none")
    sim.begin_window()
    assert sim.run_workload(10_000_000)
    sim.end_window()
    facts = sim.mapping()
    assert facts is not None
    assert (facts["dilation"], facts["worst_congestion_bytes"], facts["mean_congestion_bytes"]) == (1, 4096, 4096)
    channels = sim.channels()
    between = channels["flits"][channels["kind"] == 1]
    assert set(between.tolist()) == {4096 // 128}


def test_a_pickle_keeps_the_mapping() -> None:
    sim = placed([halo(40)], mapping="recursive", mapping_time_s=0.05)
    sim.run(2000)
    copy = pickle.loads(pickle.dumps(sim))
    assert terminals(copy) == terminals(sim)
    assert copy.state_hash() == sim.state_hash()
    sim.run_workload(10_000_000)
    copy.run_workload(10_000_000)
    assert copy.state_hash() == sim.state_hash()


def test_quality_of_other_mappings_and_tables() -> None:
    sim = placed([halo(64, grid=[4, 4, 4], periodic=True)], torus(4, 4, 4), mapping="in_order", mapping_refine="none")
    program = Program.motif("halo3d", {"grid": [4, 4, 4], "periodic": True, "iterations": 1, "bytes": 4096})
    assert sim.mapping_quality(program) == sim.mapping_quality()
    table = ForwardingTable.route(ChannelGraph(torus(4, 4, 4)), "min_hop")
    assert sim.mapping_quality(table=table)["dilation"] == 1
    shuffled = np.random.default_rng(1).permutation(64)
    assert sim.mapping_quality(program, shuffled, table)["dilation"] == pytest.approx(
        sim.mapping_quality(program, shuffled)["dilation"]
    )
    everybody = np.ones((64, 64))
    assert sim.mapping_quality(everybody, shuffled)["dilation"] == pytest.approx(3 * 64 / 63)
    with pytest.raises(ConfigError, match=r"3 .*64 ranks"):
        sim.mapping_quality(everybody, [1, 2, 3])
