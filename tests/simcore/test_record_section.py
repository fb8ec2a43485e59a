"""The section `record`: the decisions of a routing without a seam, against an agent that repeats them."""

from typing import Any

import numpy as np
import pytest
from core_scenes import config, router, traffic
from flitgym.simcore import Simulation

HYPERX = {"name": "hyperx", "widths": [3, 3], "terminals_per_router": 2}
FAT_TREE = {"name": "fat_tree", "children": [4, 4], "parents": [1, 2]}
KEYS = {"observation": "progress+router+queues+path", "slots": 16}
# The routing, and the network.
ROUTINGS: dict[str, dict[str, Any]] = {
    "par": {},
    "ugal_router": {},
    "ugal_group": {},
    "q_adaptive": {},
    "dim_war": {"topology": HYPERX, "router": router("sc19")},
    "ugal": {"topology": HYPERX, "router": router("sc19")},
    "up_down": {"topology": FAT_TREE},
}


def recorded(routing: str | dict[str, Any], **more: Any) -> Simulation:
    return Simulation(config(routing, traffic("mixed", 0.25), record={**KEYS, "capacity": 1 << 16}, **more))


@pytest.mark.parametrize("name", ROUTINGS)
def test_an_agent_with_the_recorded_actions_records_the_same(name: str) -> None:
    """The agent chooses among the candidates of the relation of that name, so it must reach the same states."""
    # Sequential allocation orders the requests of a cycle otherwise than an agent.
    one = recorded({"name": name, "allocation": "greedy"} if name == "up_down" else name, **ROUTINGS[name])
    one.run(5000)
    rows = one.transitions()
    count = one.transition_count
    assert 100 < count < len(rows["reward"])
    action = dict(zip(rows["decision"][:count].tolist(), rows["action"][:count].tolist(), strict=True))
    routing = {"name": "agent", "relation": name, **KEYS, "record": 1 << 16}
    agent = Simulation(config(routing, traffic("mixed", 0.25), **ROUTINGS[name]))
    for _ in range(1000):
        chosen = [action[agent.decision_count + k] for k in range(agent.collect())]
        agent.apply(np.array(chosen, np.uint32))
    again = agent.transition_count
    assert again > 50
    for column, values in agent.transitions().items():
        np.testing.assert_array_equal(values[:again], rows[column][:again], column)


@pytest.mark.parametrize("name", ROUTINGS)
def test_a_record_does_not_change_the_run(name: str) -> None:
    one = recorded(name, **ROUTINGS[name])
    other = Simulation(config(name, traffic("mixed", 0.25), **ROUTINGS[name]))
    for simulation in (one, other):
        simulation.begin_window()
        simulation.run(2000)
        simulation.end_window()
    assert one.statistics() == other.statistics()
    assert one.statistics()["packets_delivered"] > 100
