"""Order of the nodes of a rank: a node comes after its dependencies, otherwise the order of the file holds."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def ordered(dependencies: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return an order of nodes, and a cycle.

    Args:
        dependencies: Per node, the positions of the nodes that it waits for.

    Returns:
        The positions in an order that respects the dependencies; the positions of a cycle if there is one, else an
        empty list. Each node of the cycle waits for the next one, and the last for the first.
    """
    waits = [len(each) for each in dependencies]
    followers: list[list[int]] = [[] for _ in dependencies]
    for node, each in enumerate(dependencies):
        for before in each:
            followers[before].append(node)
    ready = [node for node, count in enumerate(waits) if count == 0]
    order = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for follower in followers[node]:
            waits[follower] -= 1
            if waits[follower] == 0:
                heapq.heappush(ready, follower)
    if len(order) == len(waits):
        return order, []
    path, seen = [next(node for node, count in enumerate(waits) if count > 0)], {}
    while path[-1] not in seen:
        seen[path[-1]] = len(path) - 1
        path.append(next(before for before in dependencies[path[-1]] if waits[before] > 0))
    return order, path[seen[path[-1]] : -1]
