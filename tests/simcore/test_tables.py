"""Measures of forwarding tables against counts in NumPy."""

from typing import Any

import numpy as np
import pytest
from flitgym.simcore import ChannelGraph, ForwardingTable
from numpy.typing import NDArray
from table_scenes import IRREGULAR, TOPOLOGIES, TORUS, paths


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
    assert quality.cycle == table.find_cycle()
    assert quality.acyclic == (quality.cycle == "")


def bisection_value(table: ForwardingTable, order: NDArray[Any], both_ways: bool) -> float:
    """The value of a pattern by its definition, with slow dictionaries."""
    routes = {(source, destination): channels for source, destination, channels in paths(table)}
    half = len(order) // 2
    pairs = [(int(order[k]), int(order[half + k])) for k in range(half)]
    pairs += [(b, a) for a, b in pairs] if both_ways else []
    used = [routes[pair] for pair in pairs]
    count = np.bincount([c for channels in used for c in channels], minlength=table.graph.channels)
    return float(np.mean([1 / max((count[c] for c in channels), default=1) for channels in used]))


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("topology", [TORUS, IRREGULAR], ids=lambda topology: topology["name"])
def test_effective_bisection_bandwidth_matches_its_definition(topology: dict[str, Any], both_ways: bool) -> None:
    table = ForwardingTable.route(ChannelGraph(topology), "min_hop")
    rng = np.random.default_rng(4)
    orders = np.array([rng.permutation(table.graph.terminals) for _ in range(6)])
    bisection = table.effective_bisection(orders=orders, both_ways=both_ways)
    assert bisection.values == pytest.approx([bisection_value(table, order, both_ways) for order in orders])
    assert bisection.mean == pytest.approx(bisection.values.mean())
    assert bisection.standard_error == pytest.approx(bisection.values.std(ddof=1) / np.sqrt(6))


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
