"""Routings of the core as the background: they decide until an agent takes over, and then what it leaves to them."""

import pickle
from typing import Any

import numpy as np
import pytest
from env_scenes import check_drains
from flitgym.configs import compose, core_sections
from flitgym.env import PacketBatch, PacketRoutingEnv
from flitgym.simcore import ConfigError, Simulation, SimulationBatch

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.3"]
SEEN = "progress+router+queues+path"
ROUTINGS = {
    "par": WORLD,
    "ugal_l": WORLD,
    "q_adaptive": WORLD,
    "q_routing": ["topology=torus", "topology.sizes=[4,4]"],
    "dim_war": ["topology=hyperx_64", "traffic=bit_complement"],
    "clos_ad": ["topology=hyperx_64", "traffic=bit_complement"],
    "polarized": ["topology=slim_fly", "topology.q=5"],
}


def recorded(routing: str, world: list[str], seed: int = 1) -> Simulation:
    config = core_sections(compose([*world, f"routing={routing}"]))
    return Simulation({**config, "seed": seed, "record": {"observation": SEEN}})


@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_routing_that_gets_all_decisions_back_goes_on_as_if_it_had_kept_them(routing: str) -> None:
    whole, shared = (recorded(routing, ROUTINGS[routing]) for _ in range(2))
    shared.run(700)
    shared._hand_over()
    batch = SimulationBatch([shared])
    while n := batch.collect_before(2_000):
        batch.apply(np.full(n, -1))
    whole.run(shared.now)
    assert whole.decision_count == shared.decision_count > 200
    assert whole.statistics() == shared.statistics()
    for name, column in whole.transitions().items():
        np.testing.assert_array_equal(column, shared.transitions()[name], name)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_an_agent_takes_over_safely(routing: str) -> None:
    keywords: dict[str, Any] = {"overrides": ROUTINGS[routing], "background": routing, "observation": SEEN}
    batch = PacketBatch(2, **keywords, warmup_ns=(1_000, 3_000))
    batch.reset(seed=1)
    assert batch.time_ns.min() >= 999
    random = np.random.default_rng(1)
    for _ in range(1_000):
        n = batch.collect()
        batch.apply((random.random(n) * batch.mask[:n].sum(axis=1)).astype(int), log_probability=np.zeros(n))
    rows = batch.take()
    assert len(rows["action"]) > 500
    assert not np.isnan(rows["log_probability"]).any()
    for simulation in batch.simulations:
        check_drains(simulation)


def test_a_packet_of_the_agent_among_those_of_the_background() -> None:
    env = PacketRoutingEnv(overrides=WORLD, control="packet", background="par", warmup_ns=4_000, episode_ns=20_000)
    env.reset(seed=1)
    other, first = pickle.loads(pickle.dumps(env)), env.simulation
    first.begin_window()
    while env.simulation is first:
        said, again = env.step(1), other.step(1)
        assert said[1:4] == again[1:4]
        if said[2] or said[3]:
            for one in (env, other):
                one.reset()
    assert first.statistics()["packet_latency_mean_ns"] < 1_300  # minimal paths take 7,000
    assert first.statistics()["accepted_load"] == pytest.approx(0.3, rel=0.03)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"background": "par", "relation": "five_hop"}, "par lists the candidates"),
        ({"background": "q_adaptive"}, "'q_values' learns from feedback, as routing.q_adaptive does"),
        ({"background": "dqn"}, "records its own decisions"),
        ({"background": "dal", "overrides": ["topology=hyperx_64"]}, "does not let an agent choose"),
    ],
)
def test_backgrounds_that_are_refused(keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        PacketRoutingEnv(**{"overrides": WORLD, **keywords})
