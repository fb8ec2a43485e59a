"""Q-table files from any source are loaded completely, or refused by name without a change of the table."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from flitgym.simcore import ConfigError, Simulation
from mutations import fuzz

pytestmark = pytest.mark.deep

WORLD = {
    "topology": {
        "name": "dragonfly", "terminals_per_router": 1, "routers_per_group": 2, "global_ports": 1, "groups": 3
    },
    "routing": "q_adaptive",
    "traffic": "uniform",
    "seed": 1,
}  # fmt: skip


def archive(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Simulation, Path, dict[str, np.ndarray]]:
    sim, path = Simulation(WORLD), tmp_path / "table.npz"
    sim.run(500)
    sim.save_q_table(path)
    with np.load(path) as held:
        return sim, path, dict(held)


def test_mutated_tables(saved: tuple[Simulation, Path, dict[str, np.ndarray]]) -> None:
    sim, path, held = saved
    corpus = [path.read_bytes(), archive(**held), archive(**{**held, "table": held["table"].astype(np.float64)})]
    words = [
        b"PK\x03\x04",
        b"PK\x01\x02",
        b"\x93NUMPY",
        b"'descr': '<f4'",
        b"'shape': (9999999999,)",
        b"table.npy",
        b"|O8",
    ]

    def read(data: bytes) -> None:
        path.write_bytes(data)
        before = sim.state_hash()
        try:
            sim.load_q_table(path)
        except ConfigError:
            assert sim.state_hash() == before
            raise
        sim.run(20)

    fuzz(corpus, words, 700, read, (ConfigError,))


def odd_files(held: dict[str, np.ndarray]) -> dict[str, tuple[bytes, str]]:
    """Odd files by kind of mistake, each with its expected message."""
    one = io.BytesIO()
    np.save(one, held["table"])
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("layout", "topology"):
            text = io.BytesIO()
            np.save(text, held[name])
            file.writestr(f"{name}.npy", text.getvalue())
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f4", "fortran_order": False, "shape": (2_000_000_000,)}
        )
        file.writestr("table.npy", header.getvalue() + bytes(8_000_000))
    huge = held["table"].astype(np.float64)
    huge[np.isfinite(huge)] = 1e300
    return {
        "one array": (one.getvalue(), "not a Q-table"),
        "8 GB": (bomb.getvalue(), "2000000000"),
        "numbers for words": (archive(table=held["table"], layout=np.zeros(3), topology=held["topology"]), "not text"),
        "beyond 32 bits": (archive(**{**held, "table": huge}), r"q_table\[0, 0, .*not finite"),
        "negative": (archive(**{**held, "table": -held["table"]}), r"q_table\[0, 0, .*negative|not finite"),
    }


def test_odd_files_are_refused_by_name(saved: tuple[Simulation, Path, dict[str, np.ndarray]]) -> None:
    sim, path, held = saved
    before = sim.state_hash()
    for what, (data, message) in odd_files(held).items():
        path.write_bytes(data)
        with pytest.raises(ConfigError, match=message) as caught:
            sim.load_q_table(path)
        assert "table.npz" in str(caught.value), what
        assert sim.state_hash() == before, what
