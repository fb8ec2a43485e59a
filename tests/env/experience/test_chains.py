"""The order of transitions: whole packets, and the same result from both functions."""

from typing import Any

import numpy as np
from flitgym.env.experience import Chains, Ring, World, following, horizon_cycles
from flitgym.simcore import NO_DECISION

TINY = {"name": "dragonfly", "terminals_per_router": 1, "routers_per_group": 3, "global_ports": 1, "groups": 4}
WORLD = World({"topology": TINY, "router": "input_queued", "traffic": {"name": "uniform", "load": 0.3}})


def test_a_decision_is_found_in_its_own_network() -> None:
    decision = np.array([7, 3, 5, 3, 9], np.uint64)
    after = np.array([NO_DECISION, 7, 3, 5, 8], np.uint64)
    network = np.array([0, 0, 0, 1, 1])
    # Network 1 has no decision 5, although network 0 has one; decision 8 is missing, too.
    assert following(decision, after, network).tolist() == [-1, 0, 1, -1, -1]
    nothing = np.empty(0, np.uint64)
    assert following(nothing, nothing, nothing).tolist() == []


def rows(*triples: tuple[int, int, bool, int]) -> dict[str, Any]:
    decision, following, done, decided = zip(*triples, strict=True)
    return {
        "decision": np.array(decision, np.uint64),
        "next_decision": np.array([x % 2**64 for x in following], np.uint64),
        "done": np.array(done),
        "decided": np.array(decided, np.uint32),
    }


def test_chains_wait_until_they_are_whole() -> None:
    chains = Chains(horizon=100)
    # Packet A: decisions 0, 3, 5; packet B: 1; packet C: 2, 4. The last of A comes first.
    chains.add(rows((5, -1, True, 30), (1, -1, True, 10)))
    assert not chains.take(105)["decision"].size  # decision 1 may still have a predecessor
    assert chains.take(110)["decision"].tolist() == [1]
    chains.add(rows((0, 3, False, 5), (2, 4, False, 12)))
    assert not chains.take(129)["decision"].size  # 3 is missing between 0 and 5, and 4 after 2
    chains.add(rows((4, -1, True, 29), (3, 5, False, 20)))
    assert chains.take(129)["decision"].tolist() == [0, 3, 5, 2, 4]
    assert chains.waiting == 0


def test_chains_of_a_simulation_lose_nothing() -> None:
    simulation = WORLD.simulation({"name": "random", "record": 1 << 16}, 1)
    reader, chains, whole = Ring(simulation), Chains(horizon_cycles(simulation)), []
    for _ in range(60):
        simulation.run(50)
        chains.add(reader.take())
        whole.append(chains.take(simulation.now))
    taken = {name: np.concatenate([piece[name] for piece in whole]) for name in whole[0]}
    assert len(taken["decision"]) + chains.waiting == simulation.transition_count > 500
    assert len(taken["decision"]) > 0.8 * simulation.transition_count
    assert taken["done"][-1]
    inner = ~taken["done"]
    assert inner.sum() > 20
    np.testing.assert_array_equal(taken["next_decision"][:-1][inner[:-1]], taken["decision"][1:][inner[:-1]])
    # The first decision of a chain is the next one of no other.
    firsts = np.concatenate([[True], taken["done"][:-1]])
    assert not np.isin(taken["decision"][firsts], taken["next_decision"]).any()
