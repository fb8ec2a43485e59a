"""`MarginalCost` equals replays by hand: restore, force a slot, run until all packets arrive, and sum all delays."""

import itertools
from typing import Any

import numpy as np
import pytest
from flitgym.simcore import MarginalCost, Simulation

# 12 terminals on 6 routers in 3 groups. Packets are generated for 3 us; then the network drains.
_NETWORK = {"name": "dragonfly", "terminals_per_router": 2, "routers_per_group": 2, "global_ports": 1, "groups": 3}
_BURST = {"name": "uniform", "load": 0.5, "load_step_times_ns": [3000.0], "load_step_loads": [0.0]}
_DRAINED_NS = 30_000.0


def _simulation(routing: dict[str, Any], traffic: dict[str, Any] = _BURST) -> Simulation:
    return Simulation({"topology": _NETWORK, "router": "hpdc21", "routing": routing, "traffic": traffic, "seed": 3})


def _policy() -> tuple[Simulation, Simulation]:
    """A network with decisions by random weights, and the same network with decisions by the caller."""
    policy = _simulation({"name": "policy", "observation": "progress+router+queues", "hidden": [8]})
    layers = policy.seam()["layers"]
    rng = np.random.default_rng(5)
    policy.set_policy([(rng.normal(size=(n, m)), rng.normal(size=n)) for m, n in itertools.pairwise(layers)])
    return policy, _simulation({"name": "agent", "observation": "progress+router+queues"})


def _choices(judge: Simulation, agent: Simulation) -> np.ndarray:
    shown = agent.decisions()
    scores = np.where(shown["mask"], judge.policy_scores(shown["observation"]), -np.inf)
    return scores.argmax(axis=1)


def _all_delays_us(judge: Simulation, agent: Simulation, forced: tuple[int, int, int] | None = None) -> float:
    """Run until all packets arrive. `forced` holds the router, source and slot of a decision of this cycle."""
    first = True
    while agent.time_ns < _DRAINED_NS and (agent.packets_in_network or agent.time_ns < 3000):
        if not agent.collect():
            agent.apply()
            first = False
            continue
        choices = _choices(judge, agent)
        if first and forced is not None:
            shown = agent.decisions()
            (row,) = np.flatnonzero((shown["router"] == forced[0]) & (shown["source"] == forced[1]))
            choices[row] = forced[2]
        agent.apply(choices)
        first = False
    assert agent.packets_in_network == 0
    return agent.accrued_delay_us()


def test_agrees_with_exhaustive_replays() -> None:
    policy, agent = _policy()
    judge = policy.fork()
    policy.run_ns(800)
    labels = MarginalCost(policy, horizon_ns=_DRAINED_NS, reroute=True).label(12, part=0.2)
    tried = 0
    for n, cycle in enumerate(labels["cycle"]):
        while agent.now < cycle:
            agent.apply(_choices(judge, agent) if agent.collect() else None)
        here = agent.snapshot()
        scratch = _simulation({"name": "agent", "observation": "progress+router+queues"})
        scratch.restore(here)
        base = _all_delays_us(judge, scratch)
        for slot in np.flatnonzero(labels["mask"][n]):
            scratch.restore(here)
            where = (int(labels["router"][n]), int(labels["source"][n]), int(slot))
            cost = 1e3 * (_all_delays_us(judge, scratch, where) - base)
            assert labels["cost_ns"][n, slot] == pytest.approx(cost, abs=1e-3)
            tried += cost != 0
    assert tried > 10


def test_labels_have_the_documented_shapes() -> None:
    simulation = _simulation({"name": "policy"})
    labels = MarginalCost(simulation, threads=1).label(10, part=1)
    seam = simulation.seam()
    n = len(labels["cycle"])
    assert n == 10
    assert labels["cost_ns"].shape == labels["mask"].shape == (n, seam["slots"])
    assert labels["observation"].shape == (n, seam["width"])
    assert (np.isnan(labels["cost_ns"]) == ~labels["mask"]).all()
    taken = labels["taken"].astype(int)
    assert (labels["cost_ns"][np.arange(n), taken] == 0).all()
