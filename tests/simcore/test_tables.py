"""Measures of forwarding tables against counts in NumPy."""

from typing import Any

import numpy as np
import pytest
from flitgym.simcore import ChannelGraph, ForwardingTable
from table_scenes import TOPOLOGIES, paths


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda topology: topology["name"])
def test_quality_matches_routes_followed_one_by_one(topology: dict[str, Any]) -> None:
    table = ForwardingTable.route(ChannelGraph(topology), "min_hop")
    every = list(paths(table))
    load = np.bincount([c for _, _, channels in every for c in channels], minlength=table.graph.channels)
    lengths = np.array([len(channels) for _, _, channels in every])
    quality = table.quality()
    np.testing.assert_array_equal(quality.loads["channel"], load)
    np.testing.assert_array_equal(table.loads()["channel"], load)
    assert quality.edge_forwarding_index == load.max()
    assert quality.load_mean == pytest.approx(load.mean())
    assert quality.load_deviation == pytest.approx(load.std())
    assert quality.load_least == load.min()
    assert quality.channels_unused == (load == 0).sum()
    assert quality.hops_mean == pytest.approx(lengths.mean())
    assert quality.hops_max == lengths.max()
    assert quality.minimal
    assert quality.load_mean_minimal == pytest.approx(load.mean())
    assert quality.bound == np.ceil(load.mean() - 1e-9) <= quality.edge_forwarding_index
    assert quality.routes == len(every)
    assert quality.terminal_forwarding_index == table.graph.terminals - 1
    assert quality.acyclic == (quality.cycle == "")


def test_the_bound_of_minimal_routes_holds_for_any_routing() -> None:
    """Multicommodity flow on a small fabric: its optimum is the least load of the fullest channel for any routing."""
    optimize = pytest.importorskip("scipy.optimize")
    sparse = pytest.importorskip("scipy.sparse")
    graph = ChannelGraph({"name": "random_regular", "routers": 8, "degree": 3, "terminals_per_router": 1})
    arrays, n, m = graph.arrays(), graph.switches, graph.channels
    # Variables: flow of each destination over each channel, and the highest load. Other switches conserve flow.
    rows, columns, values, right = [], [], [], []
    for d in range(n):
        for s in range(n):
            if s == d:
                continue
            for c in range(m):
                sign = int(arrays["from"][c] == s) - int(arrays["to"][c] == s)
                if sign:
                    rows.append(len(right)), columns.append(d * m + c), values.append(sign)
            right.append(1.0)
    equal = sparse.csr_matrix((values, (rows, columns)), shape=(len(right), n * m + 1))
    below = sparse.hstack([sparse.hstack([sparse.identity(m)] * n), -np.ones((m, 1))], format="csr")
    cost = np.append(np.zeros(n * m), 1.0)
    solved = optimize.linprog(cost, A_ub=below, b_ub=np.zeros(m), A_eq=equal, b_eq=right, method="highs")
    assert solved.status == 0
    quality = ForwardingTable.route(graph, "min_hop").quality()
    assert quality.load_mean_minimal <= solved.fun + 1e-6
    assert quality.bound <= np.ceil(solved.fun - 1e-6) <= quality.edge_forwarding_index
