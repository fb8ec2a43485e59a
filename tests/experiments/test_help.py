"""`--help` lists the groups that a command accepts, and no others."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Command
from flitgym.experiments.completion import completions, main

GROUPS = {
    "simulate": ["congestion_control", "router", "routing", "run", "topology", "traffic", "workload"],
    "train": ["agent", "router", "topology", "traffic", "workload", "worlds"],
    "evaluate": ["congestion_control", "router", "run", "topology"],
    "saturate": ["congestion_control", "router", "run"],
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
    assert f"\n  flitgym {name} " in usage  # examples precede all lists of keys
    listed = dict(re.findall(r"^([\w.]+): (.+)$", groups.replace("\n    ", " "), re.MULTILINE))
    assert list(listed) == [*GROUPS[name], *LISTS.get(name, [])]
    assert {"dragonfly", "dragonfly_72"} <= set(listed["topology"].split(", "))
    assert "study: " in config
    if name == "evaluate":
        assert {"par", "dqn"} <= set(listed["routing"].split(", "))
        assert "pair" in listed["workload"]


def test_completion_of_verbs_groups_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    verbs = ["simulate", "saturate", "list"]
    assert completions(["s"], verbs) == ["simulate", "saturate"]
    assert completions(["simulate", "rout"], verbs) == ["router=", "routing="]
    assert "topology=dragonfly_72" in completions(["simulate", "topology=dragonfly_7"], verbs)
    assert completions(["simulate", "-m", "routing=par,omni"], verbs) == ["routing=par,omni_war"]
    assert completions(["list", "tra"], verbs) == ["traffic"]
    assert completions(["list", "cost", "routing=dal"], verbs) == ["routing=dal"]
    assert completions(["reproduce", "figure=first_l"], verbs) == ["figure=first_look"]
    assert completions(["compare", "results/first", "b"], verbs) == ["by="]
    for shell in ("bash", "zsh"):
        assert main([shell], verbs) == 0
        assert "flitgym completion words" in capsys.readouterr().out


def test_a_reader_that_leaves_ends_a_command_quietly(tmp_path: Path) -> None:
    words = f"{sys.executable} -m flitgym simulate --help | head -n 1"
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.stdout.count("\n")) == ("", 1)
