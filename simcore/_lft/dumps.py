"""Dumps of linear forwarding tables by subnet managers and diagnostics tools; `__init__.py` describes the formats."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._core import ConfigError
from .._files import atomic_path
from .text import NO_PORT, NO_WAY, like, some, whole_number

SWITCH_GUID, HOST_GUID = 0x10000, 0x200001  # first GUIDs that `write` assigns
_MOST_LIDS = 0xBFFF  # larger LIDs are multicast groups

_SWITCH = re.compile(
    r"(?:Unicast lids .*?guid|\w*dump_ucast_routes: Switch) (?P<guid>0x[0-9a-fA-F]+)(?: \('?(?P<name>.*?)'?\):)?\s*$"
)
_LINE = re.compile(r"\s*0x([0-9a-fA-F]+)\s*:?\s*([0-9]+|UNREACHABLE)\s*[#:]?\s*\(?(.*?)\)?\s*$")
_NODE = re.compile(r"(Switch|Channel Adapter|Router|Ca|path[^:]*:?)?\s*portguid (0x[0-9a-fA-F]+)(?:: '?(.*?)'?)?$")
_END = re.compile(r"\s*([0-9]+) (valid )?(?:m?lids) dumped")


@dataclass
class _Block:
    """The table of one switch in a dump."""

    name: str
    guid: int
    line: int  # line in the file
    last: int = 0  # LID of the last line
    ports: dict[int, int] = field(default_factory=dict)  # by LID

    @property
    def shown(self) -> str:
        return f"{self.name or hex(self.guid)} (line {self.line})"


@dataclass
class _Dump:
    """Content of a dump."""

    blocks: list[_Block] = field(default_factory=list)
    hosts: dict[int, tuple[int, str]] = field(default_factory=dict)  # GUID and name by LID, if the dump has them
    switches: set[int] = field(default_factory=set)  # LIDs


def _parsed(lines: list[str]) -> _Dump:
    dump, ended = _Dump(), True  # only `opensm.fdbs` does not mark the end of a table
    for number, line in enumerate(lines, 1):
        if switch := _SWITCH.match(line):
            if not ended:
                raise ConfigError(_cut_short(dump, number))
            dump.blocks.append(_Block(switch["name"] or "", int(switch["guid"], 16), number))
            ended = switch["name"] is None
        elif not dump.blocks:
            continue
        elif end := _END.match(line):
            ended = True
            if end[2] and int(end[1]) != len(dump.blocks[-1].ports):
                raise ConfigError(f"line {number}: switch {dump.blocks[-1].shown} does not have {end[1]} lines")
        elif match := _LINE.match(line):
            _take(dump, number, int(match[1], 16), whole_number(match[2]), match[3])
    if not ended:
        raise ConfigError(_cut_short(dump, len(lines) + 1))
    most = max((block.last for block in dump.blocks), default=0)
    for block in dump.blocks:
        # Every switch in `opensm.fdbs` has a line for every LID, including unused ones.
        if not block.name and block.last < most:
            raise ConfigError(
                f"cut short in the table of switch {block.shown}: it ends with LID {block.last:#06x}, other tables "
                f"with {most:#06x}"
            )
    return dump


def _take(dump: _Dump, number: int, lid: int, port: int, comment: str) -> None:
    block = dump.blocks[-1]
    block.last = lid
    if port < 0:  # UNREACHABLE
        return
    if lid in block.ports:
        raise ConfigError(f"line {number}: switch {block.shown} has LID {lid:#06x} twice")
    block.ports[lid] = port
    node = _NODE.match(comment)
    if (node is not None and node[1] == "Switch") or (not block.name and port == 0):  # port 0 is the switch itself
        dump.switches.add(lid)
    elif node is not None:
        known = dump.hosts.get(lid, (0, ""))
        dump.hosts[lid] = (int(node[2], 16), node[3] or known[1])


def _cut_short(dump: _Dump, number: int) -> str:
    block = dump.blocks[-1]
    return f"line {number}: cut short in the table of switch {block.shown} after its line for LID {block.last:#06x}"


def read_dump(lines: list[str], graph: _core.ChannelGraph) -> tuple[dict[str, Any], int]:
    """Read a dump as the arrays of `ForwardingTable`, and return them with the number of the first port."""
    dump = _parsed(lines)
    blocks = _blocks_by_switch(dump, graph)
    homes, ports = (graph.arrays()[key].tolist() for key in ("terminal_switch", "terminal_port"))
    addresses, shift = _addresses(dump, graph, blocks, homes, ports)
    lmc = max(map(len, addresses)).bit_length() - 1
    for t, own in enumerate(addresses):
        if len(own) != 1 << lmc:
            raise ConfigError(
                f"host {graph.terminal_names[t]} has {len(own)} LIDs; all must have the same number, a power of 2"
            )
    port = np.full((graph.switches, graph.terminals << lmc), NO_PORT, np.uint16)
    leaves = set(homes)
    for s, block in enumerate(blocks):
        for d, lid in enumerate(lid for lids in addresses for lid in lids):
            out = block.ports.get(lid, NO_WAY)
            if shift <= out < NO_WAY:
                port[s, d] = out - shift
            elif lid not in block.ports and s in leaves:
                name = graph.terminal_names[d >> lmc]
                raise ConfigError(f"the table of switch {block.shown} has no line for LID {lid:#06x} of host {name}")
    return {"port": port, "lmc": lmc}, shift


def _blocks_by_switch(dump: _Dump, graph: _core.ChannelGraph) -> list[_Block]:
    numbers = {name: s for s, name in enumerate(graph.switch_names)}
    found: dict[int, _Block] = {}
    for block in dump.blocks:
        s = numbers.get(block.name, numbers.get(f"S-{block.guid:016x}"))
        if s is None and not block.name and 0 <= block.guid - SWITCH_GUID < graph.switches:
            s = block.guid - SWITCH_GUID
        if s is None:
            raise ConfigError(
                f"the dump is for another network: there is no switch {block.shown}{like(graph.switch_names)}"
            )
        found[s] = block
    missing = [name for s, name in enumerate(graph.switch_names) if s not in found]
    if missing:
        raise ConfigError(
            f"the dump has tables for {len(found)} of {graph.switches} switches; missing: {some(missing)}"
        )
    return [found[s] for s in range(graph.switches)]


def _addresses(
    dump: _Dump, graph: _core.ChannelGraph, blocks: list[_Block], homes: list[int], ports: list[int]
) -> tuple[list[list[int]], int]:
    """Return the LIDs of every terminal, ascending, and the number of the first port in the dump."""
    numbers = {name: t for t, name in enumerate(graph.terminal_names)}
    by_guid = {guid: name for guid, name in dump.hosts.values() if name}
    lids = sorted(set().union(*(block.ports for block in blocks)) - dump.switches)
    named = {
        lid: numbers[known]
        for lid, (guid, name) in dump.hosts.items()
        if (known := name or by_guid.get(guid, "")) in numbers
    }
    own = [(t, out) for lid, t in named.items() if (out := blocks[homes[t]].ports.get(lid)) is not None]
    hangs = {(s, p): t for t, (s, p) in enumerate(zip(homes, ports, strict=True))}
    there = set(zip(graph.arrays()["from"].tolist(), graph.arrays()["port"].tolist(), strict=True)) | set(hangs)
    used = [(s, block.ports[lid]) for s, block in enumerate(blocks) for lid in lids if lid in block.ports]
    hanging = {shift: _hanging(blocks, lids, hangs, shift) for shift in (1, 0)}

    def plausible(shift: int) -> tuple[int, int, int]:
        at_port = sum(out == ports[t] + shift for t, out in own)
        return at_port, len(set(hanging[shift].values())), sum((s, p - shift) in there for s, p in used)

    shift = max(hanging, key=plausible)  # ports may count from 1 or from 0
    for t, out in own:
        if out != ports[t] + shift:
            raise ConfigError(
                f"the dump is for another network: switch {graph.switch_names[homes[t]]} sends to host "
                f"{graph.terminal_names[t]} on port {out}, but the host is at port {ports[t] + shift}"
            )
    addresses: list[list[int]] = [[] for _ in range(graph.terminals)]
    strangers = []
    for lid in lids:
        if (found := named.get(lid, hanging[shift].get(lid))) is None:
            strangers.append(dump.hosts.get(lid, (0, ""))[1] or f"LID {lid:#06x}")
        else:
            addresses[found].append(lid)
    lost = [graph.terminal_names[t] for t, each in enumerate(addresses) if not each]
    if strangers and (lost or dump.hosts):
        raise ConfigError(
            f"the dump is for another network: there is no host {some(strangers)}{like(graph.terminal_names)}"
        )
    if lost:
        raise ConfigError(f"no line leads to {len(lost)} of {graph.terminals} hosts: {some(lost)}")
    return addresses, shift


def _hanging(blocks: list[_Block], lids: list[int], hangs: dict[tuple[int, int], int], shift: int) -> dict[int, int]:
    """The terminal of each LID that exactly one switch sends to one of its own terminals."""
    ends: dict[int, list[int]] = {}
    for s, block in enumerate(blocks):
        for lid in lids:
            terminal = hangs.get((s, block.ports.get(lid, -1) - shift))
            if terminal is not None:
                ends.setdefault(lid, []).append(terminal)
    return {lid: found[0] for lid, found in ends.items() if len(found) == 1}


def write(path: str | os.PathLike[str], arrays: Mapping[str, Any], graph: _core.ChannelGraph) -> None:
    """Write a table in the format of OpenSM's dumps, which have no layers.

    Switch s gets LID s + 1 and GUID 0x10000 + s. Hosts get the LIDs after the switches, and every second port GUID from
    0x200001. If a switch uses port 0, all port numbers are raised by 1, because InfiniBand counts from 1. Packets for a
    switch take the route of its first host.
    """
    if "port" not in arrays:
        raise ConfigError(f"table '{arrays['engine']}': a dump needs ports per switch; this table holds whole routes")
    lmc, port = int(arrays["lmc"]), arrays["port"].astype(np.int32)
    first = -(-(graph.switches + 1) // (1 << lmc)) << lmc
    highest = first + (graph.terminals << lmc) - 1
    if highest > _MOST_LIDS:
        raise ConfigError(f"a dump would need {highest:,} LIDs; InfiniBand has {_MOST_LIDS:,} for single ports")
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for block in _text(graph, port, lmc, first, highest):
            file.write(block)


def _text(graph: _core.ChannelGraph, port: NDArray[np.int32], lmc: int, first: int, highest: int) -> Iterator[str]:
    arrays = graph.arrays()
    names, hosts, homes = graph.switch_names, graph.terminal_names, arrays["terminal_switch"].tolist()
    shift = 1 if 0 in arrays["port"] or 0 in arrays["terminal_port"] else 0
    highest_port = int(max(arrays["port"].max(initial=0), arrays["terminal_port"].max(initial=0))) + shift
    if highest_port >= NO_WAY:
        raise ConfigError(f"a switch has {highest_port} ports; InfiniBand allows {NO_WAY - 1}")
    shown = np.where(port == NO_PORT, NO_WAY, port + shift)
    leader = {s: t for t, s in reversed(list(enumerate(homes)))}
    to_host = [
        f"0x{first + d:04x} %03d # Channel Adapter portguid 0x{HOST_GUID + 2 * (d >> lmc):016x}: '{hosts[d >> lmc]}'\n"
        for d in range(graph.terminals << lmc)
    ]
    to_switch = [
        (s, f"0x{s + 1:04x} %03d # Switch portguid 0x{SWITCH_GUID + s:016x}: '{name}'\n")
        for s, name in enumerate(names)
    ]
    for own, name in enumerate(names):
        lines = [f"Unicast lids [0-{highest}] of switch Lid {own + 1} guid 0x{SWITCH_GUID + own:016x} ('{name}'):\n"]
        for s, line in to_switch:
            out = 0 if s == own else shown[own, leader[s] << lmc] if s in leader else NO_WAY
            if out != NO_WAY:
                lines.append(line % out)
        row = shown[own].tolist()
        lines += [line % out for line, out in zip(to_host, row, strict=True) if out != NO_WAY]
        yield "".join([*lines, f"{highest} lids dumped\n"])
