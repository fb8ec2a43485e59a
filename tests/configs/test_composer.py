"""Configurations joined from sections equal those composed by Hydra, errors included."""

import json
from typing import Any

import pytest
from flitgym.configs import explain
from flitgym.configs.composition import SIMULATION, Composer
from flitgym.configs.routes import TABLE
from omegaconf import OmegaConf

Values = dict[str, Any]

# A composer keeps its options, so one serves all tests, like all runs of a sweep.
SIMULATIONS, TABLES = Composer(SIMULATION), Composer(TABLE)

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

WRONG: list[tuple[list[str], Values]] = [
    (["routing=ugal_grup"], {}),
    (["routin=minimal"], {}),
    (["traffic=null"], {}),
    (["traffic.load=high"], {}),
    (["+traffic.lode=3"], {}),
    (["traffic.load=0.1,0.2"], {}),
    (["workload=pair", "traffic.load=0.3"], {}),
    ([], {"traffic.lod": 0.1}),
    ([], {"traffic.load": "high"}),
    (["workload=pair"], {"run.warmup_ns": 5}),
    (["topology=torus"], {"topology.sizes": [4, "x"]}),
]


def text(plain: Values) -> str:
    """With types and order: 1 is not 1.0, and a result file has its keys in this order."""
    return json.dumps(plain)


@pytest.mark.parametrize(("words", "values"), ORDINARY, ids=str)
def test_sections_make_what_hydra_composes(words: list[str], values: Values) -> None:
    before = SIMULATIONS.left_to_hydra
    assembled = SIMULATIONS.resolved(words, values)
    assert SIMULATIONS.left_to_hydra == before
    # Another composer, since earlier runs of this one must not change later ones.
    assert text(assembled) == text(Composer(SIMULATION).by_hydra(words, values))


def test_tables_are_put_together_too() -> None:
    words = ["topology=torus", "engine=nue", "patterns=5", "topology.terminals_per_router=2"]
    values = {"topology.sizes": [3, 3], "engine.layers": 2, "failures.links": ["0-1"], "dump": "never"}
    assert text(TABLES.resolved(words, values)) == text(TABLES.by_hydra(words, values))
    assert TABLES.left_to_hydra == 0


@pytest.mark.parametrize(("words", "values"), UNUSUAL, ids=str)
def test_what_is_unusual_is_left_to_hydra(words: list[str], values: Values) -> None:
    before = SIMULATIONS.left_to_hydra
    config = SIMULATIONS.resolved(words, values)
    assert SIMULATIONS.left_to_hydra == before + 1
    composed = OmegaConf.to_container(SIMULATION.compose(words), resolve=True)
    assert isinstance(composed, dict)
    assert text(config) == text({str(key): value for key, value in composed.items()})


@pytest.mark.parametrize(("words", "values"), WRONG, ids=str)
def test_what_is_wrong_is_said_in_the_same_words(words: list[str], values: Values) -> None:
    messages = []
    for way in (SIMULATIONS.resolved, Composer(SIMULATION).by_hydra):
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which exception it is, is Hydra's business
            way(words, values)
        messages.append(explain(raised.value))
    assert messages[0] == messages[1]
