"""Discovery of plugins and errors about wrong plugins, with packages that need no compiler."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from flitgym.agents import trainable
from flitgym.configs.composition import compose_root
from flitgym.configs.training import register_training, training_hash
from flitgym.env import blocks
from flitgym.env.experience.blocks import Parts
from flitgym.experiments.benchmarks import suite
from flitgym.experiments.comparison import places
from flitgym.experiments.training.result import Training
from flitgym.simcore import ConfigError, plugins
from omegaconf import DictConfig

pytestmark = pytest.mark.deep


def written(folder: Path, **files: str) -> Path:
    """A package with these files. `__` stands for a slash, `_yaml` and `_py` for file suffixes."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):
    """Set FLITGYM_PLUGINS to the given paths, which replace the installed plugins."""

    def use(*paths: object) -> None:
        monkeypatch.setenv("FLITGYM_PLUGINS", os.pathsep.join(["none", *map(str, paths)]))

    return use


AGENT = """
from dataclasses import dataclass

@dataclass
class Config:
    name: str = "NAME"

class Agent:
    pass
"""


def test_two_plugins_with_one_name_are_refused(use, tmp_path: Path) -> None:
    first, second = (written(tmp_path / k / "twin_plugin", agents__x_py="") for k in "ab")
    use(first, second)
    with pytest.raises(ConfigError, match=r"'twin_plugin' \(FLITGYM_PLUGINS=.*/b/twin_plugin\): the name is taken by "):
        plugins.installed()
    use(first, first)
    assert [plugin.name for plugin in plugins.installed()] == ["twin_plugin"]


def test_agents_of_plugins(use, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    good = written(tmp_path / "good_plugin", agents__mine_py=AGENT.replace("NAME", "mine"))
    use(good)
    assert trainable()["mine"][1].__module__ == "good_plugin.agents.mine"
    same = written(tmp_path / "same_plugin", agents__other_py=AGENT.replace("NAME", "mine"))
    taken = written(tmp_path / "dqn_plugin", agents__x_py=AGENT.replace("NAME", "dqn"))
    broken = written(tmp_path / "broken_plugin", agents__x_py="import surely_not_there")
    for paths, said in (
        ((good, same), r"'same_plugin' \(.*\): agent 'mine' of same_plugin.agents.other: the name is taken by plugin"),
        ((taken,), r"agent 'dqn' of dqn_plugin\.agents\.x: the name is taken by flitgym; choose"),
        ((broken,), r"broken_plugin.agents.x cannot be imported: ModuleNotFoundError: No module named.*none"),
    ):
        use(*paths)
        with pytest.raises(ConfigError, match=said):
            trainable()


def test_blocks_are_imported_on_request(use, tmp_path: Path) -> None:
    text = "from flitgym.env import Feature, blocks\n@blocks.observation('ones', general=[Feature('one', 1, 1, '')])\n"
    use(
        written(
            tmp_path / "ones_plugin", blocks__x_py=text + "def ones(asked, general, per_slot):\n    general[:] = 1\n"
        )
    )
    Parts.of("progress+path", "hop_delay")
    assert "ones_plugin.blocks.x" not in sys.modules
    with pytest.raises(ConfigError, match=r"unknown block 'onse'; did you mean 'ones'\?"):
        Parts.of("progress+onse", "hop_delay")
    try:
        assert Parts.of("progress+ones", "hop_delay").core == "progress"
        with pytest.raises(ConfigError, match="'ones' is computed in Python"):
            blocks.refuse_in_core({"name": "policy", "observation": "path+ones"})
    finally:
        blocks.OBSERVATIONS.pop("ones")


def test_figures_and_suites_of_plugins(use, tmp_path: Path) -> None:
    config = "common: []\npresets: {tiny: {}}\npreset: ???\nruns: []\n"
    plot = "def measured(rows):\n    return {}\n"
    mine = written(
        tmp_path / "figure_plugin",
        figures__mine__config_yaml=config,
        figures__mine__plot_py=plot,
        studies__wide__config_yaml=config,
        suites__own_yaml="x: 1",
    )
    use(mine)
    assert places.available()["mine"] == ["tiny"]
    assert places.available(places.STUDIES)["wide"] == ["tiny"]
    assert places.places()["mine"].script.measured([]) == {}
    assert suite.available()["own"] == mine / "suites" / "own.yaml"
    use(written(tmp_path / "look_plugin", figures__first_look__config_yaml=config))
    with pytest.raises(ConfigError, match=r"'look_plugin'.*figures/first_look: the name is taken by flitgym"):
        places.available()
    use(mine, written(tmp_path / "also_plugin", figures__mine__config_yaml=config))
    with pytest.raises(ConfigError, match="figures/mine: the name is taken by plugin 'also_plugin'"):
        places.available()


def test_presets_of_plugins(tmp_path: Path) -> None:
    def refusal(word: str, preset: str) -> str:
        folder = written(tmp_path / "preset_plugin", **{preset: "defaults: [dragonfly_72, _self_]\n"})
        environment = {**os.environ, "FLITGYM_PLUGINS": f"none:{folder}"}
        command = [sys.executable, "-m", "flitgym", "simulate", word]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60).stderr

    said = refusal("topology=mime", "configs__topology__mine_yaml")
    assert said.startswith("flitgym simulate: topology: unknown name 'mime'; did you mean 'mine'?")
    said = refusal("--help", "configs__routing__par_yaml")
    assert "configs/routing/par.yaml: the name is taken by flitgym; choose another one" in said


