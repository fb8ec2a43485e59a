"""Forwarding tables, service levels and lanes as comma-separated lists; `__init__.py` describes the formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._core import ConfigError
from .._files import read_unpacked
from .text import LEVELS, NO_PORT, NO_WAY, like, some, whole_number

_LANES = r"[0-9a-f]{16}"


def read_list(lines: list[str], graph: _core.ChannelGraph) -> tuple[dict[str, Any], int]:
    """Read a list `switch,host,port` as arrays of `ForwardingTable`, and return them with the first port's number."""
    arrays = graph.arrays()
    switches = {name: s for s, name in enumerate(graph.switch_names)}
    hosts = {name: t for t, name in enumerate(graph.terminal_names)}
    port = np.full((graph.switches, graph.terminals), -1, np.int32)
    for number, words in _rows(lines):
        if len(words) != 3 or (out := whole_number(words[2])) < 0:
            raise ConfigError(f"line {number}: '{','.join(words)[:80]}' is not switch,host,port; cut short?")
        for kind, word, names in (("switch", words[0], switches), ("host", words[1], hosts)):
            if word not in names:
                raise ConfigError(
                    f"line {number}: the table is for another network: there is no {kind} {word}{like(names)}"
                )
        s, t = switches[words[0]], hosts[words[1]]
        if port[s, t] >= 0:
            raise ConfigError(f"line {number}: switch {words[0]} already has a port for host {words[1]}")
        port[s, t] = min(out, NO_PORT)
    homes, own = arrays["terminal_switch"], arrays["terminal_port"].astype(np.int32)
    for s in np.unique(homes):
        if (missing := np.flatnonzero(port[s] < 0)).size:
            raise ConfigError(
                f"cut short, or for another network: switch {graph.switch_names[s]} has no line for {missing.size} of "
                f"{graph.terminals} hosts: {some([graph.terminal_names[t] for t in missing])}"
            )
    differences = port[homes, np.arange(graph.terminals)] - own
    shift = int(differences[0] == 1)  # ports may count from 1
    for t in np.flatnonzero(differences != shift)[:1]:
        raise ConfigError(
            f"the table is for another network: switch {graph.switch_names[homes[t]]} sends to host "
            f"{graph.terminal_names[t]} on port {port[homes[t], t]}, but the host is at port {own[t] + shift}"
        )
    known = (port >= shift) & (port < NO_WAY)
    return {"port": np.where(known, port - shift, NO_PORT).astype(np.uint16), "lmc": 0}, shift


def levels_beside(
    stem: str, graph: _core.ChannelGraph, shift: int, port: NDArray[np.uint16], lmc: int
) -> dict[str, Any]:
    """Read layers and lanes from `STEM.sl.csv` and `STEM.sl2vl.csv`, as arrays of a table; empty if they are absent.

    Args:
        stem: Name of the table's file without its ending.
        graph: The network.
        shift: Number of the first port in these files.
        port: [switches, destinations] output ports of the table.
        lmc: The table has 2**lmc addresses per terminal.
    """
    path, lanes = _beside(stem, "sl"), _beside(stem, "sl2vl")
    if path is None:
        return {}
    hosts = {name: t for t, name in enumerate(graph.terminal_names)}
    destinations = graph.terminals << lmc
    level = np.full((graph.terminals, destinations), -1, np.int16)
    others = np.arange(graph.terminals)[:, None] != np.arange(destinations) >> lmc
    for number, words in _rows(_lines(path)):
        if len(words) != 2 or words[0] not in hosts:
            raise ConfigError(f"{path}, line {number}: an unknown host, or not two columns: {','.join(words)[:80]}")
        t = hosts[words[0]]
        if len(words[1]) != destinations or not re.fullmatch(r"[0-9a-f-]*", words[1]):
            raise ConfigError(
                f"{path}, line {number}: host {words[0]} has {len(words[1])} service levels for {destinations} "
                "destinations; give a hexadecimal digit for each, and - for the host itself"
            )
        row = np.frombuffer(words[1].encode(), np.uint8).astype(np.int16)
        level[t] = np.where(row == ord("-"), 0, np.where(row >= ord("a"), row - ord("a") + 10, row - ord("0")))
    if (missing := np.flatnonzero(level[:, 0] < 0)).size:
        raise ConfigError(
            f"{path}: cut short: no service levels for {missing.size} of {graph.terminals} hosts: "
            f"{some([graph.terminal_names[t] for t in missing])}"
        )
    if lanes is None:
        # Levels that no route uses need no buffers.
        used = np.unique(level[others])
        level = np.searchsorted(used, level).clip(0, max(used.size - 1, 0))
        return {"layer": level.astype(np.uint8), "layer_by": "terminal", "layers": max(int(used.size), 1)}
    lane = np.zeros((graph.switches, graph.ports, graph.ports, LEVELS), np.uint8)
    switches = {name: s for s, name in enumerate(graph.switch_names)}
    for number, words in _rows(_lines(lanes)):
        ports = [whole_number(word) for word in words[1:3]]
        if len(words) != 4 or words[0] not in switches or min(ports) < 0 or not re.fullmatch(_LANES, words[3]):
            raise ConfigError(
                f"{lanes}, line {number}: not switch,input_port,output_port,16 lanes: {','.join(words)[:80]}"
            )
        into, out = ports[0] - shift, ports[1] - shift
        if 0 <= into < graph.ports and 0 <= out < graph.ports:  # other ports are the switch itself
            lane[switches[words[0]], into, out] = [int(c, 16) for c in words[3]]
    lane = np.where(_lanes_used(graph, port, level, others), lane, 0)  # unused lanes need no buffers
    return {
        **{"layer": level.astype(np.uint8), "layer_by": "terminal", "layers": LEVELS},
        **{"lane": lane.astype(np.uint8), "lanes": int(lane.max()) + 1, "lane_ports": graph.ports},
    }


def _beside(stem: str, kind: str) -> Path | None:
    return next((p for end in ("", ".gz") if (p := Path(f"{stem}.{kind}.csv{end}")).exists()), None)


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Number and words of every line below the header."""
    for number, line in enumerate(lines, 1):
        if number > 1 and line.strip():
            yield number, [word.strip() for word in line.split(",")]


def _lines(path: Path) -> list[str]:
    return read_unpacked(path).decode("utf-8", "replace").splitlines()


def _lanes_used(
    graph: _core.ChannelGraph, port: NDArray[np.uint16], level: NDArray[np.int16], others: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """[switches, input ports, output ports, levels] True where a packet between two terminals moves to another switch.

    All routes are followed at the same time, for as many hops as there are switches. A longer route is a loop, which a
    later check refuses.
    """
    arrays = graph.arrays()
    used = np.zeros((graph.switches, graph.ports, graph.ports, LEVELS), bool)
    channel = np.full((graph.switches, graph.ports), -1, np.int64)
    channel[arrays["from"], arrays["port"]] = np.arange(graph.channels)
    source, destination = np.nonzero(others)
    at, into = arrays["terminal_switch"][source], arrays["terminal_port"][source]
    for _ in range(graph.switches):
        out = port[at, destination]
        found = np.where(out < graph.ports, channel[at, np.minimum(out, graph.ports - 1)], -1)
        on = found >= 0
        used[at[on], into[on], out[on], level[source[on], destination[on]]] = True
        source, destination, found = source[on], destination[on], found[on]
        at, into = arrays["to"][found], arrays["port"][arrays["reverse"][found]]
        if not source.size:
            break
    return used
