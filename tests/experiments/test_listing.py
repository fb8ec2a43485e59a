"""`list` and `--version`: tables contain every choice."""

import pytest
from flitgym.agents import trainable
from flitgym.configs.source import options_of
from flitgym.experiments import listing
from flitgym.simcore import registered


@pytest.mark.parametrize(
    "group", ["topology", "router", "routing", "traffic", "congestion_control", "workload", "run", "worlds"]
)
def test_every_choice_of_the_command_line_is_listed(group: str) -> None:
    names = [name for name, *_ in listing.choices(group)]
    assert names == listing.names(group)
    assert len(set(names)) == len(names)
    assert set(names) == set(options_of(group))


def test_the_line_of_a_network() -> None:
    lines = {name: (text, details) for name, text, details in listing.choices("topology")}
    text, details = lines["dragonfly_72"]
    assert text.startswith("The smallest balanced Dragonfly")
    assert details.startswith("72 terminals; terminals_per_router=2 routers_per_group=4 global_ports=2 groups=9")
    assert lines["hyperx"][0] == registered("topology")["hyperx"]["summary"]
    assert "terminals;" not in lines["graph"][1]  # it needs a file


def test_agents_are_the_trainable_ones() -> None:
    listed = {name: details for name, _, details in listing.choices("agent")}
    assert set(listed) >= {name for name in trainable() if not name.startswith("rllib")}
    assert {"rllib_dqn", "rllib_ppo"} <= set(listed)
    config, _ = trainable()["dqn"]
    assert f"capacity={config().capacity}" in listed["dqn"]


def test_the_seeds_of_random_choices() -> None:
    lines = {key: (drawn, used) for key, drawn, used in listing.choices("seed")}
    assert lines["topology.graph_seed"] == ("the random graph", "topology=random_regular")
    assert lines["permutation_seed of a job"][1] == "motif=bisection, motif=ur"
    assert {"failures.seed", "workload.placement_seed", "engine.search_seed"} <= lines.keys()