def test_versions(use, tmp_path: Path) -> None:
    assert plugins.same({})
    assert not plugins.same({"nobody": "1.0"})
    assert not plugins.same(None)
    (tmp_path / "a.so").write_bytes(b"one")
    use(tmp_path / "a.so")
    (plugin,) = plugins.installed()
    recorded = plugins.versions(["a"])
    assert recorded == {"a": plugin.version}
    assert plugins.same(recorded)
    assert not plugins.same({"a": "0+00000000"})


def test_a_changed_agent_changes_the_identity_of_a_training(use, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    use()
    register_training(trainable())
    config = compose_root("train", ["topology=dragonfly_72", "seed=3"])
    alone = training_hash(config)
    learning = AGENT.replace("NAME", "mine")
    assert identity(config) == alone  # without plugins, the identity equals the hash of the training
    mine = written(tmp_path / "learning_plugin", agents__mine_py=learning, step_py="STEP = 1\n", figures__x__plot_py="")
    use(mine)
    assert identity(config) == alone  # a plugin whose agent is not used has no effect
    config.agent.name = "mine"
    seen = [identity(config)]
    assert seen[0].startswith(f"{training_hash(config)} learning_plugin=0+")
    for edited in ("step.py", "agents/mine.py"):
        with (mine / edited).open("a") as file:
            file.write("# another one\n")
        seen.append(identity(config))
    assert len(set(seen)) == 3
    (mine / "figures" / "x" / "plot.py").write_text("# drawn otherwise\n")
    assert identity(config) == seen[-1]


def identity(config: DictConfig) -> str:
    """The identity of a training as a new process would compute it."""
    plugins.installed.__globals__["_installed"].cache_clear()
    return Training(config, Path()).identity


def test_plugins_named_by_a_world_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins.brought, "own", {"topology": ["ring_of_rings"]})
    assert plugins.mentioned({"worlds": {"a": {"overrides": ["topology=ring_of_rings", "router=sc22"]}}}) == ["own"]
    assert plugins.mentioned(["topology=torus_512"]) == []
    for word in ("topology={name:ring_of_rings}", "x=[{motif:ring_of_rings,ranks:8}]", "ring_of_rings+x=3"):
        assert plugins.mentioned({"overrides": [word]}) == ["own"], word
