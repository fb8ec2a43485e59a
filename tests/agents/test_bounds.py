"""The bounds of the agents' hyperparameters equal the bounds of the core."""

import pytest
from flitgym.agents.dqn import Config
from flitgym.agents.learning.bounds import CAPACITY, SLOTS
from flitgym.simcore import ConfigError, Simulation


def agent(**parameters: float) -> Simulation:
    return Simulation({"topology": "dragonfly", "traffic": "uniform", "routing": {"name": "agent", **parameters}})


def test_the_core_accepts_the_upper_bound_and_refuses_more() -> None:
    assert agent(slots=int(SLOTS[1])).seam()["slots"] == SLOTS[1]
    with pytest.raises(ConfigError, match=r"slots"):
        agent(slots=int(SLOTS[1]) + 1)
    with pytest.raises(ConfigError, match=r"record"):
        agent(record=int(CAPACITY[1]) + 1)


@pytest.mark.parametrize("key", ["slots", "capacity"])
def test_an_agent_refuses_values_above_the_core_s_bound(key: str) -> None:
    beyond = int({"slots": SLOTS, "capacity": CAPACITY}[key][1]) + 1
    with pytest.raises(ConfigError, match=rf"agent\.{key}: {beyond} is outside"):
        Config(**{key: beyond})
