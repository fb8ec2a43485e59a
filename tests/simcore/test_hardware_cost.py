"""The hardware cost that components declare, against counts by hand and the shapes of shipped policies."""

import math

import numpy as np
import pytest
from core_scenes import SYSTEM, config, router
from flitgym.configs.policies import shipped_policy
from flitgym.simcore import ConfigError, Simulation
from flitgym.simcore._policy_file import load_policy

HYPERX = {"name": "hyperx", "widths": [4, 4], "terminals_per_router": 2}


@pytest.mark.parametrize("weights", ["float32", "8bit"])
def test_a_policy(weights: str) -> None:
    path, candidates = shipped_policy("dqn"), 5.5
    simulation = Simulation(config({"name": "policy", "path": path, "weights": weights}))
    seam, layers = simulation.seam(), load_policy(path)[0]
    general, own = len(seam["general"]), len(seam["per_slot"])
    first = layers[0][0].shape[0]
    # The general features are multiplied once, all other inputs once per candidate.
    products = general * first + candidates * (own * first + sum(weight.size for weight, _ in layers[1:]))
    rectified = candidates * sum(len(bias) for _, bias in layers[:-1])
    tables = sum(1 for feature in seam["per_slot"] if feature["name"].endswith("lost"))
    cost = simulation.hardware_cost(candidates)
    assert cost["decision"] == {
        "multiplications": products,
        "additions": products + tables * candidates,
        "comparisons": rectified + candidates - 1 + tables * candidates,
        "table_reads": 2 * tables * candidates,
    }
    assert cost["inputs"] == general + own * candidates
    numbers, units = sum(weight.size for weight, _ in layers), sum(len(bias) for _, bias in layers)
    assert (cost["weights"], cost["biases"]) == (numbers, units)
    assert cost["weight_bytes"] == (4 * (numbers + units) if weights == "float32" else numbers + 5 * units)


def test_the_learned_table_of_a_policy() -> None:
    simulation = Simulation(config({"name": "policy", "path": shipped_policy("dqn")}, topology=SYSTEM))
    (name, facts) = next((name, facts) for name, facts in simulation.memories().items() if facts["learned"])
    cost = simulation.hardware_cost(2)
    routers, rows, columns = facts["shape"]
    assert routers == 264
    assert cost["memories"] == [{"name": name, "learned": True, "bytes": rows * columns * 4}]
    assert cost["feedback_row_bits"] == math.ceil(math.log2(rows))
    assert cost["feedback_value_bits"] == 32
    assert cost["update"]["multiplications"] == 1


def test_q_adaptive() -> None:
    """Kang et al., HPDC 2021: (groups - 1) x terminals per router rows, a column per port to a router."""
    simulation = Simulation(config("q_adaptive", topology=SYSTEM))
    cost = simulation.hardware_cost(11)
    assert cost["memories"] == [{"name": "q_table", "learned": True, "bytes": 32 * 4 * 11 * 4}]
    assert (cost["feedback_row_bits"], cost["feedback_value_bits"]) == (7, 32)
    assert cost["decision"]["table_reads"] == 11
    assert cost["decision"]["multiplications"] == 1
    assert cost["header_bits"] == 0


def test_routings_without_tables() -> None:
    par = Simulation(config("par", topology=SYSTEM)).hardware_cost(2)
    assert par["decision"] == {"multiplications": 1, "additions": 1, "comparisons": 1, "table_reads": 0}
    assert par["memories"] == []
    assert par["header_bits"] == 9  # one of 264 routers
    assert par["feedback_value_bits"] == 0
    minimal = Simulation(config("minimal")).hardware_cost(0)
    assert set(minimal["decision"].values()) == {0}
    war = Simulation(config("dim_war", topology=HYPERX, router=router("sc19"))).hardware_cost(3)
    assert war["decision"]["multiplications"] == 3
    assert war["memories"] == []  # the copies of queues do not count
    hop_weighted = Simulation(config({"name": "ugal_router", "hop_weighted": True})).hardware_cost(2)
    assert hop_weighted["decision"]["multiplications"] == 3


def test_an_undeclared_routing_and_a_wrong_number() -> None:
    simulation = Simulation(config("ecmp"))
    assert simulation.hardware_cost(2)["decision"] is None
    for wrong in (-1.0, np.nan, 1e6):
        with pytest.raises(ConfigError, match="candidates; expected a mean from 0"):
            simulation.hardware_cost(wrong)
