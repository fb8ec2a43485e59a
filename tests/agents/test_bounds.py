"""The bounds of hyperparameters agree with the core's."""

import pytest
from flitgym.agents.dqn import Config
from flitgym.agents.learning.bounds import CAPACITY, SLOTS
from flitgym.simcore import ConfigError, Simulation


def agent(**parameters: float) -> Simulation:
    return Simulation({"topology": "dragonfly", "traffic": "uniform", "routing": {"name": "agent", **parameters}})


def test_the_core_takes_the_greatest_and_nothing_beyond() -> None:
    assert agent(slots=int(SLOTS[1])).seam()["slots"] == SLOTS[1]
    with pytest.raises(ConfigError, match=r"slots"):
        agent(slots=int(SLOTS[1]) + 1)
    with pytest.raises(ConfigError, match=r"record"):
        agent(record=int(CAPACITY[1]) + 1)


@pytest.mark.parametrize("key", ["slots", "capacity"])
def test_an_agent_refuses_what_the_core_would(key: str) -> None:
    beyond = int({"slots": SLOTS, "capacity": CAPACITY}[key][1]) + 1
    with pytest.raises(ConfigError, match=rf"agent\.{key}: {beyond} is outside"):
        Config(**{key: beyond})
