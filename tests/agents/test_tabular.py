"""Q-adaptive in Python equals the core's routing: the same draws, tables and packets, bit for bit."""

from typing import Any

import numpy as np
import pytest
from flitgym.agents.draws import below, draw, unit
from flitgym.agents.q_adaptive import QAdaptive
from flitgym.agents.tabular import play
from flitgym.simcore import Simulation
from flitgym.simcore._presets import section

DRAGONFLY = {"name": "dragonfly", "terminals_per_router": 2, "routers_per_group": 4, "global_ports": 2, "groups": 9}
PARALLEL = {**DRAGONFLY, "groups": 4}  # two links per pair of groups, and global ports without one


def router(preset: str) -> dict[str, Any]:
    return dict(section("router", preset))


def pair(
    topology: Any, preset: str, traffic: Any, seed: int, inside: Any, outside: Any, failures: Any = None
) -> list[Simulation]:
    sections = {"topology": topology, "router": router(preset), "traffic": traffic, "seed": seed, "failures": failures}
    return [Simulation({**sections, "routing": routing}) for routing in (inside, outside)]


def assert_same(core: Simulation, twin: Simulation, table: np.ndarray) -> None:
    """Bit for bit: the tables, every packet in the network, and all measurements."""
    assert table.dtype == core.q_table.dtype == np.float32
    assert table.shape == core.q_table.shape
    np.testing.assert_array_equal(table.view(np.uint32), np.ascontiguousarray(core.q_table).view(np.uint32))
    ours, theirs = twin.arrays(), core.arrays()
    for name in ("terminals", "ports", "histogram_nic", "histogram_generation"):
        np.testing.assert_array_equal(ours[name], theirs[name])
    # In the core the routing defines non-minimal; for an agent outside it is a longer path.
    assert {**twin.statistics(), "nonminimal_fraction": 0} == {**core.statistics(), "nonminimal_fraction": 0}
    assert twin.packets_in_network == core.packets_in_network


def test_draws_are_the_core_s() -> None:
    # Computed with Python's integers.
    def mix(x: int) -> int:
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    def by_hand(seed: int, stream: int, counter: int) -> int:
        key = mix((seed + 0x9E3779B97F4A7C15 * (stream + 1)) % 2**64)
        return mix((key + 0xD1B54A32D192ED03 * (counter + 1)) % 2**64)

    streams = np.array([0, 1, 7 << 32 | 5, 2**63 + 11], np.uint64)
    for seed, counter in ((0, 0), (1, 64), (2**40, 2**32 + 3)):
        expected = [by_hand(seed, int(stream), counter) for stream in streams]
        bits = draw(seed, streams, counter)
        assert bits.tolist() == expected
        for n in (1, 7, 2**32 - 1):
            assert below(bits, n).tolist() == [x * n >> 64 for x in expected]
        assert unit(bits).tolist() == [((x >> 12) + 0.5) / 2**52 for x in expected]


@pytest.mark.parametrize("preset", ["input_queued", "hpdc21"])
@pytest.mark.parametrize(
    ("topology", "traffic", "params"),
    [
        (DRAGONFLY, {"name": "uniform", "load": 0.5}, {}),
        (DRAGONFLY, {"name": "adversarial", "load": 0.4}, {}),
        (DRAGONFLY, {"name": "adversarial", "load": 0.3, "shift": 4, "packet_bytes": 384}, {"epsilon": 0.2}),
        (PARALLEL, {"name": "uniform", "load": 0.6}, {"epsilon": 0.05, "integer_ns": False, "alpha": 0.3}),
        (DRAGONFLY, {"name": "adversarial", "load": 0.5}, {"q_thld1": 0.0, "q_thld2": 0.05, "epsilon": 0.0}),
        # Terminals are renumbered, and one router has none; the core knows the ports and groups.
        (DRAGONFLY, {"name": "uniform", "load": 0.5}, {"failures": {"terminals": [0, 5, 6, 7, 40]}}),
    ],
)
def test_q_adaptive(preset: str, topology: Any, traffic: Any, params: dict[str, Any]) -> None:
    seed, params = 5, dict(params)
    failures = params.pop("failures", None)
    core, twin = pair(topology, preset, traffic, seed, {"name": "q_adaptive", **params}, QAdaptive.ROUTING, failures)
    agent = QAdaptive(twin, seed, **params)
    assert_same(core, twin, agent.table)
    first = agent.table.copy()
    for simulation in (core, twin):
        simulation.begin_window()
    for _ in range(2):
        core.run(2000)
        play(twin, agent, 2000)
        assert_same(core, twin, agent.table)
    assert (agent.table != first).mean() > 0.01
    statistics = core.statistics()
    assert statistics["packets_delivered"] > 100
    assert statistics["nonminimal_fraction"] > 0

    # Frozen, neither learns nor explores.
    learned = agent.table.copy()
    core.q_frozen = twin.q_frozen = True
    core.run(500)
    play(twin, agent, 500)
    assert_same(core, twin, agent.table)
    np.testing.assert_array_equal(learned, agent.table)
