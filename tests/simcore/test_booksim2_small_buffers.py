"""BookSim2 with buffers about as large as the credit loop, and without speedup. The data file names the settings."""

import pytest
from core_scenes import Section, booksim2_traffic, config, measure, peer_points, router
from flitgym.simcore import Simulation

# docs/exactness.md: internal_speedup = 1
SPEEDUP_1: Section = {
    "cycle_ns": 1.0, "crossbar_bandwidth_gb_per_s": 128, "link_latency_ns_host": 1.5, "input_latency_ns": 0.5,
    "output_latency_ns": 0.5,
}  # fmt: skip
TORUS_CHANNEL: Section = {"link_latency_ns_local": 2.0}
RANDOM: Section = {"name": "up_down", "ascent": "random"}
NETWORKS: dict[str, tuple[Section, str | Section, Section]] = {
    "torus55": ({"name": "torus", "sizes": [5, 5]}, "dimension_order", TORUS_CHANNEL),
    "fattree24": ({"name": "fat_tree", "children": [2, 2, 2, 2], "parents": [1, 2, 2, 2]}, RANDOM, {}),
    "flatfly44": ({"name": "hyperx", "widths": [4, 4], "terminals_per_router": 4}, "dimension_order", {}),
}


@pytest.mark.parametrize("row", peer_points("booksim2_small_buffers.csv", "load", "curve", "flits"))
def test_booksim(row: dict[str, str]) -> None:
    topology, routing, channel = NETWORKS[row["curve"]]
    model = router(
        "booksim2",
        **channel,
        **(SPEEDUP_1 if row["speedup"] == "1" else {}),
        vcs=int(row["vcs"]),
        input_buffer_flits=int(row["buffer"]),
        credit_delay_ns=float(row["delay"]),
    )
    pattern = booksim2_traffic("uniform", float(row["load"]), packet_flits=int(row["flits"]))
    result = measure(Simulation(config(routing, pattern, topology=topology, router=model)), 3000, 12000)
    assert result["accepted_load"] == pytest.approx(float(row["accepted"]), rel=0.03)
    if row["status"] == "stable":
        assert result["packet_latency_mean_ns"] == pytest.approx(float(row["avg_packet_latency"]), rel=0.05)
