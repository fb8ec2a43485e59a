"""`ChannelGraph` and `ForwardingTable`: static routing, independent of a simulation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core, _lft
from ._core import ConfigError
from ._demand import read_demand
from ._files import atomic_path, read_arrays
from ._lft.dumps import write as write_dump
from ._lft.text import LEVELS
from ._presets import section
from ._quality import Bisection, Quality

FORMAT = "flitgym forwarding table 1"
_FORMATS = "an .npz of ForwardingTable.save(), a dump of a subnet manager, or a list switch,host,port"
_ORDERS_AT_ONCE = 2**18  # entries of random orders between two progress reports
NO_PORT = 0xFFFF
"""Value of `ForwardingTable.port` where the switch has no port for the destination."""


class ChannelGraph(_core.ChannelGraph):
    """A network as engines see it: switches, directed channels between them, and terminals.

    `arrays()` returns, per channel, `from` and `to` (switches), `port` (output port of `from`), `kind` (1 local, 2
    global) and `reverse` (the channel of the same cable in the other direction). Channels are ordered by switch and
    port; those of switch s are `first[s]:first[s + 1]`. It also returns, per terminal, `terminal_switch` and
    `terminal_port`.

    Args:
        topology: As the section `topology` of a `Simulation`; may be the name of a preset.
        failures: As the section `failures` of a `Simulation`, without events.
        seed: Draws random links and failures whose own seeds are not given, as the seed of a `Simulation`.

    Raises:
        ConfigError: The network cannot be built. The message names the key.
    """

    def __init__(
        self, topology: Mapping[str, Any] | str, failures: Mapping[str, Any] | None = None, seed: int = 1
    ) -> None:
        own = section("topology", topology)
        super().__init__(own, failures, seed)
        self._made_of = (own, failures, seed)

    def __reduce__(self) -> tuple[Any, ...]:
        return ChannelGraph, self._made_of


class ForwardingTable(_core.ForwardingTable):
    """A forwarding table: the output port of every switch for every destination, or whole routes from every switch.

    A destination is an address of a terminal, `terminal << lmc | k`. `layer` holds the virtual layer that packets use:
    per destination, per (source switch, destination) or per (source terminal, destination). Its shape determines which;
    `layer_by` is needed if two shapes are equal. The arrays are read-only.

    Args:
        graph: The network of the table.
        port: [switches, destinations] output port. At its own switch, a terminal's port; `NO_PORT` without a route.
        layer: [destinations], [switches, destinations] or [terminals, destinations] layer. None: a single layer.
        layer_by: `destination`, `switch` or `terminal`.
        lmc: Each terminal has 2**lmc addresses.
        engine: Name that results and messages show for this table.

    Raises:
        ConfigError: A size, port or layer is invalid, or a route is missing or loops. The message names the switch and
            the terminal.
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
        graph: ChannelGraph, engine: str, params: Mapping[str, Any] | None = None, demand: Any = None, seed: int = 1
    ) -> ForwardingTable:
        """Make a table with an engine.

        Args:
            graph: The network.
            engine: One of `registered("engine")`.
            params: Parameters of the engine.
            demand: Traffic to balance for, in any form that `read_demand` accepts. None: all pairs of terminals alike.
            seed: Draws the random choices of the engine if `params` do not give their seed.

        Raises:
            ConfigError: The engine or a parameter is unknown, the engine does not support the network, or the layers do
                not suffice.
        """
        matrix = None if demand is None else read_demand(demand, graph)
        return _held(graph, _core.ForwardingTable.make(graph, engine, dict(params or {}), matrix, seed))

    @property
    def port(self) -> NDArray[np.uint16]:
        """[switches, destinations] output port.

        Raises:
            ConfigError: The table holds whole routes, not ports per switch.
        """
        arrays = self.arrays()
        if "port" not in arrays:
            raise ConfigError(f"table '{self.engine}': it holds whole routes, not ports per switch")
        ports: NDArray[np.uint16] = arrays["port"]
        return ports

    @property
    def layers(self) -> int:
        """Number of virtual layers, each with separate buffers."""
        return int(self.arrays()["layers"])

    @property
    def layer(self) -> NDArray[np.uint8] | None:
        """Layer by destination, (source switch, destination) or (source terminal, destination). None: one layer."""
        return self.arrays().get("layer")

    @property
    def engine(self) -> str:
        """Name of the engine, or the name given to `ForwardingTable`."""
        return str(self.arrays()["engine"])

    @property
    def service_levels(self) -> NDArray[np.uint8]:
        """[terminals, destinations] layer of the packets from a terminal to a destination."""
        arrays = self.arrays()
        shape = (self.graph.terminals, self.graph.terminals << int(arrays["lmc"]))
        layer = arrays.get("layer", np.zeros(1, np.uint8))
        if arrays["layer_by"] == "switch":
            layer = layer[self.graph.arrays()["terminal_switch"]]
        return np.broadcast_to(layer, shape).copy()

    def loads(self, demand: _core.Demand | None = None) -> dict[str, NDArray[np.float64]]:
        """Count the routes between all ordered pairs of different terminals on every channel and terminal link.

        Args:
            demand: Sum its weights instead of counting routes. If a terminal has several addresses, each gets an equal
                part.

        Returns:
            `channel` [channels], in the order of the graph; `from_terminal` and `to_terminal` [terminals].

        Raises:
            ConfigError: The demand has another number of terminals.
        """
        return _core.table_loads(self, self.graph, demand)

    def quality(self, demand: _core.Demand | None = None) -> Quality:
        """Return the loads, lengths and layers of all routes; see `Quality`.

        Args:
            demand: Traffic to weight the routes with. None: all pairs of terminals alike.

        Raises:
            ConfigError: The demand has another number of terminals.
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
        """Return the effective bisection bandwidth as ORCS defines it (Schneider, Hoefler, Lumsdaine, 2009).

        Each pattern puts the terminals in a random order. Place i of the first half sends to place i of the second
        half. A pair gets 1 / c of the bandwidth, where c is the number of pairs on the most loaded channel of its
        route, or the full bandwidth if its route has no channel. If terminals have several addresses, a pair uses
        them in equal parts.

        Args:
            patterns: Number of patterns.
            seed: Seed of the orders, from 0. Pattern k does not depend on the number of patterns.
            both_ways: Whether the second half sends back at the same time.
            orders: [patterns, terminals] orders to use instead of random ones.
            report: Called from time to time with the completed fraction, 0 to 1.

        Raises:
            ConfigError: A number is out of range, or a row of `orders` is not an order of the terminals.
        """
        if orders is not None:
            return Bisection(_core.table_bisection_bandwidth(self, self.graph, orders, both_ways))
        if patterns < 1 or not 0 <= seed < 2**63:
            raise ConfigError(f"patterns: {patterns} with seed {seed}; valid are 1 or more patterns and seeds from 0")
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
        """Return the channel loads of flows that run at the same time.

        Args:
            source: [flows] source terminals.
            destination: [flows] destination terminals.
            weight: [flows] positive weights. None: 1 each.

        Returns:
            `flow` [flows]: load of the most loaded channel of the flow's route, at least its own weight. `endpoint`
            [flows]: the larger of the total that its source sends and the total that its destination receives.
            `channel` [channels]: the load of each channel.

        Raises:
            ConfigError: A terminal does not exist or sends to itself, or a weight is not positive.
        """
        weights = np.ones(np.shape(source)) if weight is None else weight
        return _core.table_congestion(self, self.graph, source, destination, weights)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to an `.npz` file. A failed write leaves no partial file.

        Raises:
            OSError: The file cannot be written.
        """
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, format=np.array(FORMAT), **self.arrays())

    def save_dump(self, path: str | os.PathLike[str]) -> None:
        """Write the ports in the format of OpenSM's `opensm-lfts.dump`.

        The format has no layers; `save_service_levels` writes those. A failed write leaves no partial file.

        Raises:
            ConfigError: The table holds whole routes, or has more addresses or ports than InfiniBand supports.
            OSError: The file cannot be written.
        """
        write_dump(path, self.arrays(), self.graph)

    def save_service_levels(self, path: str | os.PathLike[str]) -> None:
        """Write the layers as service levels: a row per source, and in it a hexadecimal digit per destination.

        Raises:
            ConfigError: The table has more than 16 layers.
            OSError: The file cannot be written. No partial file is left.
        """
        level, graph = self.service_levels, self.graph
        if level.max(initial=0) >= LEVELS:
            raise ConfigError(f"{int(level.max()) + 1} layers; InfiniBand has {LEVELS} service levels")
        addresses = level.shape[1] // max(graph.terminals, 1)
        with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write("host,service_level_per_destination_host\n")
            for t, name in enumerate(graph.terminal_names):
                row = "".join("-" if d // addresses == t else f"{int(x):x}" for d, x in enumerate(level[t]))
                file.write(f"{name},{row}\n")

    @staticmethod
    def load(path: str | os.PathLike[str], graph: ChannelGraph) -> ForwardingTable:
        """Read a file of `save`, a dump of a subnet manager's tables, or a list `switch,host,port`.

        The formats are those of OpenSM (`opensm-lfts.dump`, `opensm.fdbs`), `ibroute` and `dump_lfts.sh`. Nodes are
        identified by name, or by GUID if their names are GUIDs. Ports may count from 0 or from 1. For a list
        `NAME.lft.csv` or a dump `NAME.dump`, layers are read from `NAME.sl.csv` and lanes from `NAME.sl2vl.csv` in the
        same folder. Text files may be gzipped.

        Raises:
            ConfigError: The file is not a table, or it is cut short; the message names switch and line. Or the table is
                for another network.
            OSError: The file cannot be read.
        """
        try:
            return _held(graph, _core.ForwardingTable(_arrays_of(path, graph)))
        except ConfigError as error:
            raise error if str(error).startswith(str(path)) else ConfigError(f"{path}: {error}") from error

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


def _arrays_of(path: str | os.PathLike[str], graph: ChannelGraph) -> dict[str, Any]:
    if (given := _lft.read(path, graph)) is not None:
        return {"engine": Path(path).name.split(".")[0], **_sized(given, graph)}
    arrays: dict[str, Any] = dict(read_arrays(path, f"not a forwarding table ({_FORMATS}), or damaged"))
    if str(arrays.pop("format", "")) != FORMAT:
        raise ConfigError(f"not a forwarding table in the format of this version of flitgym ({FORMAT})")
    return arrays


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
        raise ConfigError("layer: the network has as many switches as terminals; give layer_by='switch' or 'terminal'")
    if layer.ndim == 2 and layer.shape[0] in (graph.switches, graph.terminals):
        return "switch" if layer.shape[0] == graph.switches else "terminal"
    raise ConfigError(
        f"layer: an array of shape {layer.shape}; valid are [destinations], [switches, destinations] and"
        f" [terminals, destinations], with {graph.switches} switches and {graph.terminals} terminals"
    )
