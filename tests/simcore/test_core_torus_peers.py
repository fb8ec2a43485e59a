"""Tori and meshes compared with BookSim2. The data file names the settings."""

import pytest
from core_scenes import Section, booksim2_traffic, config, measure, peer_points, router
from flitgym.simcore import Simulation

Row = dict[str, str]

# Without queueing, a packet through R routers takes 3 R + 2 of BookSim2's cycles of 1 ns on a mesh.
# On a torus it takes 4 R + 1 cycles, because a channel takes two cycles.
FOLDED: Section = {"link_latency_ns_local": 2.0}
SYSTEMS: dict[str, tuple[Section, Section]] = {
    "torus88": ({"name": "torus", "sizes": [8, 8]}, FOLDED),
    "torus444": ({"name": "torus", "sizes": [4, 4, 4]}, FOLDED),
    "mesh88": ({"name": "mesh", "sizes": [8, 8]}, {"vcs": 4}),
}
# Loads at which BookSim2 saturates. From 92 % of these loads on, its latencies still grow with the length of the run.
SATURATION = {
    ("torus88_uniform", "1"): 0.98, ("torus88_uniform", "4"): 0.93, ("torus88_transpose", "1"): 0.28,
    ("torus444_uniform", "1"): 1.0,
    ("mesh88_uniform", "1"): 0.5, ("mesh88_uniform", "4"): 0.49, ("mesh88_transpose", "1"): 0.15,
}  # fmt: skip


def ours(network: str, pattern: Section, warmup_ns: float, measure_ns: float) -> dict[str, float]:
    topology, changes = SYSTEMS[network]
    sections = {"topology": topology, "router": router("booksim2", **changes)}
    return measure(Simulation(config("dimension_order", pattern, **sections)), warmup_ns, measure_ns)


@pytest.mark.parametrize("row", peer_points("booksim2_torus_mesh.csv", "load", "curve", "packet_flits"))
def test_booksim(row: Row) -> None:
    network, pattern = row["curve"].split("_")
    load, flits = float(row["load"]), int(row["packet_flits"])
    result = ours(network, booksim2_traffic(pattern, load, packet_flits=flits), 3000, 8000)
    assert result["accepted_load"] == pytest.approx(float(row["accepted"]), rel=0.03)
    saturation = SATURATION[row["curve"], row["packet_flits"]]
    if load < 0.92 * saturation:
        assert result["hops_mean"] == pytest.approx(float(row["avg_hops"]) - 1, rel=0.02)  # BookSim2 counts routers
        # Queueing times diverge near saturation, and so do their differences.
        margin = 0.015 if load < 0.65 * saturation else 0.02 if load < 0.88 * saturation else 0.05
        assert result["packet_latency_mean_ns"] == pytest.approx(float(row["avg_packet_latency"]), rel=margin)


@pytest.mark.parametrize(("network", "hops"), [("torus88", 4.0), ("torus444", 3.0), ("mesh88", 5.25)])
def test_booksim_zero_load(network: str, hops: float) -> None:
    result = ours(network, booksim2_traffic("uniform", 0.001), 1000, 200_000)
    cycles = 3 * (hops + 1) + 2 if network == "mesh88" else 4 * (hops + 1) + 1
    deviation = 10 / result["packets_delivered"] ** 0.5  # per packet: 3 or 4 cycles per hop, 2.5 hops
    assert result["packet_latency_mean_ns"] == pytest.approx(cycles, abs=5 * deviation + 0.02)
