"""Bounds that follow from the topology, on 1,056 terminals (p=4 a=8 h=4 g=33) with the hpdc21 router."""

import pytest
from core_scenes import SYSTEM, config, measure, router, traffic
from flitgym.simcore import Simulation


def run(routing, pattern, warmup_ns: float, measure_ns: float, **sections) -> dict[str, float]:
    return measure(Simulation(config(routing, pattern, topology=SYSTEM, **sections)), warmup_ns, measure_ns)


def test_uniform_minimal_mean_hops() -> None:
    # The source's group has 8 of the 264 routers, 7 of them one hop away. Other groups are 1 + 2 * 7/8 hops away.
    result = run("minimal", traffic("uniform", 0.2), 5000, 40000)
    deviation = 0.53 / result["packets_delivered"] ** 0.5
    assert result["hops_mean"] == pytest.approx(7 / 264 + 32 / 33 * 2.75, abs=5 * deviation)
    assert result["accepted_load"] == pytest.approx(0.2, rel=0.01)


def test_adversarial_minimal_saturates_at_one_link_per_group() -> None:
    # One global link serves 32 terminals. The credit round trip exceeds 2 * 200 cycles, or 20 flit times, so 64 flits
    # suffice.
    deep = router("hpdc21", input_buffer_flits=64, output_buffer_flits=64)
    result = run("minimal", traffic("adversarial", 0.5), 30000, 40000, router=deep)
    assert result["accepted_load"] == pytest.approx(1 / 32, rel=0.005)


@pytest.mark.parametrize(
    "routing", ["valiant_group", "valiant_router", "ugal_group", "ugal_router", "ugal_global", "par", "q_adaptive"]
)
def test_adversarial_bounds(routing: str) -> None:
    # Minimal packets of a group share one link, and the others cross two global links.
    # The bound is (1 + 1/32) / 2, or 1/2 without minimal packets.
    result = run(routing, traffic("adversarial", 1.0), 20000, 15000)
    assert 0.03 < result["accepted_load"] <= (0.5 if routing.startswith("valiant") else 0.516)


# ADV+4: all four global links of a router in the intermediate group lead to the same router (absolute arrangement, h =
# 4).
# Without a detour within that group, the bound is (31/4 + 1) / 32 = 27 %.
NO_DETOUR = {"name": "q_adaptive", "q_thld2": 1e9}


@pytest.mark.parametrize(
    "routing", ["ugal_group", NO_DETOUR, "valiant_group"], ids=["ugal_group", "q_adaptive", "valiant_group"]
)
def test_adversarial_4_without_local_detour(routing) -> None:
    result = run(routing, traffic("adversarial", 0.6, shift=4), 60000, 20000)
    assert result["accepted_load"] <= 0.275


# ugal_router accepts less when overloaded, so its load is 0.4.
@pytest.mark.parametrize(("routing", "load"), [("valiant_router", 0.6), ("par", 0.6), ("ugal_router", 0.4)])
def test_adversarial_4_with_local_detour(routing: str, load: float) -> None:
    result = run(routing, traffic("adversarial", load, shift=4), 20000, 20000)
    assert result["accepted_load"] > 0.35
    assert 5.2 < result["hops_mean"] < 5.6


def test_adversarial_4_q_adaptive_learns_the_local_detour() -> None:
    # Starts from an untrained table. Accepted load reaches 0.37 after 300 us and still rises.
    result = run("q_adaptive", traffic("adversarial", 0.6, shift=4), 360000, 15000)
    assert result["accepted_load"] > 0.35
    assert result["hops_mean"] > 3.8


@pytest.mark.parametrize(("routing", "hops"), [("valiant_router", 5.5), ("valiant_group", 4.0)])
def test_adversarial_1_mean_hops(routing: str, hops: float) -> None:
    # VALn: two minimal paths of 2.75 hops. VALg enters the second group at the router with the onward link in 3 of 4
    # cases.
    result = run(routing, traffic("adversarial", 0.4), 20000, 15000)
    assert result["hops_mean"] == pytest.approx(hops, rel=0.02)


def test_uniform_low_load_q_adaptive_is_minimal() -> None:
    q, minimal = (run(routing, traffic("uniform", 0.3), 20000, 20000) for routing in ("q_adaptive", "minimal"))
    assert 2.65 < q["hops_mean"] < 2.8
    assert q["packet_latency_mean_ns"] == pytest.approx(minimal["packet_latency_mean_ns"], rel=0.02)
