"""`ChannelGraph` and `ForwardingTable`: static routing as a thing of its own, before anything is simulated."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core, _lft
from ._core import ConfigError
from ._demand import read_demand
from ._files import atomic_path, open_plain
from ._lft.dumps import write as write_dump
from ._lft.lists import write_levels
from ._npz import read_arrays
from ._presets import section
from ._quality import Bisection, Quality

FORMAT = "flitgym forwarding table 1"
_ORDERS_AT_ONCE = 2**18  # places in random orders, between two reports
NO_PORT = 0xFFFF
"""In `ForwardingTable.port`: the switch has no port for the destination."""


class ChannelGraph(_core.ChannelGraph):
    """A network as an engine sees it: switches, directed channels between them, terminals.

    `arrays()` has, per channel, `from`, `to` (switches), `port` (of the switch it leaves) and `reverse` (the channel of
    the same cable the other way), ordered by switch and port, with those of switch s at `first[s]:first[s + 1]`; and
    per terminal `terminal_switch` and `terminal_port`.

    Args:
        topology: as the section `topology` of a `Simulation`; a preset, too.
        failures: as its section `failures`, without events.

    Raises:
        ConfigError: naming the key.
    """

    def __init__(self, topology: Mapping[str, Any] | str, failures: Mapping[str, Any] | None = None) -> None:
        own = section("topology", topology)
        super().__init__(own, failures)
        self._made_of = (own, failures)

    def __reduce__(self) -> tuple[Any, ...]:
        return ChannelGraph, self._made_of


class ForwardingTable(_core.ForwardingTable):
    """Where every switch sends what is bound for every destination, or the whole route from every switch.

    A destination is an address of a terminal: `terminal << lmc | k`. `layer` holds the virtual layer in which packets
    travel: per destination, per (source switch, destination) or per (source terminal, destination); the shape says
    which, `layer_by` where two are alike. The arrays are read-only.

    Args:
        graph: the network it is for.
        port: [switches, destinations] output port, the terminal's own at its switch; `NO_PORT` where there is none.
        layer: [destinations], [switches, destinations] or [terminals, destinations]; None: one layer.
        layer_by: `destination`, `switch` or `terminal`.
        lmc: each terminal has 2**lmc addresses.
        engine: a name for it.

    Raises:
        ConfigError: a size, a port or a layer that is none, a hole or a loop, by name of switch and terminal.
    """

    graph: ChannelGraph

    def __init__(
        self,
        graph: ChannelGraph,
        port: ArrayLike,
        layer: ArrayLike | None = None,
        *,
        layer_by: str | None = None,
        lmc: int = 0,
        engine: str = "array",
    ) -> None:
        given: dict[str, Any] = {"port": np.asarray(port), "lmc": lmc, "engine": engine}
        if layer is not None:
            layers = np.asarray(layer)
            given["layer"], given["layers"] = layers, int(layers.max(initial=0)) + 1
            given["layer_by"] = layer_by or _layer_by(layers, graph)
        self._hold(graph, _core.ForwardingTable(_sized(given, graph)))

    @staticmethod
    def route(
        graph: ChannelGraph, engine: str, params: Mapping[str, Any] | None = None, demand: Any = None
    ) -> ForwardingTable:
        """Let an engine make a table.

        Args:
            graph: the network.
            engine: one of `registered("engine")`.
            params: those of the engine.
            demand: what it is to balance for, all that `read_demand` takes; None: all pairs of terminals alike.

        Raises:
            ConfigError: no such engine, a parameter that is none, a network it makes no table of, too few layers.
        """
        matrix = None if demand is None else read_demand(demand, graph)
        return _held(graph, _core.ForwardingTable.make(graph, engine, dict(params or {}), matrix))

    @property
    def port(self) -> NDArray[np.uint16]:
        """[switches, destinations] output port.

        Raises:
            ConfigError: the table has whole routes instead.
        """
        arrays = self.arrays()
        if "port" not in arrays:
            raise ConfigError(f"table '{self.engine}': it has whole routes, no ports by switch")
        ports: NDArray[np.uint16] = arrays["port"]
        return ports

    @property
    def layers(self) -> int:
        """Virtual layers, each with buffers of its own."""
        return int(self.arrays()["layers"])

    @property
    def layer(self) -> NDArray[np.uint8] | None:
        """Layers by destination, by (source switch, destination) or by (source terminal, destination); None: one."""
        return self.arrays().get("layer")

    @property
    def engine(self) -> str:
        """What made it."""
        return str(self.arrays()["engine"])

    def find_cycle(self) -> str:
        """Channels that wait for each other in a circle, by name; empty: the table is free of deadlock."""
        return self.cycle(self.graph)

    @property
    def service_levels(self) -> NDArray[np.uint8]:
        """[terminals, destinations] layer of what a terminal sends to a destination."""
        arrays = self.arrays()
        shape = (self.graph.terminals, self.graph.terminals << int(arrays["lmc"]))
        layer = arrays.get("layer", np.zeros(1, np.uint8))
        if arrays["layer_by"] == "switch":
            layer = layer[self.graph.arrays()["terminal_switch"]]
        return np.broadcast_to(layer, shape).copy()

    def loads(self, demand: _core.Demand | None = None) -> dict[str, NDArray[np.float64]]:
        """How many routes, of the ordered pairs of different terminals, pass each channel and each terminal's link.

        Args:
            demand: count its weights instead. Where a terminal has several addresses, each takes an equal part.

        Returns:
            `channel` [channels], in the order of the graph's; `from_terminal` and `to_terminal` [terminals].

        Raises:
            ConfigError: the demand is of another number of terminals.
        """
        found: dict[str, NDArray[np.float64]] = _core.table_loads(self, self.graph, demand)
        return found

    def quality(self, demand: _core.Demand | None = None) -> Quality:
        """Loads, lengths and layers of all routes; see `Quality`.

        Args:
            demand: what is sent, in the place of all to all.

        Raises:
            ConfigError: the demand is of another number of terminals.
        """
        return Quality(**_core.table_quality(self, self.graph, demand))

    def effective_bisection(
        self,
        patterns: int = 1000,
        seed: int = 1,
        *,
        both_ways: bool = False,
        orders: ArrayLike | None = None,
        report: Callable[[float], None] = lambda part: None,
    ) -> Bisection:
        """Effective bisection bandwidth, as ORCS defines it (Schneider, Hoefler, Lumsdaine, 2009).

        In each pattern the terminals are put in a random order, and place i of the first half sends to place i of the
        second. A pair has 1 / c of the bandwidth, c being the number of pairs on the fullest channel of its route, or
        all of it where the route has no channel. With several addresses per terminal a pair uses them in equal parts.

        Args:
            patterns: how many.
            seed: of the orders, from 0 on; pattern k is the same whatever their number.
            both_ways: place i of the second half sends back at the same time.
            orders: [patterns, terminals] orders of your own in the place of random ones.
            report: called now and then with the part, 0..1, that is done.

        Raises:
            ConfigError: a number that is none, a row that is no order of the terminals.
        """
        if orders is not None:
            rows = _terminal_numbers("orders", orders)
            return Bisection(_core.table_bisection_bandwidth(self, self.graph, rows, both_ways))
        if patterns < 1 or not 0 <= seed < 2**63:
            raise ConfigError(f"patterns: {patterns} with seed {seed}; valid are 1 or more, seeds from 0 on")
        chunk = max(1, _ORDERS_AT_ONCE // self.graph.terminals)
        values = []
        for first in range(0, patterns, chunk):
            report(first / patterns)
            rows = _core.random_orders(seed, first, min(chunk, patterns - first), self.graph.terminals)
            values.append(_core.table_bisection_bandwidth(self, self.graph, rows, both_ways))
        return Bisection(np.concatenate(values))

    def congestion(
        self, source: ArrayLike, destination: ArrayLike, weight: ArrayLike | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """What flows that run at the same time do to each other.

        Args:
            source: [flows] terminals.
            destination: [flows] terminals.
            weight: [flows] above 0; None: 1 each.

        Returns:
            `flow` [flows], the load of the fullest channel of its route, and at least its own weight; apart from it
            `endpoint` [flows], the greater of all that its source sends and all that its destination receives;
            `channel` [channels], the load.

        Raises:
            ConfigError: a terminal that is none, one that sends to itself, a weight that is not above 0.
        """
        sources, destinations = _terminal_numbers("source", source), _terminal_numbers("destination", destination)
        weights = np.ones(sources.shape) if weight is None else np.asarray(weight, np.float64)
        found: dict[str, NDArray[np.float64]] = _core.table_congestion(self, self.graph, sources, destinations, weights)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to an `.npz` file, whole or not at all.

        Raises:
            OSError: the file cannot be written; nothing is left behind.
        """
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, format=np.array(FORMAT), **self.arrays())

    def save_dump(self, path: str | os.PathLike[str]) -> None:
        """Write its ports as OpenSM writes `opensm-lfts.dump`; layers have no place in that (`save_service_levels`).

        Raises:
            ConfigError: it has whole routes, or more addresses or ports than InfiniBand.
            OSError: the file cannot be written; nothing is left behind.
        """
        write_dump(path, self.arrays(), self.graph)

    def save_service_levels(self, path: str | os.PathLike[str]) -> None:
        """Write its layers as service levels: a row per source, a character in base 16 per destination.

        Raises:
            ConfigError: it has more than 16 layers.
            OSError: the file cannot be written; nothing is left behind.
        """
        write_levels(path, self.service_levels, self.graph)

    @staticmethod
    def load(path: str | os.PathLike[str], graph: ChannelGraph) -> ForwardingTable:
        """Read a file of `save`, a dump of a subnet manager's tables, or a list `switch,host,port`.

        Dumps are those of OpenSM (`opensm-lfts.dump`, `opensm.fdbs`), `ibroute` and `dump_lfts.sh`. Nodes are those
        of their names, or GUIDs where these are their names; ports may count from 0 or from 1. Beside a list
        `NAME.lft.csv` or a dump `NAME.dump`, `NAME.sl.csv` is read for the layers, and `NAME.sl2vl.csv` for the
        lanes. Text may be gzipped.

        Raises:
            ConfigError: it is no table, cut short (naming switch and line), or one of another network.
            OSError: it cannot be read.
        """
        arrays = _arrays_of(path, graph)
        try:
            return _held(graph, _core.ForwardingTable(arrays))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error

    def _hold(self, graph: ChannelGraph, table: _core.ForwardingTable) -> None:
        super().__init__(table)
        self.graph = graph
        self.check(graph)

    def __repr__(self) -> str:
        arrays = self.arrays()
        return (
            f"<ForwardingTable of engine {arrays['engine']}: {arrays['switches']} switches,"
            f" {arrays['terminals'] << arrays['lmc']} destinations, {arrays['layers']} layers>"
        )

    def __copy__(self) -> ForwardingTable:
        return self  # it never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> ForwardingTable:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _held, (self.graph, {name: np.array(value) for name, value in self.arrays().items()})


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arrays of a file of `ForwardingTable.save`.

    Raises:
        ConfigError: it is none.
        OSError: it cannot be read.
    """
    with open_plain(path) as file:
        archive = zipfile.is_zipfile(file)
    if not archive:
        raise ConfigError(
            f"{path}: it is no forwarding table, or damaged; read are the .npz of ForwardingTable.save(), dumps of a"
            " subnet manager's linear forwarding tables (opensm-lfts.dump, ibroute, opensm.fdbs), and lists"
            " switch,host,port"
        )
    arrays: dict[str, Any] = dict(read_arrays(path, f"{path}: it is no forwarding table, or damaged"))
    if str(arrays.pop("format", "")) != FORMAT:
        raise ConfigError(f"{path}: it is no forwarding table of this version of flitgym ({FORMAT})")
    return arrays


def _arrays_of(path: str | os.PathLike[str], graph: ChannelGraph) -> dict[str, Any]:
    if not _lft.is_text(path):
        return read(path)
    given = _sized(_lft.read(path, graph), graph)
    return {"engine": Path(path).name.split(".")[0], **given}


def _terminal_numbers(name: str, given: ArrayLike) -> NDArray[np.uint32]:
    numbers = np.asarray(given)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise ConfigError(f"{name}: an array of {numbers.dtype}; terminals are whole numbers")
    if numbers.size and (numbers.min() < 0 or numbers.max() >= 2**32):
        raise ConfigError(f"{name}: {numbers.min()} to {numbers.max()}; terminals are numbered from 0 on")
    return np.ascontiguousarray(numbers, np.uint32)


def in_routing(config: Any) -> Any:
    """The configuration of a simulation, with the table and the matrix instead of their names in `routing`."""
    routing = config.get("routing") if isinstance(config, Mapping) else None
    if not isinstance(routing, Mapping) or routing.get("name") != "table":
        return config
    rest = dict(routing)
    if rest.get("file"):
        if "table" in rest:
            raise ConfigError("routing.table: a file and a table; give one of them")
        rest["table"] = ForwardingTable.load(rest.pop("file"), _graph_of(config))
    if rest.get("demand") is not None and not (isinstance(rest["demand"], str) and not rest["demand"]):
        rest["demand"] = read_demand(rest["demand"], _graph_of(config))
    return {**config, "routing": rest}


def _graph_of(config: Mapping[str, Any]) -> ChannelGraph:
    return ChannelGraph(config["topology"], config.get("failures"))


def _held(graph: ChannelGraph, table: _core.ForwardingTable | Mapping[str, Any]) -> ForwardingTable:
    held = ForwardingTable.__new__(ForwardingTable)
    held._hold(graph, table if isinstance(table, _core.ForwardingTable) else _core.ForwardingTable(table))
    return held


def _sized(given: dict[str, Any], graph: ChannelGraph) -> dict[str, Any]:
    return {"switches": graph.switches, "terminals": graph.terminals, "fingerprint": graph.fingerprint, **given}


def _layer_by(layer: NDArray[Any], graph: ChannelGraph) -> str:
    if layer.ndim == 1:
        return "destination"
    if layer.ndim == 2 and graph.switches == graph.terminals:
        raise ConfigError("layer: there are as many switches as terminals; say layer_by='switch' or 'terminal'")
    if layer.ndim == 2 and layer.shape[0] in (graph.switches, graph.terminals):
        return "switch" if layer.shape[0] == graph.switches else "terminal"
    raise ConfigError(
        f"layer: an array of shape {layer.shape}; valid are [destinations], [switches, destinations] and"
        f" [terminals, destinations], with {graph.switches} switches and {graph.terminals} terminals"
    )
