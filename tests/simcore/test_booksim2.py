"""Tori, meshes, fat trees, graphs and small buffers compared with BookSim2. The data files name the settings."""

from typing import Any

import pytest
from core_scenes import Section, booksim2_traffic, config, measure, peer_points, router
from flitgym.simcore import Simulation

Row = dict[str, str]
Margins = tuple[tuple[float, float], ...]  # (loads below, relative margin), ascending

# Without queueing, a packet through R routers takes 3 R + 2 of BookSim2's cycles of 1 ns.
# On a torus it takes 4 R + 1 cycles, because a channel takes two cycles.
FOLDED: Section = {"link_latency_ns_local": 2.0}
# docs/exactness.md: internal_speedup = 1
SPEEDUP_1: Section = {
    "cycle_ns": 1.0, "crossbar_bandwidth_gb_per_s": 128, "link_latency_ns_host": 1.5, "input_latency_ns": 0.5,
    "output_latency_ns": 0.5,
}  # fmt: skip
PETERSEN = [
    *((0, 1), (0, 4), (0, 5), (1, 2), (1, 6), (2, 3), (2, 7), (3, 4)),
    *((3, 8), (4, 9), (5, 7), (5, 8), (6, 8), (6, 9), (7, 9)),
]
RANDOM: Section = {"name": "up_down", "ascent": "random"}
# Topology, routing and changes of the router.
NETWORKS: dict[str, tuple[Section, str | Section, Section]] = {
    "torus88": ({"name": "torus", "sizes": [8, 8]}, "dimension_order", FOLDED),
    "torus444": ({"name": "torus", "sizes": [4, 4, 4]}, "dimension_order", FOLDED),
    "mesh88": ({"name": "mesh", "sizes": [8, 8]}, "dimension_order", {"vcs": 4}),
    "fat_tree": ({"name": "fat_tree", "children": [4, 4, 4], "parents": [1, 4, 4]}, RANDOM, {"vcs": 4}),
    "triangle": (
        {"name": "graph", "links": [(0, 1), (1, 2), (2, 0)], "terminals_per_router": 3}, "minimal", {"vcs": 4}
    ),
    "petersen": ({"name": "graph", "links": PETERSEN, "terminals_per_router": 2}, "minimal", {"vcs": 4}),
    "torus55": ({"name": "torus", "sizes": [5, 5]}, "dimension_order", FOLDED),
    "fattree24": ({"name": "fat_tree", "children": [2, 2, 2, 2], "parents": [1, 2, 2, 2]}, RANDOM, {}),
    "flatfly44": ({"name": "hyperx", "widths": [4, 4], "terminals_per_router": 4}, "dimension_order", {}),
}  # fmt: skip


def ours(
    network: str, load: float, warmup_ns: float, measure_ns: float, ascent: str = "", pattern: str = "uniform",
    flits: int = 1, **changes: Any,
) -> dict[str, float]:  # fmt: skip
    topology, routing, own = NETWORKS[network]
    if ascent:
        # BookSim2 compares used credits, without the packets that its routers have routed in the same cycle.
        routing = {"name": "up_down", "ascent": ascent, "allocation": "greedy"}
    sections = {"topology": topology, "router": router("booksim2", **{**own, **changes})}
    sent = booksim2_traffic(pattern, load, packet_bytes=128 * flits)
    return measure(Simulation(config(routing, sent, **sections)), warmup_ns, measure_ns)


def compare(row: Row, result: dict[str, float], accepted: float, hops: float, margin: float | None) -> None:
    assert result["accepted_load"] == pytest.approx(float(row["accepted"]), rel=accepted)
    if hops:
        assert result["hops_mean"] == pytest.approx(float(row["avg_hops"]) - 1, rel=hops)  # BookSim2 counts routers
    if margin is not None:
        assert result["packet_latency_mean_ns"] == pytest.approx(float(row["avg_packet_latency"]), rel=margin)


def margin_at(load: float, margins: Margins) -> float | None:
    """None near saturation, where queueing times diverge, and so do their differences."""
    return next((margin for below, margin in margins if load < below), None)


