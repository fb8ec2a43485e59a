"""The rule of held-out tasks against the trainings of all shipped policies, tuned baselines and several trainings."""

from pathlib import Path

import pytest
from flitgym.configs.policies import shipped_policies, shipped_policy
from flitgym.experiments.benchmarks import suite as suites
from flitgym.experiments.benchmarks import transfer as transfers
from flitgym.experiments.benchmarks import tuning
from flitgym.experiments.benchmarks.suite import POLICIES, available, load_suite, policies_by_name
from flitgym.experiments.benchmarks.transfer import World, transfer, world_of, worlds_of
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.simcore import ConfigError

TINY = """
version: 1
seeds: [7]
overrides: [router=input_queued, run.warmup_ns=200, run.measure_ns=800]
networks:
  seen: {overrides: [topology=dragonfly_72, topology.terminals_per_router=1], reference: ugal_l,
         baselines: [polarized_tuned]}
tasks:
  - {network: seen, set: SET, pattern: bit_complement, below: [0.1, 0.2]}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY.replace("SET", "train"))
    return path


@pytest.mark.parametrize("name", sorted(available()))
def test_held_out_tasks_are_new_to_every_shipped_policy(name: str) -> None:
    suite = load_suite(name)
    worlds = set().union(*map(worlds_of, shipped_policies()))
    found = {task.name: transfer(world_of(task), worlds) for task in suite.tasks}
    assert {task.name: task.transfer for task in suite.tasks if task.set == "held_out"} == {
        task: kind for task, kind in found.items() if kind != "train"
    }
    assert len(suite.seeds) >= 5


def test_a_network_of_a_training_is_not_held_out(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Other patterns, routers and numbers of terminals do not make another network.
    tiny.write_text(TINY.replace("SET", "pattern"))
    world = world_of(load_suite(str(tiny)).tasks[0])
    assert world == World(("dragonfly", 36, 180), frozenset({"bit_complement"}))
    assert transfer(world, worlds_of("flitgym")) == transfer(world, worlds_of("ugal_ml")) == "train"
    monkeypatch.setattr(transfers, "available", lambda: {str(tiny): tiny})
    monkeypatch.setattr("sys.argv", ["transfer", "ugal_ml"])
    with pytest.raises(CommandError, match=r"ugal_ml: .*: seen/bit_complement/0\.1 is contaminated"):
        transfers._check()


def test_the_kind_of_transfer_by_hand() -> None:
    def world(family: str, routers: int, *traffic: str) -> World:
        return World((family, routers, 10 * routers), frozenset(traffic))

    trained = [world("torus", 16, "uniform", "tornado"), world("mesh", 25, "transpose")]
    assert transfer(world("torus", 16, "transpose"), trained) == "train"
    assert transfer(world("torus", 25, "tornado"), trained) == "shape"
    assert transfer(world("torus", 25, "mixed", "uniform"), trained) == "shape"
    assert transfer(world("torus", 25, "transpose"), trained) == "pattern"
    assert transfer(world("hyperx", 16, "uniform"), trained) == "family"


def test_the_worlds_of_a_training() -> None:
    assert {policy for policy in shipped_policies() if not worlds_of(policy)} == set()
    # The single world of `ugal_ml` has mixed traffic, which consists of two patterns.
    assert worlds_of("ugal_ml") == {World(("dragonfly", 36, 180), frozenset({"mixed", "uniform", "adversarial"}))}
    # A drawn pattern counts, jobs in any order, and the worlds of the policy to which a training adds.
    assert World(("torus", 64, 384), frozenset({"uniform", "tornado", "permutation", "bit_complement"})) in worlds_of(
        "flitgym"
    )
    assert World(("dragonfly", 36, 180), frozenset({"fft3d+halo3d"})) in worlds_of("flitgym")
    assert worlds_of("flitgym_marginal") == worlds_of("flitgym")


def test_names_of_policies() -> None:
    (ones, tree, first, second) = policies_by_name(
        ["all_ones", "up_down_8", {"name": "mine", "routing": [shipped_policy("dqn"), shipped_policy("flitgym")]}]
    )
    assert (ones.routing, tree.settings) == ("policy", {"routing.vc_classes": 8})
    assert [one.name for one in (first, second)] == ["mine#1", "mine#2"]
    assert second.settings["routing.path"] == shipped_policy("flitgym")
    for name, entry in POLICIES.items():
        (policy,) = policies_by_name([name])
        # The recorded tuning has every combination of the values, and its best one is used.
        assert set(entry.get("tune", {})) <= {key.partition(".")[2] for key in policy.settings}
    with pytest.raises(ConfigError, match="no such file"):
        policies_by_name([{"name": "mine", "routing": ["none.safetensors"]}])


@pytest.mark.deep
def test_tuning_records_every_candidate(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, suite = tmp_path / "tuning.csv", load_suite(str(tiny))
    for module in (suites, tuning):
        monkeypatch.setattr(module, "TUNING", table)
    grid = {"polarized_tuned": {"routing": "polarized", "tune": {"penalty_flits": [0, 1000]}}}
    for module in (suites, tuning):
        monkeypatch.setattr(module, "POLICIES", grid)
    assert tuning.tune(suite, tmp_path / "runs") == table
    lines = table.read_text().splitlines()
    assert len(lines) == 3
    suites._named.cache_clear()
    try:
        (policy,) = policies_by_name(["polarized_tuned"])
    finally:
        suites._named.cache_clear()
    assert str(policy.settings["routing.penalty_flits"]) in lines[1]
