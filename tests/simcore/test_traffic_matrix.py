"""Traffic by a matrix: files and arrays, rates, invalid matrices, and the matrix in the identity of a run."""

import copy
import pickle
from pathlib import Path
from typing import Any

import flitgym
import numpy as np
import pytest
from flitgym.simcore import ConfigError, Simulation
from numpy.typing import NDArray

N = 72
Matrix = NDArray[np.float64]


def simulation(matrix: Any = None, load: float = 0.3, routing: str = "minimal", **more: Any) -> Simulation:
    traffic = {"name": "matrix", "load": load, **({} if matrix is None else {"matrix": matrix}), **more}
    return Simulation(
        {"topology": "dragonfly_72", "router": "input_queued", "routing": routing, "traffic": traffic, "seed": 3}
    )


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    rates = np.random.default_rng(5).exponential(size=(N, N))
    rates[np.random.default_rng(6).random((N, N)) < 0.5] = 0
    rates[7] = 0
    np.fill_diagonal(rates, 0)
    return rates


def hash_of(sim: Simulation) -> str:
    sim.run(1500)
    return sim.state_hash()


@pytest.mark.parametrize(
    ("pattern", "share"),
    [
        ({"name": "random_bisection"}, 1 / 2),
        ({"name": "flows", "sources": [0, 7, 9], "destinations": [3, 1, 2]}, 3 / 72),
    ],
)
def test_silent_terminals_offer_nothing(pattern: dict[str, Any], share: float) -> None:
    simulation = Simulation(
        {"topology": "dragonfly", "routing": "minimal", "router": {"name": "vc_router"}, "seed": 1,
         "traffic": {**pattern, "load": 0.1}}
    )  # fmt: skip
    share *= 72 / simulation.facts()["terminals"] if pattern["name"] == "flows" else 1
    simulation.begin_window()
    simulation.run(20_000)
    numbers = simulation.statistics()
    assert numbers["offered_load"] == pytest.approx(0.1 * share)
    assert numbers["accepted_load"] == pytest.approx(numbers["offered_load"], rel=0.05)


def test_a_file_and_an_array_give_the_same_run(matrix: Matrix, tmp_path: Path) -> None:
    np.save(tmp_path / "rates.npy", matrix)
    runs = [simulation(file=str(tmp_path / "rates.npy")), simulation(matrix.tolist()), simulation(8 * matrix)]
    assert {hash_of(run) for run in runs} == {hash_of(simulation(matrix))}


def test_copies_and_pickles_continue_alike(matrix: Matrix, tmp_path: Path) -> None:
    np.save(tmp_path / "rates.npy", matrix)
    sim = simulation(file=str(tmp_path / "rates.npy"))
    sim.run(500)
    pickled = pickle.dumps(sim)
    (tmp_path / "rates.npy").unlink()
    copies = [copy.deepcopy(sim), pickle.loads(pickled)]
    hashes = {hash_of(one) for one in (sim, *copies)}
    assert len(hashes) == 1
    # A snapshot fits only its own matrix.
    other = simulation(matrix.T.copy())
    with pytest.raises(ValueError, match="snapshot"):
        other.restore(sim.snapshot())


def test_traffic_to_itself_turns_back_in_its_router(matrix: Matrix) -> None:
    rates = 0 * matrix
    rates[0, 71], rates[0, 0] = 1, 3
    sim = simulation(rates)
    sim.begin_window()
    sim.run(20_000)
    assert sim.statistics()["hops_mean"] == pytest.approx(3 / 4, rel=0.1)  # three hops to group 8 for a quarter


def test_terminals_that_fail_are_left_out_of_the_matrix(matrix: Matrix) -> None:
    sections: dict[str, Any] = {
        "topology": "dragonfly_72",
        "routing": "minimal",
        "failures": {"terminals": [0, 1], "events": ["0.02@20000"]},
    }
    with pytest.raises(ConfigError, match=r"72 x 72.* 70 terminals"):
        Simulation({**sections, "traffic": {"name": "matrix", "matrix": matrix}})
    sim = Simulation({**sections, "traffic": {"name": "matrix", "matrix": matrix[2:, 2:]}})
    sim.run(500)
    assert sim.facts()["terminals"] == 70


@pytest.mark.deep
def test_arrays_of_a_program_become_files_of_the_results(matrix: Matrix, tmp_path: Path) -> None:
    words = ["topology=dragonfly_72", "router=input_queued", "routing=minimal", "traffic=matrix"]
    short: dict[str, Any] = {"run.warmup_ns": 0, "run.measure_ns": 1500, "traffic.load": 0.3, "seed": 3}
    alone = flitgym.simulate(*words, **short, **{"traffic.file": matrix})
    direct = simulation(matrix)
    direct.begin_window()
    direct.run(1500)
    direct.end_window()
    assert alone["state_hash"] == direct.state_hash()
    several = {"traffic.file": [matrix, matrix.T.copy()]}
    runs = flitgym.sweep(words, results=tmp_path, progress=False, **short, **several)
    assert [run["state_hash"] == alone["state_hash"] for run in runs] == [True, False]
    assert len(list((tmp_path / "matrices").glob("*.npz"))) == 2
    again = flitgym.sweep(words, results=tmp_path, progress=False, **short, **several)
    assert [run["wall_seconds"] for run in again] == [run["wall_seconds"] for run in runs]