# Loads at which BookSim2 saturates. From 92 % of these loads on, its latencies still grow with the length of the run.
SATURATION = {
    ("torus88_uniform", "1"): 0.98, ("torus88_uniform", "4"): 0.93, ("torus88_transpose", "1"): 0.28,
    ("torus444_uniform", "1"): 1.0,
    ("mesh88_uniform", "1"): 0.5, ("mesh88_uniform", "4"): 0.49, ("mesh88_transpose", "1"): 0.15,
}  # fmt: skip


@pytest.mark.parametrize("row", peer_points("booksim2_torus_mesh.csv", "load", "curve", "packet_flits"))
def test_tori_and_meshes(row: Row) -> None:
    network, pattern = row["curve"].split("_")
    load, flits = float(row["load"]), int(row["packet_flits"])
    margin = margin_at(
        load / SATURATION[row["curve"], row["packet_flits"]], ((0.65, 0.015), (0.88, 0.02), (0.92, 0.05))
    )
    result = ours(network, load, 3000, 8000, pattern=pattern, flits=flits)
    compare(row, result, 0.03, 0.02 if margin else 0, margin)


@pytest.mark.parametrize("row", peer_points("booksim2_fat_tree_64.csv", "load", "curve"))
def test_fat_trees(row: Row) -> None:
    load, ascent = float(row["load"]), {"nca": "random", "anca": "two_random"}[row["curve"]]
    margin = margin_at(load, ((0.35, 0.01), (0.65, 0.015), (0.95, 0.03)))
    # BookSim2's anca senses the load of the ports a hop earlier, so its packets queue longer.
    margin = margin and margin * (2 if row["curve"] == "anca" else 1)
    compare(row, ours("fat_tree", load, 1000, 2500, ascent), 0.06, 0.01, margin)


@pytest.mark.parametrize("row", peer_points("booksim2_anynet.csv", "load", "curve"))
def test_graphs(row: Row) -> None:
    load = float(row["load"])
    margin = margin_at(load, ((0.65, 0.01), (0.85, 0.02), (0.95, 0.04)))
    compare(row, ours(row["curve"], load, 3000, 12000), 0.06, 0.015, margin)


@pytest.mark.parametrize("row", peer_points("booksim2_small_buffers.csv", "load", "curve", "flits"))
def test_buffers_about_as_large_as_the_credit_loop(row: Row) -> None:
    sizes = {"vcs": int(row["vcs"]), "input_buffer_flits": int(row["buffer"]), "credit_delay_ns": float(row["delay"])}
    changes = {**(SPEEDUP_1 if row["speedup"] == "1" else {}), **sizes}
    result = ours(row["curve"], float(row["load"]), 3000, 12000, flits=int(row["flits"]), **changes)
    compare(row, result, 0.03, 0, 0.05 if row["status"] == "stable" else None)


@pytest.mark.parametrize(
    ("network", "ascent", "load", "hops"),
    [
        *(("torus88", "", 0.001, 4.0), ("torus444", "", 0.001, 3.0), ("mesh88", "", 0.001, 5.25)),
        *(("fat_tree", ascent, 0.001, 2 * 12 / 64 + 4 * 48 / 64) for ascent in ("adaptive", "random")),
        *(("fat_tree", ascent, 0.001, 2 * 12 / 64 + 4 * 48 / 64) for ascent in ("two_random", "d_mod_k")),
        *(("triangle", "", 0.002, 6 / 9), ("petersen", "", 0.002, (3 * 1 + 6 * 2) / 10)),
    ],
)
def test_zero_load(network: str, ascent: str, load: float, hops: float) -> None:
    result = ours(network, load, 1000, 100_000, ascent)
    deviation = 1.7 / result["packets_delivered"] ** 0.5  # the standard deviation of a packet's hops is below 1.7
    assert result["hops_mean"] == pytest.approx(hops, abs=4 * deviation)
    # Packets hardly ever meet.
    routers = result["hops_mean"] + 1
    cycles = 4 * routers + 1 if network.startswith("torus") else 3 * routers + 2
    assert result["packet_latency_mean_ns"] == pytest.approx(cycles, abs=0.02)


@pytest.mark.parametrize("ascent", ["adaptive", "d_mod_k"])
def test_full_bisection_carries_uniform_traffic(ascent: str) -> None:
    """The other two ascents carry as much as BookSim2's near 1.0, because no channel is overloaded."""
    assert ours("fat_tree", 0.9, 1000, 2500, ascent)["accepted_load"] == pytest.approx(0.9, rel=0.02)
