"""Upper bounds of the accepted load, from the matrix of a pattern and the links of a network.

A bound is the largest load that a fluid could have on the paths of a routing. By duality of linear programs, every
choice of link lengths w gives a bound: the sum of all w, divided by the sum of demand times shortest distance. Equal
lengths give the bound by mean hops, and lengths of 1 across a cut give the bound of the cut (Dally & Towles, 3.3).
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...configs import core_failures
from ...simcore import ChannelGraph

Floats = NDArray[np.float64]

_MOST_ENTRIES = 2e7  # channels x switches, in a matrix
_MINIMAL = ("minimal", "minimal_adaptive", "dimension_order")
_GLOBAL_LENGTH = 100.0  # a minimal path of a Dragonfly has the fewest global hops, then the fewest local ones
_SIZES = {"hyperx": "widths", "mesh": "sizes", "torus": "sizes"}  # parameters with the widths of a lattice
_HALVING = "uniform_random_bisection"


def bound_of(config: Mapping[str, Any]) -> float | None:
    """The highest load that the links can carry in a run; None without a known matrix, or for unequal links.

    Dimension order has the bound of its own paths, and a minimal routing that of all shortest paths. Other routings
    have the bound of any routing.
    """
    sections = ("topology", "router", "routing", "traffic", "failures")
    # Random links are the only choice of a seed that changes a bound; the seeds of other searches share it.
    seed = config["seed"] if config["topology"].get("arrangement") == "random" else 0
    return _bound(json.dumps({**{key: config[key] for key in sections}, "seed": seed}))


@lru_cache(maxsize=256)  # the seeds of a search share their bound, and large networks take seconds
def _bound(text: str) -> float | None:
    config = json.loads(text)
    topology, routing = config["topology"], str(config["routing"]["name"])
    widths = {config["router"][f"link_bandwidth_gb_per_s_{kind}"] for kind in ("host", "local", "global")}
    graph, at = ChannelGraph(topology, None, config["seed"]), _coordinates(topology)
    known = at is not None or topology["name"] in ("dragonfly", "fat_tree")
    if len(widths) > 1 or core_failures(config) or not known or graph.channels * graph.switches > _MOST_ENTRIES:
        return None
    if (demand := _demand(config["traffic"], topology, graph, at)) is None:
        return None
    allowed = None
    if routing in _MINIMAL:
        crossing = _crosses(topology, graph)
        allowed = _minimal(graph, np.where(crossing, _GLOBAL_LENGTH, 1.0))
        if routing == "dimension_order" and at is not None:
            allowed &= _in_order(graph, at)
    # No pattern here sends more to a terminal than one terminal sends.
    return min(1.0, _fluid(graph, demand, allowed, _lengths(topology, graph, at)))


def _lengths(topology: Mapping[str, Any], graph: ChannelGraph, at: NDArray[np.int64] | None) -> list[Floats]:
    """Candidates for the lengths: all channels, global ones, those of a dimension, and those across its middle."""
    arrays = graph.arrays()
    found = [np.ones(graph.channels)]
    if (crossing := _crosses(topology, graph)).any():
        found.append(crossing.astype(float))
    for own in [] if at is None else at.T:
        tail, head = own[arrays["from"]], own[arrays["to"]]
        middle = (own.max() + 1) // 2
        found += [(tail != head).astype(float), ((tail < middle) != (head < middle)).astype(float)]
    return [length for length in found if length.any()]


def _crosses(topology: Mapping[str, Any], graph: ChannelGraph) -> NDArray[np.bool_]:
    """[channels] whether a channel joins two groups of a Dragonfly."""
    arrays = graph.arrays()
    size = int(topology["routers_per_group"]) if topology["name"] == "dragonfly" else graph.switches
    return np.asarray(arrays["from"] // size != arrays["to"] // size, dtype=bool)


def _fluid(graph: ChannelGraph, demand: Floats, allowed: NDArray[np.bool_] | None, lengths: Sequence[Floats]) -> float:
    """The least bound over the candidates, and over lengths that follow from the busiest channels of shortest paths.

    Args:
        graph: The network.
        demand: [switches, switches] flits per flit time at load 1.
        allowed: [channels, switches] whether a packet to a switch may take a channel; None: always.
        lengths: The candidates, [channels] each.
    """
    paths = _Paths(graph, allowed)
    best = min(paths.bound(length, demand) for length in lengths)
    for length in lengths[: 1 if allowed is not None else None]:
        load = paths.loads(length, demand)
        busiest = load >= load.max() * (1 - 1e-9)
        # If packets have no detour, the busiest channels alone give the exact bound. Otherwise, twice their length
        # makes direct paths and detours equally long.
        other = 1.0 * busiest if allowed is not None else length * (1 + busiest)
        best = min(best, paths.bound(other, demand))
    return best


class _Paths:
    """Shortest paths for any lengths of the channels."""

    def __init__(self, graph: ChannelGraph, allowed: NDArray[np.bool_] | None) -> None:
        arrays = graph.arrays()
        self._tail, self._head, self._first = arrays["from"], arrays["to"], arrays["first"][:-1]
        self._switches = graph.switches
        self._closed = 0.0 if allowed is None else np.where(allowed, 0.0, np.inf)
        self._by_head = np.argsort(self._head, kind="stable")
        self._first_in = np.searchsorted(self._head[self._by_head], np.arange(graph.switches))

    def distances(self, length: Floats) -> tuple[Floats, Floats]:
        """[switches, switches] the distances, and [channels, switches] those through each channel."""
        distance = np.where(np.eye(self._switches, dtype=bool), 0.0, np.inf)
        while True:
            through = length[:, None] + distance[self._head] + self._closed
            shorter = np.minimum(distance, np.minimum.reduceat(through, self._first))
            if np.array_equal(shorter, distance):
                return distance, through
            distance = shorter

    def bound(self, length: Floats, demand: Floats) -> float:
        """The bound of some lengths."""
        distance, _ = self.distances(length)
        work = float((demand * np.where(demand > 0, distance, 0)).sum())
        return float(length.sum()) / work if work else np.inf

    def loads(self, length: Floats, demand: Floats) -> Floats:
        """[channels] the loads of the channels with a length, if packets share all shortest paths."""
        counted, length = length > 0, np.maximum(length, 1e-6)  # a length above 0 keeps packets from circles
        distance, through = self.distances(length)
        tight = through <= distance[self._tail] * (1 + 1e-12)
        share = tight / np.add.reduceat(tight.astype(float), self._first)[self._tail].clip(1)
        load, waiting = np.zeros(len(length)), demand.copy()
        for _ in range(self._switches):  # a path has fewer channels
            np.fill_diagonal(waiting, 0)
            if not waiting.any():
                break
            moved = waiting[self._tail] * share
            load += moved.sum(axis=1)
            waiting = np.add.reduceat(moved[self._by_head], self._first_in)
        return load * counted


def _minimal(graph: ChannelGraph, length: Floats) -> NDArray[np.bool_]:
    """[channels, switches] whether a channel is on a shortest path to a switch."""
    distance, through = _Paths(graph, None).distances(length)
    tail = graph.arrays()["from"]
    return np.asarray((through <= distance[tail]) & (tail[:, None] != np.arange(graph.switches)), dtype=bool)


def _in_order(graph: ChannelGraph, at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[channels, switches] whether a channel changes the first coordinate that differs from a switch."""
    arrays = graph.arrays()
    own = (at[arrays["from"]] != at[arrays["to"]]).argmax(axis=1)
    first = (at[:, None, :] != at[None, :, :]).argmax(axis=2)
    return np.asarray(own[:, None] == first[arrays["from"]], dtype=bool)


