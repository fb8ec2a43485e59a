"""The number of partitions that a configuration asks for."""

import copy
import pickle

from flitgym.simcore import Simulation

LARGE = {"topology": "dragonfly", "routing": "minimal", "traffic": {"name": "uniform", "load": 0.3}, "seed": 1}


def test_a_network_has_the_partitions_that_its_configuration_asks_for() -> None:
    one, three = Simulation({**LARGE, "partitions": 1}), Simulation({**LARGE, "partitions": 3})
    assert (one.facts()["partitions"], three.facts()["partitions"]) == (1, 3)
    assert (two := Simulation({**LARGE, "threads": 2})).facts()["partitions"] == two.threads == 2
    three.threads = 3
    for simulation in (one, three):
        simulation.run(300)
    assert three.statistics() == one.statistics()
    again = Simulation(three.configuration())
    again.restore(three.snapshot())
    assert again.state_hash() == three.state_hash()
    assert three.state_hash() == copy.deepcopy(three).state_hash() == pickle.loads(pickle.dumps(three)).state_hash()
