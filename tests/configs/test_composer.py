"""Configurations that a `Composer` builds from sections equal those of Hydra, and so do the errors."""

import json
from typing import Any

import pytest
from flitgym.configs import explain
from flitgym.configs.composition import SIMULATION, Composer
from flitgym.configs.routes import TABLE
from omegaconf import OmegaConf

Values = dict[str, Any]

# A composer caches composed options. All tests share one composer, as do all runs of a sweep.
SIMULATIONS, TABLES = Composer(SIMULATION), Composer(TABLE)

ORDINARY: list[tuple[list[str], Values]] = [
    ([], {}),
    (["topology=hyperx_64", "routing=omni_war", "router=sc19", "traffic=urb_y"], {"traffic.load": 1, "seed": 7}),
    (["traffic.load=1", "run.measure_ns=5", "seed=3"], {"traffic.load": 0.25}),
    (["routing=dqn_dragonfly", "topology=dragonfly_72"], {"study": "a"}),  # ${shipped_policy:...}
    (["routing=search_jobs", "topology=dragonfly_72"], {}),
    (["routing=minimal", "routing=par"], {}),  # the last value counts
    (["routing=q_adaptive"], {}),  # ${warmup_ns:} of a learned routing
    (["routing=minimal"], {"run.freeze_q_table": True}),
    (["routing=q_adaptive", "run.freeze_q_table=true", "run=auto"], {}),
    (["run=convergence", "run.warmup_ns=3"], {"run.save_q_table": True}),
    (["topology=torus", "topology.sizes=[4,4]", "failures.links=0.1"], {"topology.wrap": [0], "failures.seed": 2}),
    (["workload=pair"], {"workload.target": "lu", "workload.target_params": {"nz": 3}, "workload.scale": 2}),
    (["workload=pair", "workload.target_params={iterations: 2}"], {"workload.target_params": {"ranks": 9}}),
    (
        ["workload=jobs"],
        {"workload.jobs": [{"name": "a", "motif": "halo3d", "ranks": 8}], "workload.jobs.0.ranks": 27},
    ),
    (
        ["workload=jobs", "workload.jobs=[{motif: halo3d, ranks: 8}]"],
        {"workload.jobs.0.ranks": 27, "workload.blame": False},
    ),
    (["study='x y'", "failures={routers: [3,17]}"], {}),
]

UNUSUAL: list[tuple[list[str], Values]] = [
    (["++run.measure_ns=5"], {}),
    (["seed=2", "study=run_${seed}"], {}),
    (["workload=pair", "+workload.target_params.iterations=2"], {}),
]

WRONG: list[tuple[list[str], Values]] = [
    (["routing=ugal_grup"], {}),
    (["routin=minimal"], {}),
    (["traffic=null"], {}),
    (["traffic.load=high"], {}),
    (["traffic.load=[1"], {}),
    (["topology.group=3"], {}),
    (["+traffic.lode=3"], {}),
    (["seed=1.5"], {}),
    (["traffic.load=0.1,0.2"], {}),
    (["workload=pair", "traffic.load=0.3"], {}),
    (["topology=hyperx", "topology.widths=4"], {}),
    ([], {"traffic.lod": 0.1}),
    ([], {"traffic.load": "high"}),
    ([], {"seed": "one"}),
    ([], {"run.drain": 7.5}),
    ([], {"study.name": 1}),
    ([], {"nothing": 1}),
    (["workload=pair"], {"run.warmup_ns": 5}),
    (["topology=torus"], {"topology.sizes": [4, "x"]}),
    (["workload=jobs", "workload.jobs=[{motif: halo3d}]"], {"workload.jobs.0.bytes": 5}),
]


def text(plain: Values) -> str:
    """The text keeps types and order: 1 differs from 1.0, and a result file has its keys in this order."""
    return json.dumps(plain)


@pytest.mark.parametrize(("words", "values"), ORDINARY, ids=str)
def test_sections_equal_the_configuration_of_hydra(words: list[str], values: Values) -> None:
    before = SIMULATIONS.left_to_hydra
    assembled = SIMULATIONS.resolved(words, values)
    assert SIMULATIONS.left_to_hydra == before
    assert text(assembled) == text(SIMULATIONS.by_hydra(words, values))


def test_configurations_of_tables_equal_those_of_hydra() -> None:
    words = ["topology=torus", "engine=nue", "patterns=5", "topology.terminals_per_router=2"]
    values = {"topology.sizes": [3, 3], "engine.layers": 2, "failures.links": ["0-1"], "dump": "never"}
    assert text(TABLES.resolved(words, values)) == text(TABLES.by_hydra(words, values))
    assert TABLES.left_to_hydra == 0


@pytest.mark.parametrize(("words", "values"), UNUSUAL, ids=str)
def test_unusual_overrides_are_left_to_hydra(words: list[str], values: Values) -> None:
    before = SIMULATIONS.left_to_hydra
    config = SIMULATIONS.resolved(words, values)
    assert SIMULATIONS.left_to_hydra == before + 1
    composed = OmegaConf.to_container(SIMULATION.compose(words), resolve=True)
    assert isinstance(composed, dict)
    assert text(config) == text({str(key): value for key, value in composed.items()})


@pytest.mark.parametrize(("words", "values"), WRONG, ids=str)
def test_errors_equal_those_of_hydra(words: list[str], values: Values) -> None:
    messages = []
    for way in (SIMULATIONS.resolved, Composer(SIMULATION).by_hydra):
        with pytest.raises(Exception) as raised:  # noqa: PT011 - Hydra chooses the type of the exception
            way(words, values)
        messages.append(explain(raised.value))
    assert messages[0] == messages[1]


def test_runs_do_not_change_each_other() -> None:
    composer = Composer(SIMULATION)
    first = text(composer.resolved(["workload=pair"], {"workload.target_params": {"ranks": 8}}))
    composer.resolved(["workload=pair"], {"workload.target_params": {"iterations": 2}, "seed": 9})
    assert text(composer.resolved(["workload=pair"], {"workload.target_params": {"ranks": 8}})) == first
    assert composer.left_to_hydra == 0
