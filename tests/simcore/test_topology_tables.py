"""Forwarding tables on Dragonfly+, PolarFly, PolarStar and HammingMesh."""

from typing import Any

import pytest
from flitgym.simcore import ChannelGraph, ForwardingTable

NETWORKS: dict[str, dict[str, Any]] = {
    "dragonfly_plus": {
        "name": "dragonfly_plus",
        "terminals_per_leaf": 2,
        "leaves_per_group": 2,
        "spines_per_group": 2,
        "global_ports": 2,
        "groups": 5,
    },
    "polarfly": {"name": "polarfly", "q": 4, "terminals_per_router": 1},
    "polarstar": {"name": "polarstar", "q": 2, "supernode_degree": 3, "terminals_per_router": 1},
    "hammingmesh": {"name": "hammingmesh", "boards_x": 3, "boards_y": 3},
}
SHORTEST = ("min_hop", "sssp", "dfsssp", "lash")
ACYCLIC = ("dfsssp", "lash", "nue", "up_down", "down_up")
# Mean hops between two terminals. On Dragonfly+, 2 of the 19 other terminals are at the other leaf of the group, and 16
# in other groups. On PolarFly the mean is 2 - (q + 1) / N. On a HammingMesh of 3 x 3 boards of 2 x 2 accelerators, 4 of
# the 6 coordinates of a line are 2 hops away, and one is 1 hop away.
HOPS = {
    "dragonfly_plus": (1 * 0 + 2 * 2 + 16 * 3) / 19,
    "polarfly": 2 - 5 / 21,
    "hammingmesh": 2 * (4 * 2 + 1 * 1) / 6 * 36 / 35,
}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("engine", sorted({*SHORTEST, *ACYCLIC}))
def test_engines_route_every_topology(network: str, engine: str) -> None:
    table = ForwardingTable.route(ChannelGraph(NETWORKS[network]), engine)
    quality = table.quality()
    if engine in SHORTEST:
        assert quality.minimal
        if network in HOPS:
            assert quality.hops_mean == pytest.approx(HOPS[network])
    if engine in ACYCLIC:
        assert quality.acyclic


def test_minimal_paths_of_a_dragonfly_plus_need_one_layer() -> None:
    """Channels up, across and down are used in this order, so one layer of shortest paths has no cycle."""
    table = ForwardingTable.route(ChannelGraph(NETWORKS["dragonfly_plus"]), "min_hop")
    assert table.quality().acyclic