def _demand(
    traffic: Mapping[str, Any], topology: Mapping[str, Any], graph: ChannelGraph, at: NDArray[np.int64] | None
) -> Floats | None:
    """[switches, switches] flits per flit time at load 1; None for a pattern without a known matrix."""
    host = graph.arrays()["terminal_switch"].astype(np.int64)
    name, number = str(traffic["name"]), len(host)
    hosted = np.bincount(host, minlength=graph.switches).astype(float)
    if name == "uniform":
        return np.outer(hosted, hosted) / (number if traffic["self"] else number - 1)
    if name == "adversarial" and (at is not None or topology["name"] == "dragonfly"):
        # The groups of a lattice are the planes of its last dimension.
        routers = int(topology["routers_per_group"]) if at is None else graph.switches // (int(at[:, -1].max()) + 1)
        size = number * routers // graph.switches
        member = np.zeros((number // size, graph.switches))
        np.add.at(member, (np.arange(number) // size, host), 1.0)
        return np.asarray(member.T @ np.roll(member, -int(traffic["shift"]), axis=0) / size)
    if name == "bit_complement":
        partner = np.arange(number)[::-1]
    elif at is None:
        return None
    elif name == _HALVING:
        k = traffic["dimension"]
        k = "xyzw".index(k) if str(k) in "xyzw" else int(k)
        mirrored = at[:, None, k] == at[:, k].max() - at[None, :, k]
        per_router = number / len(at)
        return np.asarray(per_router * mirrored / mirrored.sum(axis=1, keepdims=True))
    else:
        slot = np.arange(number) % (number // len(at))
        there = _moved(traffic, at, at[host], slot)
        if there is None:
            return None
        partner = np.ravel_multi_index(there.T, at.max(axis=0) + 1, order="F") * (number // len(at)) + slot
    demand = np.zeros((graph.switches, graph.switches))
    np.add.at(demand, (host, host[partner]), 1.0)
    return demand


def _moved(
    traffic: Mapping[str, Any], at: NDArray[np.int64], own: NDArray[np.int64], slot: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """[terminals, dimensions] the coordinates of the partners; None for another pattern."""
    widths, there = at.max(axis=0) + 1, own.copy()
    if traffic["name"] == "tornado":
        for k in traffic["dimensions"]:
            there[:, k] = (own[:, k] + (widths[k] - 1) // 2) % widths[k]
    elif traffic["name"] == "transpose":
        there[:, [0, 1]] = own[:, [1, 0]]
    elif traffic["name"] == "dimension_complement_reverse":
        there = (widths - 1 - own)[:, ::-1]
    elif traffic["name"] == "swap2":
        for k in (0, 1):
            there[:, k] = np.where(slot % 2 == k, (own[:, k] + widths[k] // 2) % widths[k], own[:, k])
    else:
        return None
    return there


def _coordinates(topology: Mapping[str, Any]) -> NDArray[np.int64] | None:
    """[routers, dimensions] of a lattice, whose first coordinate varies fastest; None for another topology."""
    if topology["name"] not in _SIZES:
        return None
    widths = list(topology[_SIZES[topology["name"]]])
    return np.indices(widths[::-1], dtype=np.int64).reshape(len(widths), -1)[::-1].T
