"""`--help` lists the groups that a command accepts, and no others."""

import re

import pytest
from conftest import Command

GROUPS = {
    "simulate": ["router", "routing", "run", "topology", "traffic", "workload"],
    "train": ["agent", "router", "topology", "traffic", "workload", "worlds"],
    "evaluate": ["router", "run", "topology"],
    "saturate": ["router", "run"],
    "route": ["engine", "topology"],
}
LISTS = {
    "train": ["evaluation.baselines"],
    "evaluate": ["routing", "traffic", "workload"],
    "saturate": ["topology", "routing", "traffic"],
}


@pytest.mark.parametrize("name", GROUPS)
def test_the_groups_of_a_command(command: Command, name: str) -> None:
    done = command(name, "--help")
    assert done.returncode == 0, done.stderr
    head, _, config = done.stdout.partition("Override any key of the configuration")
    usage, _, groups = head.partition("\n\nChoose an option")
    assert len(head.splitlines()) <= 45
    # Five examples precede all lists of keys.
    assert sum(line.startswith(f"  flitgym {name}") for line in usage.splitlines()) == 5
    listed = dict(re.findall(r"^([\w.]+): (.+)$", groups.replace("\n    ", " "), re.MULTILINE))
    assert list(listed) == [*GROUPS[name], *LISTS.get(name, [])]
    assert {"dragonfly", "dragonfly_72"} <= set(listed["topology"].split(", "))
    assert "study: " in config
    if name == "evaluate":
        assert {"par", "dqn"} <= set(listed["routing"].split(", "))
        assert "pair" in listed["workload"]
