"""What components keep: by name, as views or copies; and two learned tables side by side."""

import numpy as np
import pytest
from core_scenes import config, traffic
from flitgym.simcore import ConfigError, Simulation

BUSY = traffic("adversarial", 0.6)


def biased(observation: str = "progress+q_values") -> Simulation:
    return Simulation(config({"name": "biased", "observation": observation}, BUSY))


def test_what_is_kept_is_told() -> None:
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


def test_what_packets_carry_is_a_copy() -> None:
    par = Simulation(config("par", BUSY))
    par.run(500)
    before, seen = par.state_hash(), par.memory("intermediate")
    seen[...] = 0
    assert par.state_hash() == before
    assert par.memory("intermediate").any()


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"keeps no 'q_value'.*did you mean 'q_values'.*biases, q_values"):
        biased().memory("q_value")
    with pytest.raises(ConfigError, match="keeps nothing"):
        Simulation(config("minimal")).memory("q_table")


def test_two_tables_side_by_side() -> None:
    sim = biased()
    assert [name for name, told in sim.memories().items() if told["learned"]] == ["biases", "q_values"]
    biases, values = sim.memory("biases"), sim.memory("q_values")
    assert sim.q_table is None  # whatever a routing learns goes by its own name
    assert biases.shape[2] == 1
    sim.run(3000)
    assert not biases.any()
    assert values.max() > 10
    # Without the observation it would have gone the same way: nobody heeds it here.
    alone = biased("progress")
    alone.run(3000)
    same = ("packets_delivered", "packet_latency_mean_ns", "hops_mean")
    assert [sim.statistics()[name] for name in same] == [alone.statistics()[name] for name in same]
    # The biases are heeded, and both go with a snapshot.
    biases[...] = -50
    taken = sim.snapshot()
    sim.run(1000)
    other = biased()
    other.restore(taken)
    np.testing.assert_array_equal(other.memory("biases"), -50)
    assert other.memory("q_values").any()
    other.run(1000)
    assert other.state_hash() == sim.state_hash()


@pytest.mark.parametrize(("name", "value"), [("biases", np.nan), ("q_values", np.inf), ("q_values", -1.0)])
def test_nonsense_is_named_in_either_table(name: str, value: float) -> None:
    sim = biased()
    sim.memory(name)[3, 2, 0] = value
    with pytest.raises(ConfigError, match=rf"{name}\[3, 2, 0\].*valid are finite"):
        sim.run(1)
    sim.memory(name)[3, 2, 0] = 0
    sim.run(1)
