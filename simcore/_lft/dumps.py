"""Dumps of linear forwarding tables as subnet managers and their diagnostics write them; see the package."""

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

SWITCH_GUID, HOST_GUID = 0x10000, 0x200001  # of the first, as `write` gives them
_MOST_LIDS = 0xBFFF  # above are those of multicast groups

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
    """The table of one switch, as a dump has it."""

    name: str
    guid: int
    line: int  # of the file
    most: int | None  # LIDs there are, where the first line says so
    ended: bool = False
    ports: dict[int, int] = field(default_factory=dict)  # by LID

    @property
    def shown(self) -> str:
        return f"{self.name or hex(self.guid)} (line {self.line})"


@dataclass
class _Dump:
    """What a dump says."""

    path: Path
    blocks: list[_Block] = field(default_factory=list)
    hosts: dict[int, tuple[int, str]] = field(default_factory=dict)  # GUID and name by LID, where they are said
    switches: set[int] = field(default_factory=set)  # LIDs


def read_dump(path: Path, lines: list[str]) -> _Dump:
    """What OpenSM, `ibroute` and `dump_lfts.sh` write.

    Raises:
        ConfigError: it is cut short, or has lines of no such file, by number.
    """
    dump = _Dump(path)
    block: _Block | None = None
    for number, line in enumerate(lines, 1):
        if line.startswith("Unicast lids"):
            match = _SWITCH.match(line)
            if match is None:
                raise ConfigError(f"{path}, line {number}: a switch without LIDs, GUID or name: {line[:120]}")
            if block is not None and not block.ended:
                raise ConfigError(_cut_short(dump, block, number))
            most = int(match[1], 16) if match[1].startswith("0x") else whole_number(match[1])
            block = _Block(match[4], int(match[3], 16), number, most)
            dump.blocks.append(block)
        elif block is not None and (end := _END.match(line)):
            block.ended = True
            if end[2] and whole_number(end[1]) != len(block.ports):
                raise ConfigError(
                    f"{path}, line {number}: switch {block.shown} has {len(block.ports)} lines, and {end[1]} are said"
                )
        elif match := _LINE.match(line):
            if block is None or block.ended:
                raise ConfigError(f"{path}, line {number}: a line of no switch: {line[:120]}")
            _take(dump, block, number, int(match[1], 16), whole_number(match[2]), match[3])
    if not dump.blocks:
        raise ConfigError(f"{path}: no table in it; a dump of linear forwarding tables begins with 'Unicast lids'")
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
    more = "" if block.most is None else f", and LIDs go to {block.most:#06x}"
    return f"{dump.path}, line {number}: cut short in the table of switch {block.shown}: {reached}{more}"


def read_fdbs(path: Path, lines: list[str]) -> _Dump:
    """What stands in `opensm.fdbs`.

    Raises:
        ConfigError: the table of a switch is cut short.
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
    # Every switch has a line for every LID, also where nobody is.
    most = max(block.most or 0 for block in dump.blocks)
    for block in dump.blocks:
        if (block.most or 0) < most:
            raise ConfigError(
                f"{path}: cut short in the table of switch {block.shown}: it ends with LID {block.most or 0:#06x}, "
                f"others with {most:#06x}"
            )
    return dump


def arrays_of(dump: _Dump, graph: _core.ChannelGraph) -> tuple[dict[str, Any], int]:
    """The arrays of `ForwardingTable` that a dump stands for, and what its ports count from.

    Raises:
        ConfigError: it is of another network, or lacks switches or destinations; names them.
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
            raise ConfigError(f"{dump.path}: switch {block.shown} stands in it twice, first in line {found[s].line}")
        else:
            found[s] = block
    if unknown:
        raise ConfigError(
            f"{dump.path}: it is of another network: there is no switch {some([b.shown for b in unknown])}"
            f"{like(graph.switch_names)}"
        )
    missing = [name for s, name in enumerate(graph.switch_names) if s not in found]
    if missing:
        raise ConfigError(
            f"{dump.path}: it has tables of {len(found)} of {graph.switches} switches; missing: {some(missing)}"
        )
    return [found[s] for s in range(graph.switches)]


def _addresses(
    dump: _Dump, graph: _core.ChannelGraph, blocks: list[_Block], homes: list[int], ports: list[int]
) -> tuple[list[list[int]], int]:
    """The LIDs of every terminal, ascending, and by how much ports are higher in the dump."""
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
                    f"{dump.path}: it is of another network: switch {graph.switch_names[homes[t]]} sends host "
                    f"{graph.terminal_names[t]} to port {out}, and it hangs on port {ports[t] + shift}"
                )
        return _complete(dump, graph, lids, named, _hanging(blocks, lids, hangs, shift)), shift
    # No host is named: they are told by where they hang, from port 1 or from port 0 on.
    there = set(zip(graph.arrays()["from"].tolist(), graph.arrays()["port"].tolist(), strict=True)) | set(hangs)
    found = {shift: _hanging(blocks, lids, hangs, shift) for shift in (1, 0)}

    def plausible(shift: int) -> tuple[int, int]:
        used = ((s, block.ports[lid] - shift) for s, block in enumerate(blocks) for lid in lids if lid in block.ports)
        return len(set(found[shift].values())), sum(port in there for port in used)

    shift = max(found, key=plausible)
    return _complete(dump, graph, lids, named, found[shift]), shift


def _hanging(blocks: list[_Block], lids: list[int], hangs: dict[tuple[int, int], int], shift: int) -> dict[int, int]:
    """The terminal of each LID for which one switch alone sends to a terminal of its own."""
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
            f"{dump.path}: it is of another network: there is no host {some(strangers)}{like(graph.terminal_names)}"
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
    """Write a table as OpenSM dumps one. Layers have no place in it.

    Switch s has LID s + 1 and GUID 0x10000 + s, hosts have the LIDs behind them and port GUIDs from 0x200001 on, every
    second one. Ports count from 1 unless no switch uses port 0. To a switch, packets go as to its first host.

    Raises:
        ConfigError: the table has whole routes; there are more than 49,151 addresses.
        OSError: the file cannot be written; nothing is left behind.
    """
    if "port" not in arrays:
        raise ConfigError(f"table '{arrays['engine']}': a dump has a port per switch, and this table whole routes")
    lmc, port = int(arrays["lmc"]), arrays["port"].astype(np.int32)
    first = -(-(graph.switches + 1) // (1 << lmc)) << lmc
    highest = first + (graph.terminals << lmc) - 1
    if highest > _MOST_LIDS:
        raise ConfigError(f"a dump of {highest:,} LIDs; InfiniBand has {_MOST_LIDS:,} for single ports")
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for block in _text(graph, port, lmc, first, highest):
            file.write(block)


def _text(graph: _core.ChannelGraph, port: NDArray[np.int32], lmc: int, first: int, highest: int) -> Iterator[str]:
    arrays = graph.arrays()
    names, hosts, homes = graph.switch_names, graph.terminal_names, arrays["terminal_switch"].tolist()
    shift = 1 if 0 in arrays["port"] or 0 in arrays["terminal_port"] else 0
    highest_port = int(max(arrays["port"].max(initial=0), arrays["terminal_port"].max(initial=0))) + shift
    if highest_port >= NO_WAY:
        raise ConfigError(f"a dump of switches with {highest_port} ports; InfiniBand has {NO_WAY - 1}")
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
