"""Bounds for the accepted load and for the mean latency, from the matrix of a pattern and the links of a network.

The bounds are those of a fluid: a multi-commodity flow of the pattern over the links. By duality of linear programs,
every choice of link lengths w gives a bound. Equal lengths give the bound by mean hops, and lengths of 1 across a cut
give the bound of the cut (Dally & Towles, 3.3). Longer lengths for the links that carry more flow than others give
better bounds (Garg & Koenemann, FOCS 1998).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...configs import core_failures
from ...simcore import ChannelGraph, Simulation

Floats = NDArray[np.float64]

_MOST_ENTRIES = 2e7  # channels x switches, in a matrix
_WORK = 3e7  # entries of such matrices in a search of lengths, which has at most _ROUNDS rounds
_ROUNDS = 200
_SCALES = 33  # tried per choice of lengths
_MINIMAL = ("minimal", "minimal_adaptive", "dimension_order")
_GLOBAL_LENGTH = 100.0  # a minimal path of a Dragonfly has the fewest global hops, then the fewest local ones
_SIZES = {"hyperx": "widths", "mesh": "sizes", "torus": "sizes"}  # parameters with the widths of a lattice
_HALVING = "uniform_random_bisection"
# Patterns in which a terminal sends to one other terminal, and no two send to the same one.
_PARTNERS = (
    *("bit_complement", "bit_reversal", "bit_rotation", "shuffle", "permutation", "random_bisection"),
    *("tornado", "transpose", "swap2", "dimension_complement_reverse"),
)


def bound_of(config: Mapping[str, Any]) -> float | None:
    """The highest load that the links can carry in a run; None without a known matrix, or for unequal links.

    Dimension order has the bound of its own paths. On lattices, Dragonflies and fat trees, a minimal routing has that
    of all shortest paths. Other routings have the bound of any routing.
    """
    return _bound(_text(config, "routing"))


def limits_of(config: Mapping[str, Any]) -> tuple[float, float] | None:
    """The highest accepted load and the least mean latency in ns of any routing in a run; None as for `bound_of`.

    The latency holds if the network accepts the load. It is the larger of two numbers. The first is the least mean
    latency of a fluid without queues whose flow fits into the links. The second is the mean latency of the fastest
    paths, plus the mean wait for the channel to the destination. The wait counts if all packets have one size, latency
    counts from generation, sources keep their packets, and each cycle has an independent Bernoulli trial.
    """
    return _limits(_text(config))


def _text(config: Mapping[str, Any], *more: str) -> str:
    sections = {key: config[key] for key in ("topology", "router", "traffic", "failures", *more)}
    # The seeds of a study share a bound unless they draw the links or the pattern.
    given = [*sections["topology"].items(), *sections["traffic"].items()]
    drawn = ("arrangement", "random") in given or any(k.endswith("_seed") and v is None for k, v in given)
    return json.dumps({**sections, "seed": config["seed"] if drawn else 0})


@lru_cache(maxsize=256)  # large networks take seconds
def _bound(text: str) -> float | None:
    config = json.loads(text)
    topology, routing = config["topology"], str(config["routing"]["name"])
    if (found := _traffic(config)) is None:
        return None
    graph, _, demand, _ = found
    at, allowed = _coordinates(topology), None
    if routing in _MINIMAL and (at is not None or topology["name"] in ("dragonfly", "fat_tree")):
        crossing = _crosses(topology, graph)
        allowed = _minimal(graph, np.where(crossing, _GLOBAL_LENGTH, 1.0))
        if routing == "dimension_order" and at is not None:
            allowed &= _in_order(graph, at)
    paths = _Paths(graph, allowed)
    # No pattern here sends more to a terminal than one terminal sends.
    return min(1.0, *(paths.bound(length, demand) for length in _tried(paths, demand, _lengths(topology, graph))))


@lru_cache(maxsize=256)
def _limits(text: str) -> tuple[float, float] | None:
    config = json.loads(text)
    if (found := _traffic(config)) is None:
        return None
    graph, simulation, demand, senders = found
    router, traffic, facts, links = config["router"], config["traffic"], simulation.facts(), simulation.channels()
    load, flits, paths = float(traffic["load"]), facts["packet_flits"], _Paths(graph, None)
    lengths = _tried(paths, demand, _lengths(config["topology"], graph))
    accepted = min(paths.accepted(length, demand, load) for length in lengths) / graph.terminals
    # A packet that follows others may leave an output without these cycles (`hop_ns` in core/graph.cpp).
    wake = max(facts["wake_cycles"], 1) if router["output_buffer_flits"] else 0
    spared = wake + (router["vc_allocation"] != "with_switch")
    hop_ns = links["hop_ns"] - spared * facts["cycle_ns"]
    between = links["terminal"] < 0  # ordered as in the graph
    ends = facts["hop_cycles"]["nic"] * facts["cycle_ns"] + hop_ns[~between].min() + (flits - 1) * facts["flit_time_ns"]
    free, fluid = paths.latency(hop_ns[between], demand, load)
    wait = 0.0
    counted = (router["latency_from"], router["source_backlog"], traffic["injection"])
    if counted == ("generation", "kept", "bernoulli") and flits == facts["packet_flits_most"] and load < 1:
        # A discrete-time queue: a packet takes S cycles, and each of n senders starts one with probability load/(nS).
        # Its mean wait in cycles is load (S - 1/n) / (2 (1 - load)). No schedule of equal packets on the last channel
        # has a smaller mean, and no packet reaches that channel earlier than on its fastest path.
        wait = load * (flits * facts["flit_cycles"] - 1 / senders) / (2 * (1 - load)) * facts["cycle_ns"]
    return accepted, ends + max(fluid, free + wait)


def _traffic(config: Mapping[str, Any]) -> tuple[ChannelGraph, Simulation, Floats, int] | None:
    """The network, a simulation of it with the pattern, and the results of `_demand`."""
    topology, traffic = config["topology"], config["traffic"]
    graph = ChannelGraph(topology, None, config["seed"])
    if core_failures(config) or graph.channels * graph.switches > _MOST_ENTRIES or traffic["load_step_loads"]:
        return None
    if traffic["name"] not in ("uniform", "adversarial", _HALVING, *_PARTNERS):
        return None
    sections = {"topology": topology, "router": {**config["router"], "vcs": 0}, "routing": "external"}
    at_once = {**traffic, "load": 1.0, "injection": "fixed_interval"}
    simulation = Simulation({**sections, "traffic": at_once, "seed": config["seed"]})
    if len(np.unique(simulation.channels()["flit_time_ns"])) > 1:
        return None
    return graph, simulation, *_demand(traffic, graph, _coordinates(topology), simulation)


def _lengths(topology: Mapping[str, Any], graph: ChannelGraph) -> list[Floats]:
    """Candidates for the lengths: all channels, global ones, those of a dimension, and those across its middle."""
    arrays, at = graph.arrays(), _coordinates(topology)
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


def _tried(paths: "_Paths", demand: Floats, lengths: Sequence[Floats]) -> Iterator[Floats]:
    """The candidates for the lengths, and lengths that follow from the busiest channels of shortest paths."""
    yield from lengths
    for length in lengths if paths.detours else lengths[:1]:
        load = paths.loads(length, demand)
        busiest = load >= load.max() * (1 - 1e-9)
        # If packets have no detour, the busiest channels alone give the exact bound. Otherwise, twice their length
        # makes direct paths and detours equally long.
        yield length * (1 + busiest) if paths.detours else 1.0 * busiest
    length = lengths[0]
    for k in range(min(_ROUNDS, int(_WORK / paths.size)) if paths.detours else 0):
        load = paths.loads(length, demand)
        length = length * np.exp(3 / (k + 3) * load / load.max())
        length /= length.max()
        yield length


class _Paths:
    """Shortest paths for any lengths of the channels."""

    def __init__(self, graph: ChannelGraph, allowed: NDArray[np.bool_] | None) -> None:
        arrays = graph.arrays()
        self._tail, self._head, self._first = arrays["from"], arrays["to"], arrays["first"][:-1]
        self._switches = graph.switches
        self.size = graph.channels * graph.switches
        self.detours = allowed is None
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

    def accepted(self, length: Floats, demand: Floats, load: float) -> float:
        """The bound of some lengths for the accepted flits of all terminals, if pairs may get parts of their load.

        It is the sum of the lengths, plus the load of each pair times 1 minus its distance if that is positive.
        """
        far, flits = self.distances(length)[0][demand > 0], load * demand[demand > 0]
        best = flits.sum()
        for distance in np.quantile(far[far > 0], np.linspace(0, 1, _SCALES)) if far.any() else ():
            # Every scale of the lengths gives a bound. The best one makes some distance 1.
            best = min(best, length.sum() / distance + (flits * np.maximum(0, 1 - far / distance)).sum())
        return float(best)

    def latency(self, hop_ns: Floats, demand: Floats, load: float) -> tuple[float, float]:
        """Lower bounds for the mean time on the channels: for any flows, and for flows that fit into the channels.

        The lengths `wait` follow the excess of the flow over the capacity (a subgradient of the dual).
        """
        wait = mean = np.zeros_like(hop_ns)
        bounds = []
        for k in range(min(_ROUNDS, 1 + int(_WORK / self.size))):
            for extra in (wait, mean):
                distance, _ = self.distances(hop_ns + extra)
                total = (demand * np.where(demand > 0, distance, 0)).sum()
                bounds.append(float((total - extra.sum() / load) / demand.sum()))
            excess = load * self.loads(hop_ns + wait, demand) - 1
            wait = np.maximum(0, wait + 0.3 * hop_ns.mean() / np.sqrt(k + 1) * excess)
            mean = mean + (wait - mean) * 2 / (k + 2)
        return bounds[0], max(bounds)

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
    traffic: Mapping[str, Any], graph: ChannelGraph, at: NDArray[np.int64] | None, simulation: Simulation
) -> tuple[Floats, int]:
    """The matrix and the number of senders of a terminal, as in `_Traffic`."""
    host = graph.arrays()["terminal_switch"].astype(np.int64)
    name, number = str(traffic["name"]), len(host)
    hosted = np.bincount(host, minlength=graph.switches).astype(float)
    if name == "uniform":
        senders = number if traffic["self"] else number - 1
        return np.outer(hosted, hosted) / senders, senders
    if name == "adversarial":
        group, groups = simulation.routers()["group"][host], simulation.facts()["groups"]
        member = np.zeros((groups, graph.switches))
        np.add.at(member, (group, host), 1.0)
        size = number // groups
        return np.asarray(member.T @ np.roll(member, -int(traffic["shift"]), axis=0) / size), size
    if name == _HALVING and at is not None:
        k = traffic["dimension"]
        k = "xyzw".index(k) if str(k) in "xyzw" else int(k)
        mirrored = at[:, None, k] == at[:, k].max() - at[None, :, k]
        per_router = number / len(at)
        matrix = per_router * mirrored / mirrored.sum(axis=1, keepdims=True)
        return np.asarray(matrix), int(per_router * mirrored[0].sum())
    facts, to = simulation.facts(), np.full(number, -1)
    # All sources send at the same time, some not at all. Every packet asks for a channel at its first router.
    last = 4 * (facts["packet_flits_most"] * facts["flit_cycles"] + facts["hop_cycles"]["nic"])
    while (to < 0).any() and simulation.now < last:
        waiting, asked = simulation.collect(), simulation.requests()
        to[asked["source"]] = asked["destination"]
        simulation.apply(np.zeros(waiting, np.uint32) if waiting else None)
    demand = np.zeros((graph.switches, graph.switches))
    np.add.at(demand, (host[to >= 0], host[to[to >= 0]]), 1.0)
    return demand, 1


def _coordinates(topology: Mapping[str, Any]) -> NDArray[np.int64] | None:
    """[routers, dimensions] of a lattice, whose first coordinate varies fastest; None for another topology."""
    if topology["name"] not in _SIZES:
        return None
    widths = list(topology[_SIZES[topology["name"]]])
    return np.indices(widths[::-1], dtype=np.int64).reshape(len(widths), -1)[::-1].T
