"""The recorded saturation loads of the tasks above saturation, and the command that records them."""

from pathlib import Path

import pytest
from flitgym.experiments.benchmarks import saturation
from flitgym.experiments.benchmarks.saturation import file_of, read_carried, record, searches
from flitgym.experiments.benchmarks.suite import Suite, load_suite

# Tasks that a baseline carries which does not learn, although the reference does not carry them.
CARRIED = {
    "hyperx_64/dimension_complement_reverse/0.6": {"omni_war"},
    "hyperx_4096/dimension_complement_reverse/0.3": {"omni_war"},
    "fat_tree_64/shuffle/0.8": {"up_down"},
    "fat_tree_1024/shuffle/0.8": {"up_down"},
}

TINY = """
version: 1
seeds: [7, 8]
overrides: [router=input_queued, router.source_backlog=kept, run.warmup_ns=200, run.measure_ns=800]
networks:
  small: {overrides: [topology=dragonfly_72], reference: ugal_l, baselines: [minimal, q_adaptive, dqn_dragonfly]}
tasks:
  - {network: small, set: train, pattern: uniform, below: [0.2]}
  - {network: small, set: train, pattern: adversarial, below: [0.1], above: [0.3, 0.9]}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Suite:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return load_suite(str(path))


@pytest.mark.parametrize("name", ["quick", "standard"])
def test_a_task_above_saturation_is_above_that_of_its_reference(name: str) -> None:
    suite = load_suite(name)
    records = {(one.task, one.policy): one for one in read_carried(suite)}
    for task in (task for task in suite.tasks if task.kind == "above"):
        own = {policy: one for (of, policy), one in records.items() if of == task.id}
        assert task.load is not None
        assert all(0 < one.saturation_load <= one.refused_load for one in own.values())
        assert own[task.reference].refused_load <= task.load
        carrying = {policy for policy, one in own.items() if one.saturation_load >= task.load}
        assert carrying == CARRIED.get(task.name, set()), task.name
        assert set(own) <= {baseline.name for baseline in task.baselines}
    assert {of for of, _ in records} <= {task.id for task in suite.tasks if task.kind == "above"}


def test_a_search_has_the_network_and_pattern_of_its_task(tiny: Suite, tmp_path: Path) -> None:
    planned = searches(tiny, tmp_path)
    found = {(task.name, search.policy.name) for task, search in planned}
    loads = ("small/adversarial/0.3", "small/adversarial/0.9")
    assert found == {(task, policy) for task in loads for policy in ("ugal_l", "minimal")}  # the others learn
    # Tasks that differ only in their load share the searches.
    assert len({search.run.directory for _, search in planned}) == 2
    plain = planned[0][1].run.plain
    assert (plain["traffic"]["name"], plain["router"]["source_backlog"], plain["seed"]) == ("adversarial", "kept", 7)
    assert plain["run"]["measure_ns"] == 20_000  # the windows of `run=auto`


@pytest.mark.deep
def test_searches_are_recorded_beside_the_suite(tiny: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saturation, "SETTINGS", {"precision": 0.4, "confidence": 0.95, "max_ns": 50_000.0})
    assert read_carried(tiny) == []
    path = record(tiny, ["small/adversarial/0.9"], tmp_path / "runs")
    assert path == file_of(tiny) == tmp_path / "tiny_saturation.csv"
    first = read_carried(tiny)
    assert {(one.task, one.policy, one.seed) for one in first} == {
        ("small/adversarial/0.9-v1", policy, 7) for policy in ("ugal_l", "minimal")
    }
    minimal = next(one for one in first if one.policy == "minimal")
    # A group of 4 routers with 2 terminals has one link to the next group.
    assert 0.06 < minimal.saturation_load <= 1 / 8
    # Another task is added, and that of the other load stays.
    record(tiny, ["small/adversarial/0.3"], tmp_path / "runs")
    both = read_carried(tiny)
    assert both == [one._replace(task="small/adversarial/0.3-v1") for one in first] + first
