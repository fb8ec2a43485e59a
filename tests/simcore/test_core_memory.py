"""Arrays that components keep: by name, as views or copies, and two learned tables together."""

import numpy as np
from core_scenes import config, traffic
from flitgym.simcore import Simulation

BUSY = traffic("adversarial", 0.6)


def biased(observation: str = "progress+q_values") -> Simulation:
    return Simulation(config({"name": "biased", "observation": observation}, BUSY))


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


def test_two_learned_tables_are_independent() -> None:
    sim = biased()
    assert [name for name, told in sim.memories().items() if told["learned"]] == ["biases", "q_values"]
    biases, values = sim.memory("biases"), sim.memory("q_values")
    assert sim.q_table is None  # q_table is only for Q-tables; other learned tables have their own names
    assert biases.shape[2] == 1
    sim.run(3000)
    assert not biases.any()
    assert values.max() > 10
    # The table of this observation does not affect the run, because no decision reads it.
    alone = biased("progress")
    alone.run(3000)
    same = ("packets_delivered", "packet_latency_mean_ns", "hops_mean")
    assert [sim.statistics()[name] for name in same] == [alone.statistics()[name] for name in same]
    # The biases affect decisions, and a snapshot includes both tables.
    biases[...] = -50
    taken = sim.snapshot()
    sim.run(1000)
    other = biased()
    other.restore(taken)
    np.testing.assert_array_equal(other.memory("biases"), -50)
    assert other.memory("q_values").any()
    other.run(1000)
    assert other.state_hash() == sim.state_hash()
