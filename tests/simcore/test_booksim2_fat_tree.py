"""Fat trees compared with BookSim2. The data file names the settings."""

import pytest
from core_scenes import Section, booksim2_traffic, config, measure, peer_points, router
from flitgym.simcore import Simulation

TREE: Section = {"name": "fat_tree", "children": [4, 4, 4], "parents": [1, 4, 4]}
ASCENTS = {"nca": "random", "anca": "two_random"}
Row = dict[str, str]


def ours(ascent: str, load: float, warmup_ns: float = 1000, measure_ns: float = 2500) -> dict[str, float]:
    sections = {"topology": TREE, "router": router("booksim2", vcs=4)}
    # BookSim2 compares used credits, without the packets that its routers have routed in the same cycle.
    routing: Section = {"name": "up_down", "ascent": ascent, "allocation": "greedy"}
    return measure(Simulation(config(routing, booksim2_traffic("uniform", load), **sections)), warmup_ns, measure_ns)


@pytest.mark.parametrize("row", peer_points("booksim2_fat_tree_64.csv", "load", "curve"))
def test_booksim(row: Row) -> None:
    load = float(row["load"])
    result = ours(ASCENTS[row["curve"]], load)
    assert result["accepted_load"] == pytest.approx(float(row["accepted"]), rel=0.06)
    assert result["hops_mean"] == pytest.approx(float(row["avg_hops"]) - 1, rel=0.01)  # BookSim2 counts routers
    if load < 0.95:  # queueing times diverge near saturation, and so do their differences
        margin = 0.01 if load < 0.35 else 0.015 if load < 0.65 else 0.03
        # BookSim2's anca senses the load of the ports a hop earlier, so its packets queue longer.
        margin *= 2 if row["curve"] == "anca" else 1
        assert result["packet_latency_mean_ns"] == pytest.approx(float(row["avg_packet_latency"]), rel=margin)


@pytest.mark.parametrize("ascent", ["adaptive", "random", "two_random", "d_mod_k"])
def test_booksim_zero_load(ascent: str) -> None:
    hops = 2 * 12 / 64 + 4 * 48 / 64
    result = ours(ascent, 0.001, 1000, 40000)
    deviation = 1.2 / result["packets_delivered"] ** 0.5  # the standard deviation of a packet's hops is below 1.2
    assert result["hops_mean"] == pytest.approx(hops, abs=4 * deviation)
    # Packets hardly ever meet, so the mean is 3 h + 5 cycles.
    assert result["packet_latency_mean_ns"] == pytest.approx(3 * result["hops_mean"] + 5, abs=0.02)


@pytest.mark.parametrize("ascent", ["adaptive", "d_mod_k"])
def test_full_bisection_carries_uniform_traffic(ascent: str) -> None:
    """The other two ascents carry as much as BookSim2's near 1.0, because no channel is overloaded."""
    assert ours(ascent, 0.9)["accepted_load"] == pytest.approx(0.9, rel=0.02)
