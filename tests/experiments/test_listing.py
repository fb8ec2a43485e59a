"""`list` and `--version`: tables contain every choice, and no heavy package is imported."""

import subprocess
import sys

import pytest
from flitgym.agents import trainable
from flitgym.configs.source import options_of
from flitgym.experiments import listing
from flitgym.simcore import __version__, registered


@pytest.mark.parametrize("group", ["topology", "router", "routing", "traffic", "workload", "run", "worlds"])
def test_every_choice_of_the_command_line_is_listed(group: str) -> None:
    names = [name for name, *_ in listing.choices(group)]
    assert names == listing.names(group)
    assert len(set(names)) == len(names)
    assert set(names) == set(options_of(group))


@pytest.mark.parametrize("group", list(listing.GROUPS))
def test_every_choice_has_a_description(group: str) -> None:
    for name, text, _ in listing.choices(group):
        assert len(text) > 10, f"{group}={name}"


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


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert listing.main([]) == 0
    text = capsys.readouterr().out
    assert all(group in text for group in listing.GROUPS)
    assert "dragonfly_1056" in text
    assert listing.main(["engine"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in registered("engine"))


def test_every_name_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    listing.main(["routing"])
    words = set(capsys.readouterr().out.split())
    assert set(listing.names("routing")) <= words


def test_an_unknown_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert listing.main(["topolgy"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        "flitgym list: unknown group 'topolgy'; did you mean 'topology'?; valid groups: topology, router"
    )


def test_the_version() -> None:
    release, _, core = __version__.partition("+")
    assert listing.version_text() == f"flitgym {release} (core {core})"


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from flitgym.experiments import listing; listing.main(['topology']); listing.main(['agent']); "
        "listing.version_text(); "
        "print([m for m in ('hydra', 'omegaconf', 'torch', 'matplotlib', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_seeds_of_random_choices() -> None:
    """`list seed` has every seed that the core declares."""
    listed = listing.choices("seed")
    declared = {
        f"{key} of a job" if group == "motif" else f"{group}.{key}"
        for group in ("topology", "failures", "traffic", "workload", "motif", "routing", "engine")
        for spec in registered(group).values()
        for key, param in spec["params"].items()
        if param["draws"]
    }
    assert declared == {key for keys, *_ in listed for key in keys.split(", ")}
    assert all(used for *_, used in listed)
