"""The presets of real machines have the published numbers."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
from core_scenes import config, traffic
from flitgym.simcore import ChannelGraph, Simulation
from flitgym.simcore._presets import section


@cache
def _graph(name: str) -> ChannelGraph:
    return ChannelGraph(name)


def _cables(name: str) -> Counter[tuple[int, int]]:
    """The number of cables between each two switches."""
    arrays = _graph(name).arrays()
    pairs = zip(arrays["from"].tolist(), arrays["to"].tolist(), strict=True)
    return Counter(pair for pair in pairs if pair[0] < pair[1])


# Published: nodes, NICs per node, switches, groups, NICs per switch, links between two groups.
DRAGONFLIES = {
    "frontier": (9472, 4, 74 * 32, 74, 16, 4),
    "aurora": (10624, 8, 166 * 32, 166, 16, 2),
    "perlmutter": (1792, 4, 14 * 32, 14, 16, 20),
}


@pytest.mark.parametrize("name", DRAGONFLIES)
def test_slingshot_machines_have_the_published_numbers(name: str) -> None:
    nodes, nics, switches, groups, per_switch, links = DRAGONFLIES[name]
    graph = _graph(name)
    assert (graph.terminals, graph.switches) == (nodes * nics, switches)
    at = graph.arrays()["terminal_switch"].astype(np.int64)
    assert (np.bincount(at, minlength=switches) == per_switch).all()
    # The NICs of a node are in one group of four switches, on as many of them as possible.
    of_node = at.reshape(nodes, nics)
    assert (of_node // 4 == of_node[:, :1] // 4).all()
    assert all(len(set(row)) == 4 for row in of_node[:: max(1, nodes // 500)].tolist())

    arrays = graph.arrays()
    a, b = arrays["from"].astype(np.int64), arrays["to"].astype(np.int64)
    size = switches // groups
    inside = a // size == b // size
    assert np.count_nonzero(inside) == groups * size * (size - 1)
    assert len(np.unique(a[inside] * switches + b[inside])) == np.count_nonzero(inside)
    pair = (a // size * groups + b // size)[~inside]
    between = np.bincount(pair, minlength=groups * groups).reshape(groups, groups)
    assert (between == links * (1 - np.eye(groups, dtype=np.int64))).all()
    assert len(np.unique(pair * switches + a[~inside])) == min(links, size) * groups * (
        groups - 1
    )  # its own switch each
    # The links of a group are spread over its switches, and no switch has more than 64 ports.
    out = np.bincount(a[~inside], minlength=switches)
    assert out.max() - out.min() <= 1
    assert out.max() <= 64 - 31 - 16


def _links_between(name: str, first_groups: int) -> tuple[int, int]:
    """Links between the first groups and the others, and between all groups. Each has two directions."""
    _, _, switches, groups, _, _ = DRAGONFLIES[name]
    arrays = _graph(name).arrays()
    a, b = (arrays[end].astype(np.int64) // (switches // groups) for end in ("from", "to"))
    return int(np.count_nonzero((a < first_groups) & (b >= first_groups))), int(np.count_nonzero(a < b))


def test_bandwidths_of_the_machines_are_the_published_ones() -> None:
    link = 25e9
    own, all_links = _links_between("frontier", 1)
    assert own / (_graph("frontier").terminals / 74) == pytest.approx(0.57, abs=0.005)
    assert all_links * link == pytest.approx(270e12, rel=0.005)  # in each direction
    assert _graph("aurora").terminals * link == pytest.approx(2.12e15, rel=0.005)
    assert 2 * _links_between("aurora", 83)[0] * link == pytest.approx(0.69e15, rel=0.005)  # both directions


def test_summit_has_the_published_numbers() -> None:
    graph = _graph("summit")
    assert graph.terminals == 2 * 4608
    at = graph.arrays()["terminal_switch"].astype(np.int64).reshape(256, 18, 2)
    # A rack has two switches, and each node has a port on both.
    assert (at == at[:, :1]).all()
    assert (at[:, 0, 1] != at[:, 0, 0]).all()
    assert len(np.unique(at)) == 512
    cables = _cables("summit")
    ports = np.bincount(at.ravel(), minlength=graph.switches)
    up: Counter[int] = Counter()
    for (one, other), count in cables.items():
        ports[[one, other]] += count
        if one < 512:
            up[one] += count
    assert ports.max() <= 36
    assert set(up.values()) == {18}  # as many ports up as down: non-blocking
    # Removing the racks' switches leaves the 18 directors, each of up to 648 ports to the racks.
    part = list(range(graph.switches))

    def root(k: int) -> int:
        while part[k] != k:
            k = part[k]
        return k

    for one, other in cables:
        if one >= 512:
            part[root(other)] = root(one)
    directors = Counter(root(k) for k in range(512, graph.switches))
    outer: Counter[int] = Counter()
    for (one, other), count in cables.items():
        if one < 512:
            outer[root(other)] += count
    assert len(directors) == 18
    assert set(outer.values()) == {512}
    # The bisection is half of the ports at 12.5 GB/s in both directions.
    assert graph.terminals / 2 * 12.5e9 * 2 == pytest.approx(115e12, rel=0.005)


def test_the_rail_cluster_has_nvidia_s_counts() -> None:
    graph = _graph("rail_1024")
    assert (graph.terminals, graph.switches) == (1024, 32 + 16)
    at = graph.arrays()["terminal_switch"].astype(np.int64).reshape(4, 32, 8)
    assert len(np.unique(at)) == 32
    assert (at == at[:, :1]).all()  # NIC j of every node of a unit is on the same leaf
    cables = _cables("rail_1024")
    assert sum(cables.values()) == 1024
    assert set(cables.values()) == {2}


def test_the_multi_plane_cluster_has_eight_planes() -> None:
    graph = _graph("multi_plane_2048")
    assert (graph.terminals, graph.switches) == (2048, 256 + 8 * 12)
    ports: Counter[int] = Counter()
    for (one, other), count in _cables("multi_plane_2048").items():
        ports[one] += count
        ports[other] += count
    assert {ports[k] for k in range(256, graph.switches)} == {64}
    assert {ports[k] for k in range(256)} == {8}


# Known times in ns: through a switch, and of the cables to a NIC and between the two switches.
SWITCHES = {"slingshot": (350, 10.24, 12.8), "edr": (90, 10.24, 10.24), "ndr": (350, 99.84, 99.84)}


@pytest.mark.parametrize("router", SWITCHES)
def test_switches_have_the_published_latency(router: str) -> None:
    """A packet of one flit crosses two switches. Without queueing, its latency is that of switches and cables."""
    switch, host, cable = SWITCHES[router]
    pair = {"name": "hyperx", "widths": [2], "terminals_per_router": 1}
    sections = config("minimal_adaptive", traffic("adversarial", 0.001), topology=pair, router=router)
    simulation = Simulation(sections)
    simulation.begin_window()
    simulation.run(200_000)
    expected = 2 * host + cable + 2 * switch
    assert simulation.statistics()["packet_latency_mean_ns"] == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize(
    ("router", "flits", "accepted"),
    [
        ("slingshot", 256, 1.0),
        ("slingshot", 64, 0.5),  # of the 128 flits of the way to the next switch and back
        ("ndr", 128, 1.0),
        ("ndr", 64, 0.6),
        ("edr", 64, 1.0),
    ],
)
def test_buffers_sustain_the_full_bandwidth(router: str, flits: int, accepted: float) -> None:
    """Two terminals exchange packets over one global link. The buffers cover the flits of the way of a credit."""
    pair = {"name": "torus", "sizes": [2], "wrap": [0], "local_dimensions": 0}
    model = {"name": router, "input_buffer_flits": flits, "vcs": 0, "injection_vcs": 1}
    packets = {"packet_bytes": 16 * section("router", router)["flit_bytes"], "injection": "fixed_interval"}
    simulation = Simulation(config(traffic=traffic("adversarial", 1.0, **packets), topology=pair, router=model))
    simulation.run(5120)
    simulation.begin_window()
    simulation.run(10_240)
    assert simulation.statistics()["accepted_load"] == pytest.approx(accepted, abs=0.01)
    assert flits == 64 or flits == section("router", router)["input_buffer_flits"]
