"""Old names of keys still work in overrides, print one notice, and change neither hashes nor folders."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from flitgym.configs import renamed
from flitgym.configs.composition import Composer, Root, compose_root
from flitgym.configs.errors import explain
from flitgym.configs.renamed import RENAMED, with_new_keys
from flitgym.configs.training import register_training, training_hash
from hydra.errors import HydraException

pytest.importorskip("torch")

from flitgym.agents import trainable

AGENT_OF = {
    "agent.begin": "rllib_dqn",
    "agent.epsilon_part": "dqn",
    "agent.harm": "policy_search",
    "agent.least_spread": "policy_search",
    "agent.others": "marginal_cost",
    "agent.part": "marginal_cost",
}
# Hashes of each agent's default training before the keys were renamed.
HASHES = {
    "dqn": "752c9bb7ef4f",
    "marginal_cost": "208f68f8a99f",
    "policy_search": "ba500d99214a",
    "rllib_dqn": "27f40ac85301",
}


@pytest.fixture(autouse=True)
def agents() -> None:
    register_training(trainable())
    renamed._warn.cache_clear()


@pytest.mark.parametrize("old", sorted(RENAMED["train"]))
def test_an_old_key_sets_the_new_one(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    agent, new = f"agent={AGENT_OF[old]}", RENAMED["train"][old]
    value = "routed" if old == "agent.others" else "0.25" if old != "agent.begin" else "77"
    by_new = compose_root("train", [agent, f"{new}={value}"])
    assert capsys.readouterr().err == ""
    by_old = compose_root("train", [agent, f"{old}={value}"])
    assert by_old == by_new != compose_root("train", [agent])
    assert training_hash(by_old) == training_hash(by_new) != training_hash(compose_root("train", [agent]))
    compose_root("train", [agent, f"{old}={value}"])
    (notice,) = capsys.readouterr().err.splitlines()
    assert notice.startswith(f"{old} is now {new}")


@pytest.mark.parametrize("agent", HASHES)
def test_hashes_of_trainings_are_unchanged(agent: str) -> None:
    assert training_hash(compose_root("train", [f"agent={agent}"])) == HASHES[agent]


def test_old_keys_work_in_a_study_and_in_regret() -> None:
    root = Root("train", ("topology", "router", "traffic", "workload", "agent"), lambda config, words: None)
    by_values = Composer(root).resolved(["agent=policy_search", "agent.least_spread=0.2"], {"agent.harm": 2.0})
    assert by_values["agent"]["harm_weight"] == 2.0
    assert by_values["agent"]["min_spread"] == 0.2
    words = ["part=0.5", "others=routed", "loads=[0.1]"]
    assert with_new_keys("regret", words) == ["sample_fraction=0.5", "other_packets=routed", "loads=[0.1]"]
    assert with_new_keys("config", words) == words


def test_an_agent_of_a_plugin_may_have_a_key_of_an_old_name() -> None:
    @dataclass
    class Config:
        name: str = "mine"
        part: float = 0.5

    register_training({"mine": (Config, object)})
    assert with_new_keys("train", ["agent=mine", "agent.part=0.1"]) == ["agent=mine", "agent.part=0.1"]


def test_a_preset_with_an_old_key_is_refused_by_its_new_name(tmp_path: Path) -> None:
    (tmp_path / "worlds").mkdir()
    (tmp_path / "worlds" / "mine.yaml").write_text("# @package _global_\nagent:\n  harm: 3\n")
    words = [f"hydra.searchpath=[file://{tmp_path}]", "agent=policy_search", "worlds=mine"]
    with pytest.raises(HydraException) as caught:
        compose_root("train", words)
    assert explain(caught.value) == "worlds=mine: agent.harm is now agent.harm_weight"
