"""Every random choice follows from the run's seed, unless its own seed is given."""

from typing import Any

import pytest
from flitgym.simcore import Simulation, registered

DRAGONFLY = {"name": "dragonfly", "terminals_per_router": 2, "routers_per_group": 4, "global_ports": 2, "groups": 9}
TRAFFIC = {"name": "uniform", "load": 0.3}
KINDS = (
    *("topology", "router", "routing", "traffic", "motif", "workload"),
    *("observation", "reward", "relation", "failures", "engine", "record"),
)
ENGINES = registered("engine")
# `routing=table` and some engines pass the keys of an engine on to it. The engine itself has the fewest keys.
OWNERS = {
    key: min(
        (name for name in ENGINES if key in ENGINES[name]["params"]), key=lambda name: len(ENGINES[name]["params"])
    )
    for engine in ENGINES.values()
    for key in engine["params"]
}
SHORT = {"angara_genetic": {"population": 10, "patience": 2}, "local_search": {"steps": 2000}}
# (kind, component, key, setting that turns the choice on)
CHOICES = [
    (kind, name, key, param["needs"])
    for kind in KINDS
    for name, component in registered(kind).items()
    for key, param in component["params"].items()
    if param["draws"] and (OWNERS.get(key, name) == name or (kind != "engine" and name != "table"))
]


def outcome(kind: str, name: str, own: dict[str, Any], seed: int) -> str:
    """The hash of a short run with the parameters `own` of a component."""
    where = {"name": "torus", "sizes": [4, 4]}
    if kind == "engine" and "random_regular" in ENGINES[name]["facts"]["topologies"]:
        where = {"name": "random_regular", "routers": 14, "degree": 4, "graph_seed": 3}
    jobs = {"name": "job", "motif": "halo3d", "ranks": 8, "iterations": 2}
    sections: dict[str, dict[str, Any]] = {
        "topology": {"topology": {**(DRAGONFLY if name == "dragonfly" else {}), "name": name, **own}},
        "traffic": {"traffic": {**TRAFFIC, "name": name, **own}},
        "failures": {"failures": {"links": 3, **own}},
        "routing": {"routing": {"name": name, **own}},
        "engine": {"topology": where, "routing": {"name": "table", "engine": name, **SHORT.get(name, {}), **own}},
        "motif": {"workload": {"placement": "linear", "jobs": [{"motif": name, "ranks": 16, "scale": 0.02, **own}]}},
        "workload": {"workload": {"jobs": [jobs], **own}},
    }
    config = {"topology": DRAGONFLY, "routing": "minimal", **sections[kind], "seed": seed}
    sim = Simulation(config if "workload" in config else {"traffic": TRAFFIC, **config})
    sim.run(20_000 if "workload" in config else 1500)
    return sim.state_hash()


@pytest.mark.parametrize(("kind", "name", "key", "needs"), CHOICES, ids=lambda value: str(value))
def test_a_random_choice_follows_the_seed(kind: str, name: str, key: str, needs: str) -> None:
    on = dict([needs.split("=")]) if needs else {}
    follows = outcome(kind, name, on, 2)
    assert follows == outcome(kind, name, {**on, key: None}, 2) == outcome(kind, name, {**on, key: 2}, 2)
    assert follows != outcome(kind, name, {**on, key: 1}, 2)
    if kind == "workload":
        mapped = {"placement": "mapped", "mapping": "recursive", "mapping_steps": 50}
        assert outcome(kind, name, mapped, 2) != outcome(kind, name, {**mapped, key: 1}, 2)
