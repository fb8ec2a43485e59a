"""`--help` lists the groups that a command accepts, and no others."""

import re

import pytest
from conftest import Command

GROUPS = {
    "simulate": ["router", "routing", "run", "topology", "traffic", "workload"],
    "train": ["agent", "router", "topology", "traffic", "workload", "worlds"],
    "evaluate": ["router", "run", "topology"],
    "regret": ["router", "run", "topology"],
    "saturate": ["router", "run"],
    "route": ["engine", "topology"],
}
LISTS = {
    "train": ["evaluation.baselines"],
    "evaluate": ["policies", "patterns", "workloads"],
    "regret": ["policies", "patterns"],
    "saturate": ["networks", "policies", "patterns"],
}


@pytest.mark.parametrize("name", GROUPS)
def test_the_groups_of_a_command(command: Command, name: str) -> None:
    done = command(name, "--help")
    assert done.returncode == 0, done.stderr
    head, _, config = done.stdout.partition("== Configuration ==")
    listed = dict(re.findall(r"^([\w.]+): (.+)$", head.partition("== Configuration groups ==")[2], re.MULTILINE))
    assert list(listed) == [*GROUPS[name], *LISTS.get(name, [])]
    networks = listed["networks" if name == "saturate" else "topology"]
    assert {"dragonfly", "dragonfly_72"} <= set(networks.split(", "))
    assert "study: " in config
    if name == "evaluate":
        assert {"par", "dqn"} <= set(listed["policies"].split(", "))
        assert "pair" in listed["workloads"]
