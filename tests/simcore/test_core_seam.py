"""The seam: a caller makes the decisions, in one batch per cycle."""

import numpy as np
import pytest
from core_scenes import config, traffic
from flitgym.simcore import ConfigError, CoreError, Simulation


def first(offsets: np.ndarray) -> np.ndarray:
    return np.zeros(len(offsets) - 1, np.uint32)


def test_requests_describe_the_batch() -> None:
    sim = Simulation(config("external", traffic("uniform", 0.5)))
    with pytest.raises(CoreError, match="collect"):
        sim.requests()
    seen = 0
    for _ in range(600):
        n = sim.collect()
        r = sim.requests()
        assert {len(r[key]) for key in ("router", "packet", "in_port", "in_vc", "input_vc")} == {n}
        assert len(r["offsets"]) == n + 1
        assert len(r["candidate_port"]) == len(r["candidate_class"]) == r["offsets"][-1]
        if n:
            at_home = r["destination"] // 2 == r["router"]
            ports = r["candidate_port"][r["offsets"][:-1]]
            np.testing.assert_array_equal(ports[at_home], r["destination"][at_home] % 2)
            assert (ports[~at_home] >= 2).all()
            seen += n
        sim.apply(first(r["offsets"]))
    assert seen > 500


@pytest.mark.parametrize("routing", ["ugal_router", "q_adaptive"])
def test_collect_and_apply_equal_a_run(routing: str) -> None:
    halves, whole = (Simulation(config(routing, traffic("adversarial", 0.4))) for _ in range(2))
    for _ in range(2000):
        halves.collect()
        halves.apply()
    whole.run(2000)
    assert halves.state_hash() == whole.state_hash()
    halves.collect()
    with pytest.raises(CoreError, match="apply"):
        halves.run(1)
    with pytest.raises(ConfigError, match="decides by itself"):
        halves.apply(np.zeros(1, np.uint32))


def drive(sim: Simulation, cycles: int, choose) -> None:
    """Run with `choose(offsets)`, which answers every request."""
    for _ in range(cycles):
        n = sim.collect()
        sim.apply(choose(sim.requests()["offsets"]) if n else None)


def test_first_choice_is_minimal_routing() -> None:
    external = Simulation(config("external", traffic("uniform", 0.1), seed=4))
    minimal = Simulation(config("minimal", traffic("uniform", 0.1), seed=4))
    external.begin_window()
    minimal.begin_window()
    drive(external, 6000, first)
    minimal.run(6000)
    # The generated packets are equal, and so are their hops, except for the few still in the network.
    ours, theirs = external.statistics(), minimal.statistics()
    assert ours["packets_injected"] == theirs["packets_injected"]
    assert ours["nonminimal_fraction"] == 0
    assert ours["hops_mean"] == pytest.approx(theirs["hops_mean"], rel=0.002)
