"""HyperX compared with other simulators: BookSim2 and CAMINOS. The data files name the settings."""

from typing import Any

import pytest
from core_scenes import Section, booksim2_traffic, config, measure, peer_points, router, traffic
from flitgym.simcore import Simulation

HX88: Section = {"name": "hyperx", "widths": [8, 8], "terminals_per_router": 8}
HX888: Section = {"name": "hyperx", "widths": [8, 8, 8], "terminals_per_router": 8}
Row = dict[str, str]


def ours(
    topology: Section, model: Section, routing: str | Section, pattern: Section, warmup_ns: float, measure_ns: float
) -> dict[str, float]:
    sections = {"topology": topology, "router": model}
    return measure(Simulation(config(routing, pattern, **sections)), warmup_ns, measure_ns)


# ---- BookSim2 ----
BOOKSIM: Section = router("booksim2", input_buffer_flits=32, credit_delay_ns=2.0)
CURVES = {
    "uniform_ran_min": ("dimension_order", "uniform"),
    "uniform_xyyx": ("dimension_order", "uniform"),
    "bitcomp_ran_min": ("dimension_order", "bit_complement"),
    "bitcomp_valiant": ("valiant", "bit_complement"),
}


def booksim(row: Row, load: float) -> dict[str, float]:
    routing, pattern = CURVES[row["curve"]]
    return ours(HX88, BOOKSIM, routing, booksim2_traffic(pattern, load), 1000, 1000)


@pytest.mark.parametrize("row", peer_points("booksim2_hyperx_512.csv", "load", "curve"))
def test_booksim(row: Row) -> None:
    load = float(row["load"])
    result = booksim(row, load)
    # Beyond saturation, BookSim2's Valiant drops to 0.464, and flitgym's does not.
    # There, BookSim2's Valiant uses half of its VCs, with input-first allocation in one iteration.
    assert result["accepted_load"] == pytest.approx(float(row["accepted"]), rel=0.06)
    assert result["hops_mean"] == pytest.approx(float(row["avg_hops"]) - 1, rel=0.01)  # BookSim2 counts routers
    if row["status"] == "stable":
        saturation = {"bitcomp_ran_min": 0.125, "bitcomp_valiant": 0.5}.get(row["curve"], 1.0)
        # Queueing times diverge near saturation, and so do their differences.
        margin = 0.015 if load < 0.65 * saturation else 0.03 if load < 0.85 * saturation else 0.05
        assert result["packet_latency_mean_ns"] == pytest.approx(float(row["avg_packet_latency"]), rel=margin)


def test_booksim_zero_load() -> None:
    hops = 2 * 7 / 8
    result = ours(HX88, BOOKSIM, "dimension_order", booksim2_traffic("uniform", 0.001), 1000, 40000)
    deviation = 2 / result["packets_delivered"] ** 0.5  # per packet: 3 cycles per hop, 0 to 2 hops
    assert result["packet_latency_mean_ns"] == pytest.approx(3 * hops + 5, abs=5 * deviation + 0.02)


# ---- CAMINOS ----
# Its router takes no time: a packet of 16 phits over h links takes h + 17 cycles of 1 ns from its creation.
# In flitgym, a link takes 0.5 ns and the crossbar 0.5 ns.
# In CAMINOS, every VC has its own crossbar ports, and a packet holds a link until its end.
CAMINOS: Section = router("input_queued", **{
    "cycle_ns": 0.5, "crossbar_bandwidth_gb_per_s": 256, "link_latency_ns_host": 0.75, "link_latency_ns_local": 0.5,
    "output_latency_ns": 0.0, "output_buffer_flits": 32, "input_buffer_flits": 64, "nic_buffer_flits": 320,
    "vcs": 4, "injection_vcs": 0, "arbiter": "least_recently_served", "crossbar_ports": "per_vc",
    "link_sharing": "packet",
})  # fmt: skip
# OMNI takes the least (16 + phits) x hops to go. The phits are those in the port's output buffers and in the buffers of
# the next router. A deroute is one hop longer, hence chosen if (h + 1) q + 16 < h q_minimal. The decision is repeated
# every cycle until the output has room; here it is final.
ROUTINGS: dict[str, str | Section] = {
    "DOR": "dimension_order",
    "VAL": "valiant",
    "OMNI": {
        "name": "omni_war",
        "detour_hops": "absolute",
        "congestion_scope": "port",
        "bias_flits": 16,
        "back_to_back": True,
    },
}


def of_caminos() -> list[Any]:
    """Without bit complement beyond saturation, where repeated decisions of CAMINOS carry more (docs/exactness.md)."""
    points = peer_points("caminos_hyperx.csv", "load", "topology", "routing", "pattern")
    return [p for p in points if p.values[0]["pattern"] != "bit_complement" or float(p.values[0]["load"]) <= 0.4]


@pytest.mark.parametrize("row", of_caminos())
def test_caminos(row: Row) -> None:
    large, complement = row["topology"] == "hx888", row["pattern"] == "bit_complement"
    changes = {**CAMINOS, "vcs": 6} if large and row["routing"] == "OMNI" else CAMINOS
    load = float(row["load"])
    pattern = traffic(row["pattern"], load, packet_bytes=2048, **({} if complement else {"self": False}))
    topology = HX888 if large else HX88
    result = ours(topology, changes, ROUTINGS[row["routing"]], pattern, float(row["warmup"]), float(row["measured"]))
    assert result["accepted_load"] == pytest.approx(float(row["accepted"]), rel=0.06)
    settled = row["routing"] != "OMNI" or load <= 0.5  # above, a few more or less deroutes decide
    assert result["hops_mean"] == pytest.approx(float(row["hops"]), rel=0.02 if settled else 0.08)
    if load < {"OMNI": 0.55, "VAL": 0.45, "DOR": 0.85}[row["routing"]]:
        margin = 0.2 if complement else 0.05
        assert result["packet_latency_mean_ns"] == pytest.approx(float(row["message_delay"]), rel=margin)


@pytest.mark.parametrize(("bias", "buffer", "deroutes"), [(15, 32, True), (16, 32, False), (16, 48, True)])
def test_a_bias_of_half_the_output_buffer_allows_no_deroute(bias: int, buffer: int, deroutes: bool) -> None:
    """A deroute needs q_minimal > 2 q + 2 bias if it doubles the path, and a full buffer of the class holds 32 flits.

    On minimal paths, a link carries the first hops of its router and the second hops of another router.
    """
    routing: Section = {"name": "omni_war", "congestion_bias_flits": bias}
    pattern = traffic("bit_complement", 0.2, packet_bytes=2048)
    result = ours(HX88, {**CAMINOS, "output_buffer_flits": buffer}, routing, pattern, 1000, 1000)
    if deroutes:
        assert result["hops_mean"] > 2.3
        assert result["accepted_load"] > 0.15
    else:
        assert result["hops_mean"] == 2
        assert result["accepted_load"] == pytest.approx(1 / 8, rel=0.01)


def test_caminos_zero_load() -> None:
    hops = 2 * 7 / 8 * 512 / 511  # excludes packets to the source itself
    result = ours(
        HX88, CAMINOS, "dimension_order", traffic("uniform", 0.002, packet_bytes=2048, self=False), 1000, 100000
    )
    assert result["packet_latency_mean_ns"] == pytest.approx(hops + 17, abs=0.15)
    assert result["packet_latency_p50_ns"] == pytest.approx(19, abs=0.01)


# ---- The numbers that docs/simulate.md gives for Q-adaptive, with the same windows and seed ----


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
