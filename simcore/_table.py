"""`ChannelGraph` and `ForwardingTable`: static routing as a thing of its own, before anything is simulated."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import ConfigError

FORMAT = "flitgym forwarding table 1"
NO_PORT = 0xFFFF
"""In `ForwardingTable.port`: the switch has no port for the destination."""


class ChannelGraph(_core.ChannelGraph):
    """A network as whoever makes tables for it sees it: switches, directed channels between them, terminals.

    `arrays()` has, per channel, `from`, `to` (switches), `port` (of the switch it leaves) and `reverse` (the channel of
    the same cable the other way), ordered by switch and port, with those of switch s at `first[s]:first[s + 1]`; and
    per terminal `terminal_switch` and `terminal_port`.

    Args:
        topology: as the section `topology` of a `Simulation`.
        failures: as its section `failures`, without events.

    Raises:
        ConfigError: naming the key.
    """

    def __init__(self, topology: Mapping[str, Any] | str, failures: Mapping[str, Any] | None = None) -> None:
        super().__init__(topology, failures)
        self._made_of = (topology, failures)

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
        graph: ChannelGraph, engine: str, params: Mapping[str, Any] | None = None, demand: _core.Demand | None = None
    ) -> ForwardingTable:
        """Let an engine make a table.

        Args:
            graph: the network.
            engine: one of `registered("engine")`.
            params: those of the engine.
            demand: what it is to balance for; None: all pairs of terminals alike.

        Raises:
            ConfigError: no such engine, a parameter that is none, a network it makes no table of, too few layers.
        """
        return _held(graph, _core.ForwardingTable.route(graph, engine, dict(params or {}), demand))

    @property
    def port(self) -> NDArray[np.uint16]:
        """[switches, destinations] output port.

        Raises:
            ConfigError: the table has whole routes instead.
        """
        arrays = self.arrays()
        if "port" not in arrays:
            raise ConfigError(f"table '{self.engine}': it has whole routes (arrays()['route_port']), no ports by switch")
        ports: NDArray[np.uint16] = arrays["port"]
        return ports

    @property
    def layers(self) -> int:
        """Virtual layers, each with buffers of its own."""
        return int(self.arrays()["layers"])

    @property
    def engine(self) -> str:
        """What made it."""
        return str(self.arrays()["engine"])

    def find_cycle(self) -> str:
        """Channels that wait for each other in a circle, by name; empty: the table is free of deadlock."""
        return self.cycle(self.graph)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to an `.npz` file, whole or not at all.

        Raises:
            OSError: the file cannot be written; nothing is left behind.
        """
        target = Path(path)
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                np.savez_compressed(file, format=np.array(FORMAT), **self.arrays())
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)

    @staticmethod
    def load(path: str | os.PathLike[str], graph: ChannelGraph) -> ForwardingTable:
        """Read a file of `save`.

        Raises:
            ConfigError: it is no table, or one of another network.
            OSError: it cannot be read.
        """
        return _held(graph, _core.ForwardingTable(read(path)))

    def _hold(self, graph: ChannelGraph, table: _core.ForwardingTable) -> None:
        super().__init__(table)
        self.graph = graph
        self.check(graph)

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
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{path}: it is no forwarding table, or damaged: {error}") from error
    if str(arrays.pop("format", "")) != FORMAT:
        raise ConfigError(f"{path}: it is no forwarding table of this version of flitgym ({FORMAT})")
    return arrays


def in_routing(config: Any) -> Any:
    """The configuration of a simulation, with the table that `routing.file` names in the place of the name."""
    routing = config.get("routing") if isinstance(config, Mapping) else None
    if not isinstance(routing, Mapping) or routing.get("name") != "table":
        return config
    rest = dict(routing)
    if rest.get("file"):
        if "table" in rest:
            raise ConfigError("routing.table: a file and a table; give one of them")
        graph = ChannelGraph(config["topology"], config.get("failures"))
        rest["table"] = ForwardingTable.load(rest.pop("file"), graph)
    return {**config, "routing": rest}


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
