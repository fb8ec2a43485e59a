"""Configurations joined from sections equal those composed by Hydra."""

import json
from typing import Any

import pytest
from flitgym.configs import refuse_unused
from flitgym.configs.composition import SIMULATION, Root
from flitgym.configs.routes import TABLE
from omegaconf import OmegaConf

Values = dict[str, Any]

ORDINARY: list[tuple[list[str], Values]] = [
    ([], {}),
    (["topology=hyperx_64", "routing=omni_war", "router=sc19", "traffic=urb_y"], {"traffic.load": 1, "seed": 7}),
    (["traffic.load=1", "run.measure_ns=5", "seed=3"], {"traffic.load": 0.25}),
    (["routing=dqn_dragonfly", "topology=dragonfly_72"], {"study": "a"}),  # ${shipped_policy:...}
    (["routing=minimal", "routing=par"], {}),  # the last one counts
    (["routing=minimal"], {"run.freeze_q_table": True}),
    (["routing=q_adaptive", "run.freeze_q_table=true", "run=auto"], {}),
    (["run=convergence", "run.warmup_ns=3"], {"run.save_q_table": True}),
    (["topology=torus", "topology.sizes=[4,4]", "failures.links=0.1"], {"topology.wrap": [0], "failures.seed": 2}),
    (["workload=pair"], {"workload.target": "lu", "workload.target_params": {"nz": 3}, "workload.scale": 2}),
    (
        ["workload=jobs"],
        {"workload.jobs": [{"name": "a", "motif": "halo3d", "ranks": 8}], "workload.jobs.0.ranks": 27},
    ),
    (
        ["workload=jobs", "workload.jobs=[{motif: halo3d, ranks: 8}]"],
        {"workload.jobs.0.ranks": 27, "workload.blame": False},
    ),
    (["study='x y'", "failures={routers: [3,17]}"], {}),
    (["seed=2", "study=run_${seed}", "run.warmup_ns=7"], {"failures.seed": 3}),
    (["run.drain=true"], {}),  # the other values are the default ones again
]

UNUSUAL: list[tuple[list[str], Values]] = [
    (["++run.measure_ns=5"], {}),
    (["workload=pair", "+workload.target_params.iterations=2"], {}),
]


@pytest.fixture
def left_to_hydra(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The overrides that Hydra composed."""
    left: list[list[str]] = []
    by_hydra = Root.by_hydra
    monkeypatch.setattr(
        Root, "by_hydra", lambda root, words, *values: left.append(words) or by_hydra(root, words, *values)
    )
    return left


def text(plain: Values) -> str:
    """With types and order: 1 is not 1.0, and a result file has its keys in this order."""
    return json.dumps(plain)


@pytest.mark.parametrize(("words", "values"), ORDINARY, ids=str)
def test_sections_make_what_hydra_composes(words: list[str], values: Values, left_to_hydra: list[list[str]]) -> None:
    assembled = SIMULATION.resolved(words, values)
    assert left_to_hydra == []
    # Another root, since earlier runs of this one must not change later ones.
    assert text(assembled) == text(Root("config", SIMULATION.groups, refuse_unused).by_hydra(words, values))


def test_tables_are_put_together_too(left_to_hydra: list[list[str]]) -> None:
    words = ["topology=torus", "engine=nue", "patterns=5", "topology.terminals_per_router=2"]
    values = {"topology.sizes": [3, 3], "engine.layers": 2, "failures.links": ["0-1"], "dump": "never"}
    assembled = TABLE.resolved(words, values)
    assert left_to_hydra == []
    assert text(assembled) == text(TABLE.by_hydra(words, values))


@pytest.mark.parametrize(("words", "values"), UNUSUAL, ids=str)
def test_what_is_unusual_is_left_to_hydra(words: list[str], values: Values, left_to_hydra: list[list[str]]) -> None:
    config = SIMULATION.resolved(words, values)
    assert left_to_hydra == [words]
    composed = OmegaConf.to_container(SIMULATION.compose(words), resolve=True)
    assert isinstance(composed, dict)
    assert text(config) == text({str(key): value for key, value in composed.items()})
