"""`Simulation` accepts the presets of the commands, and reaches the same state as the command's configuration."""

import os
from pathlib import Path
from typing import Any

import flitgym
import pytest
from core_scenes import config, traffic
from flitgym.configs import compose, core_sections
from flitgym.simcore import ChannelGraph, ConfigError, Simulation, _presets


@pytest.mark.parametrize("routing", ["ugal_l", "dqn", "search_jobs", "q_adaptive"])
@pytest.mark.parametrize("router", ["sc22", "hpdc21", "input_queued"])
def test_presets_run_as_in_the_command(routing: str, router: str) -> None:
    words = ["topology=dragonfly_72", f"router={router}", f"routing={routing}", "traffic=mixed", "traffic.load=0.3"]
    named = Simulation(config(routing, traffic("mixed", 0.3), topology="dragonfly_72", router=router))
    composed = Simulation(core_sections(compose(words)))
    named.run(3000)
    composed.run(3000)
    assert named.state_hash() == composed.state_hash()


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["topology", "router", "routing", "traffic"])
def test_every_preset_equals_hydra_s_composition(kind: str) -> None:
    names = sorted(path.stem for path in (Path(flitgym.configs.__path__[0]) / kind).glob("*.yaml"))
    assert names
    for name in names:
        section = _presets.section(kind, name)
        composed = core_sections(compose([f"{kind}={name}"]))[kind]
        assert {key: composed[key] for key in section} == section, name
        left = composed.keys() - section.keys()
        registered = flitgym.simcore.registered(kind)[section["name"]]["params"]
        assert {key: composed[key] for key in left} == {key: registered[key]["default"] for key in left}, name


def test_values_next_to_the_name_replace_those_of_the_preset() -> None:
    def terminals(topology: Any) -> int:
        sections = {"topology": topology, "routing": "minimal", "traffic": "uniform"}
        return int(Simulation(sections).facts()["terminals"])

    assert terminals("dragonfly_72") == 72
    assert terminals({"name": "dragonfly_72", "groups": 5}) == 40
    assert terminals({"name": "dragonfly", "groups": 5}) == 5 * 8 * 4
    assert ChannelGraph("fat_tree_64").terminals == 64


def test_presets_of_plugins_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    example = Path(__file__).parents[2] / "docs" / "extending" / "example_plugin" / "flitgym_example"
    monkeypatch.setenv("FLITGYM_PLUGINS", f"none{os.pathsep}{example}")
    assert ChannelGraph("fat_tree_16").terminals == 16
    monkeypatch.setenv("FLITGYM_PLUGINS", "none")
    with pytest.raises(ConfigError, match="unknown name 'fat_tree_16'"):
        ChannelGraph("fat_tree_16")
