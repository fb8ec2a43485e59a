"""The numbers that docs/simulate.md gives for Q-adaptive on HyperX, with the same windows and seed."""

import pytest
from core_scenes import Section, config, measure, router, traffic
from flitgym.simcore import Simulation

HX88: Section = {"name": "hyperx", "widths": [8, 8], "terminals_per_router": 8}


@pytest.mark.parametrize(
    ("pattern", "latency_ns"),
    [({"name": "bit_complement"}, 501), ({"name": "uniform_random_bisection", "dimension": "y"}, 390)],
    ids=["bit_complement", "urb_y"],
)
def test_sc19_close_to_the_bound(pattern: Section, latency_ns: float) -> None:
    load = {**traffic(pattern["name"], 0.45, packet_bytes=128, packet_bytes_max=2048), **pattern}
    result = measure(Simulation(config("q_adaptive", load, topology=HX88, router=router("sc19"))), 20000, 5000)
    assert result["accepted_load"] == pytest.approx(0.45, rel=0.01)
    assert result["packet_latency_mean_ns"] == pytest.approx(latency_ns, rel=0.03)


@pytest.mark.parametrize(("routing", "accepted"), [("q_adaptive", 0.270), ("dim_war", 0.277)])
def test_input_queued_beyond_the_bound(routing: str, accepted: float) -> None:
    sections = {"topology": HX88, "router": router("input_queued")}
    result = measure(Simulation(config(routing, traffic("bit_complement", 0.3), **sections)), 10000, 5000)
    assert result["accepted_load"] == pytest.approx(accepted, rel=0.02)
