"""Dumps of linear forwarding tables by subnet managers and diagnostics tools; `__init__.py` describes the formats."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
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
    r"Unicast lids \[\S+-(0x[0-9a-fA-F]+|[0-9]+)\] of switch "
    r"(?:Lid ([0-9]+)|.*?)\s*guid (0x[0-9a-fA-F]+) \('?(.*?)'?\):\s*$"
)
_LINE = re.compile(r"\s*0x([0-9a-fA-F]+)\s+([0-9]+)\s*[#:]?\s*\(?(.*?)\)?\s*$")
_NODE = re.compile(r"(Switch|Channel Adapter|Router|Ca|path[^:]*:?)?\s*portguid (0x[0-9a-fA-F]+)(?:: '?(.*?)'?)?$")
_END = re.compile(r"\s*([0-9]+) (valid )?(?:m?lids) dumped")
FDB_SWITCH = re.compile(r"\w*dump_ucast_routes: Switch (0x[0-9a-fA-F]+)")
_FDB_LINE = re.compile(r"0x([0-9a-fA-F]+)\s*:\s*(?:([0-9]+)|UNREACHABLE)")


@dataclass
class _Block:
    """The table of one switch in a dump."""

    name: str
    guid: int
    line: int  # line in the file
    most: int | None  # highest LID, if the first line states it
    ended: bool = False
    ports: dict[int, int] = field(default_factory=dict)  # by LID

    @property
    def shown(self) -> str:
        return f"{self.name or hex(self.guid)} (line {self.line})"


@dataclass
class _Dump:
    """Content of a dump."""

    path: Path
    blocks: list[_Block] = field(default_factory=list)
    hosts: dict[int, tuple[int, str]] = field(default_factory=dict)  # GUID and name by LID, if the dump has them
    switches: set[int] = field(default_factory=set)  # LIDs


def read_dump(path: Path, lines: list[str]) -> _Dump:
    """Read the format of OpenSM, `ibroute` and `dump_lfts.sh`.

    Raises:
        ConfigError: The file is cut short or has invalid lines. The message has the line number.
    """
    dump = _Dump(path)
    block: _Block | None = None
    for number, line in enumerate(lines, 1):
        if line.startswith("Unicast lids"):
            match = _SWITCH.match(line)
            if match is None:
                raise ConfigError(f"{path}, line {number}: the switch lacks LIDs, a GUID or a name: {line[:120]}")
            if block is not None and not block.ended:
                raise ConfigError(_cut_short(dump, block, number))
            most = int(match[1], 16) if match[1].startswith("0x") else whole_number(match[1])
            block = _Block(match[4], int(match[3], 16), number, most)
            dump.blocks.append(block)
        elif block is not None and (end := _END.match(line)):
            block.ended = True
            if end[2] and whole_number(end[1]) != len(block.ports):
                raise ConfigError(
                    f"{path}, line {number}: switch {block.shown} has {len(block.ports)} lines, "
                    f"but the dump states {end[1]}"
                )
        elif match := _LINE.match(line):
            if block is None or block.ended:
                raise ConfigError(f"{path}, line {number}: a line outside the table of a switch: {line[:120]}")
            _take(dump, block, number, int(match[1], 16), whole_number(match[2]), match[3])
    if not dump.blocks:
        raise ConfigError(f"{path}: no table; a dump of linear forwarding tables begins with 'Unicast lids'")
    if block is not None and not block.ended:
        raise ConfigError(_cut_short(dump, block, len(lines) + 1))
    return dump


def _take(dump: _Dump, block: _Block, number: int, lid: int, port: int, comment: str) -> None:
    if lid in block.ports:
        raise ConfigError(f"{dump.path}, line {number}: switch {block.shown} has LID {lid:#06x} twice")
    block.ports[lid] = port
    node = _NODE.match(comment)
    if node is not None and node[1] == "Switch":
        dump.switches.add(lid)
    elif node is not None:
        known = dump.hosts.get(lid, (0, ""))
        dump.hosts[lid] = (int(node[2], 16), node[3] or known[1])


def _cut_short(dump: _Dump, block: _Block, number: int) -> str:
    last = max(block.ports, default=None)
    reached = "it has no line" if last is None else f"its last line is for LID {last:#06x}"
    more = "" if block.most is None else f", but its highest LID is {block.most:#06x}"
    return f"{dump.path}, line {number}: cut short in the table of switch {block.shown}: {reached}{more}"


def read_fdbs(path: Path, lines: list[str]) -> _Dump:
    """Read `opensm.fdbs`.

    Raises:
        ConfigError: The table of a switch is cut short.
    """
    dump = _Dump(path)
    for number, line in enumerate(lines, 1):
        if match := FDB_SWITCH.match(line):
            dump.blocks.append(_Block("", int(match[1], 16), number, None))
        elif (match := _FDB_LINE.match(line)) and dump.blocks:
            lid, block = int(match[1], 16), dump.blocks[-1]
            if match[2] is not None:
                _take(dump, block, number, lid, whole_number(match[2]), "")
                if whole_number(match[2]) == 0:  # the switch itself
                    dump.switches.add(lid)
            block.most = lid
    # Every switch has a line for every LID, including unused ones.
    most = max(block.most or 0 for block in dump.blocks)
    for block in dump.blocks:
        if (block.most or 0) < most:
            raise ConfigError(
                f"{path}: cut short in the table of switch {block.shown}: it ends with LID {block.most or 0:#06x}, "
                f"other tables with {most:#06x}"
            )
    return dump


def arrays_of(dump: _Dump, graph: _core.ChannelGraph) -> tuple[dict[str, Any], int]:
    """Convert a dump to the arrays of `ForwardingTable`, and return them with the number of the first port.

    Raises:
        ConfigError: The dump is for another network, or lacks switches or destinations. The message names them.
    """
    arrays = graph.arrays()
    blocks = _blocks_by_switch(dump, graph)
    homes, ports = arrays["terminal_switch"].tolist(), arrays["terminal_port"].tolist()
    addresses, shift = _addresses(dump, graph, blocks, homes, ports)
    lmc = _lmc(dump, graph, addresses)
    port = np.full((graph.switches, graph.terminals << lmc), NO_PORT, np.uint16)
    leaves = set(homes)
    for s, block in enumerate(blocks):
        missing = []
        for t, lids in enumerate(addresses):
            for a, lid in enumerate(lids):
                if (out := block.ports.get(lid)) is not None:
                    port[s, t << lmc | a] = NO_PORT if out < shift or out >= NO_WAY else out - shift
                else:
                    missing.append(t)
        if missing and s in leaves:
            raise ConfigError(
                f"{dump.path}: the table of switch {block.shown} has no line for {len(missing)} of "
                f"{graph.terminals << lmc} destinations: {some([graph.terminal_names[t] for t in missing])}"
            )
    return {"port": port, "lmc": lmc}, shift


def _blocks_by_switch(dump: _Dump, graph: _core.ChannelGraph) -> list[_Block]:
    numbers = {name: s for s, name in enumerate(graph.switch_names)}
    found: dict[int, _Block] = {}
    unknown = []
    for block in dump.blocks:
        s = numbers.get(block.name, numbers.get(f"S-{block.guid:016x}"))
        if s is None and not block.name and 0 <= block.guid - SWITCH_GUID < graph.switches:
            s = block.guid - SWITCH_GUID
        if s is None:
            unknown.append(block)
        elif s in found:
            raise ConfigError(f"{dump.path}: switch {block.shown} occurs twice, first in line {found[s].line}")
        else:
            found[s] = block
    if unknown:
        raise ConfigError(
            f"{dump.path}: the dump is for another network: there is no switch {some([b.shown for b in unknown])}"
            f"{like(graph.switch_names)}"
        )
    missing = [name for s, name in enumerate(graph.switch_names) if s not in found]
    if missing:
        raise ConfigError(
            f"{dump.path}: the dump has tables for {len(found)} of {graph.switches} switches; missing: {some(missing)}"
        )
    return [found[s] for s in range(graph.switches)]


def _addresses(
    dump: _Dump, graph: _core.ChannelGraph, blocks: list[_Block], homes: list[int], ports: list[int]
) -> tuple[list[list[int]], int]:
    """Return the LIDs of every terminal, ascending, and the number of the first port in the dump."""
    numbers = {name: t for t, name in enumerate(graph.terminal_names)}
    by_guid = {guid: name for guid, name in dump.hosts.values() if name}
    hangs = {(s, p): t for t, (s, p) in enumerate(zip(homes, ports, strict=True))}
    lids = sorted(set().union(*(block.ports for block in blocks)) - dump.switches)
    named = {lid: numbers.get(name or by_guid.get(guid, "")) for lid, (guid, name) in dump.hosts.items()}
    given = [(lid, t) for lid in lids if (t := named.get(lid)) is not None]
    if given:
        own = [(t, out) for lid, t in given if (out := blocks[homes[t]].ports.get(lid)) is not None]
        shift = min(1, max(0, _most_frequent([out - ports[t] for t, out in own])))
        for t, out in own:
            if out - ports[t] != shift:
                raise ConfigError(
                    f"{dump.path}: the dump is for another network: switch {graph.switch_names[homes[t]]} sends to "
                    f"host {graph.terminal_names[t]} on port {out}, but the host is at port {ports[t] + shift}"
                )
        return _complete(dump, graph, lids, named, _hanging(blocks, lids, hangs, shift)), shift
    # No host is named. A host is identified by its port, and ports may count from 1 or from 0.
    there = set(zip(graph.arrays()["from"].tolist(), graph.arrays()["port"].tolist(), strict=True)) | set(hangs)
    found = {shift: _hanging(blocks, lids, hangs, shift) for shift in (1, 0)}

    def plausible(shift: int) -> tuple[int, int]:
        used = ((s, block.ports[lid] - shift) for s, block in enumerate(blocks) for lid in lids if lid in block.ports)
        return len(set(found[shift].values())), sum(port in there for port in used)

    shift = max(found, key=plausible)
    return _complete(dump, graph, lids, named, found[shift]), shift


def _hanging(blocks: list[_Block], lids: list[int], hangs: dict[tuple[int, int], int], shift: int) -> dict[int, int]:
    """The terminal of each LID that exactly one switch sends to one of its own terminals."""
    ends: dict[int, list[int]] = {}
    for s, block in enumerate(blocks):
        for lid in lids:
            terminal = hangs.get((s, block.ports.get(lid, -1) - shift))
            if terminal is not None:
                ends.setdefault(lid, []).append(terminal)
    return {lid: found[0] for lid, found in ends.items() if len(found) == 1}


def _complete(
    dump: _Dump, graph: _core.ChannelGraph, lids: list[int], named: dict[int, int | None], hanging: dict[int, int]
) -> list[list[int]]:
    addresses: list[list[int]] = [[] for _ in range(graph.terminals)]
    strangers = []
    for lid in lids:
        t = named.get(lid)
        t = hanging.get(lid) if t is None else t
        if t is None:
            strangers.append(dump.hosts.get(lid, (0, ""))[1] or f"LID {lid:#06x}")
        else:
            addresses[t].append(lid)
    lost = [graph.terminal_names[t] for t, own in enumerate(addresses) if not own]
    if strangers and (lost or dump.hosts):
        raise ConfigError(
            f"{dump.path}: the dump is for another network: there is no host {some(strangers)}"
            f"{like(graph.terminal_names)}"
        )
    if lost:
        raise ConfigError(f"{dump.path}: no line leads to {len(lost)} of {graph.terminals} hosts: {some(lost)}")
    return addresses


def _most_frequent(numbers: list[int]) -> int:
    return max(set(numbers), key=numbers.count, default=1)


def _lmc(dump: _Dump, graph: _core.ChannelGraph, addresses: list[list[int]]) -> int:
    counts = {len(own) for own in addresses}
    lmc = max(counts).bit_length() - 1
    if counts != {1 << lmc}:
        other = next(t for t, own in enumerate(addresses) if len(own) != len(addresses[0]) or len(own) != 1 << lmc)
        raise ConfigError(
            f"{dump.path}: host {graph.terminal_names[other]} has {len(addresses[other])} LIDs; all must have the same "
            "number, a power of 2"
        )
    return lmc


def write(path: str | os.PathLike[str], arrays: Mapping[str, Any], graph: _core.ChannelGraph) -> None:
    """Write a table in the format of OpenSM's dumps, which have no layers.

    Switch s gets LID s + 1 and GUID 0x10000 + s. Hosts get the LIDs after the switches, and every second port GUID from
    0x200001. If a switch uses port 0, all port numbers are raised by 1, because InfiniBand counts from 1. Packets for a
    switch take the route of its first host.

    Raises:
        ConfigError: The table holds whole routes, or there are more than 49,151 addresses.
        OSError: The file cannot be written. No partial file is left.
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
