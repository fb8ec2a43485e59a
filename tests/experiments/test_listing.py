"""`list` and `--version`: tables contain every choice, and no heavy package is imported."""

import subprocess
import sys

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


@pytest.mark.parametrize("group", ["routing", "engine"])
def test_every_name_is_printed(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert listing.main([]) == listing.main([group]) == 0
    words = capsys.readouterr().out.split()
    assert {*listing.GROUPS, *listing.names(group)} <= set(words)


def test_an_unknown_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert listing.main(["topolgy"]) == 2
    assert "unknown group 'topolgy'; did you mean 'topology'?" in capsys.readouterr().err


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from flitgym.experiments import listing; listing.main(['topology']); listing.main(['agent']); "
        "listing.version_text(); "
        "print([m for m in ('hydra', 'omegaconf', 'torch', 'matplotlib', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_seeds_of_random_choices() -> None:
    lines = {key: (drawn, used) for key, drawn, used in listing.choices("seed")}
    assert lines["topology.graph_seed"] == ("the random graph", "topology=random_regular")
    assert lines["permutation_seed of a job"][1] == "motif=bisection, motif=ur"
    assert {"failures.seed", "workload.placement_seed", "engine.search_seed"} <= lines.keys()
