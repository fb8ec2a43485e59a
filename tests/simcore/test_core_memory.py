"""Arrays that components keep: by name, as views or copies, and two learned tables together."""

from core_scenes import config, traffic
from flitgym.simcore import Simulation

BUSY = traffic("adversarial", 0.6)


def test_kept_arrays_are_listed() -> None:
    par = Simulation(config("par", BUSY))
    par.run(500)
    (told,) = par.memories().items()
    pool = par.memory("intermediate").shape
    assert told[0] == "intermediate"
    assert {key: told[1][key] for key in ("per", "shape", "type", "learned")} == {
        "per": "packet",
        "shape": pool,
        "type": "uint32",
        "learned": False,
    }
    assert pool[0] > 50
    assert (par.memory("intermediate") < par.facts()["routers"]).all()
    assert par.q_table is None
    assert Simulation(config("minimal")).memories() == {}
    learning = Simulation(config("q_adaptive", BUSY))
    assert learning.memories()["q_table"]["shape"] == learning.q_table.shape
    assert learning.memories()["q_table"]["meaning"] == learning.facts()["table_layout"]


def test_arrays_of_packets_are_copies() -> None:
    par = Simulation(config("par", BUSY))
    par.run(500)
    before, seen = par.state_hash(), par.memory("intermediate")
    seen[...] = 0
    assert par.state_hash() == before
    assert par.memory("intermediate").any()
