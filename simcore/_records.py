"""Network files of InfiniBand: the output of `ibnetdiscover`, and the net files of the fabric simulator `ibsim`.

ibnetdiscover (its manual page, "Topology file format"), also with its options -g (grouped by chassis), -f and -s:

    Switch	36 "S-ec0d9a0300ec8240"		# "edge 1" base port 0 lid 48 lmc 0
    [1]	"H-506b4b03003fa9b6"[1](506b4b03003fa9b6) 		# "node018 HCA-1" lid 67 4xEDR

    Ca	1 "H-506b4b03003fa9b6"		# "node018 HCA-1"
    [1](506b4b03003fa9b6) 	"S-ec0d9a0300ec8240"[1]		# lid 67 lmc 0 "edge 1" lid 48 4xEDR

ibsim (its README and net-examples), where a host may be called Hca, and a missing port at the other end is 1:

    Switch	8 "Switch1"
    [1]	"Hca1"
    [3]	"Switch2"[3]	w=12

Every node has a record. Every cable appears in the records of both its nodes, which must agree. `Rt`, a router to
another subnet, is a host like `Ca`, because the simulated subnet ends there. The name of a node is its description, or
its type and GUID if another node has the same description. A host with several cables becomes a terminal per cable.
Aggregation nodes (SHARP) are left out. The fastest cable of the file (4xEDR) has the bandwidth of the channel's kind,
and slower cables have proportionally less. Files of ibsim that need commands or other files (include, do, module, @)
are refused.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import NamedTuple

from ._core import ConfigError

Nodes = list[tuple[str, bool, int, int]]
"""Name, whether it is a host, number of ports, line."""
Cables = list[tuple[int, int, int, int, float, int]]
"""Node and port at both ends, bandwidth relative to the fastest cable, line. Ports count from 0."""

_NODE = re.compile(r'(Switch|Ca|Rt|Hca)\s*([1-9]\d{0,3})\s*"([^"]+)"\s*(?:#(.*))?')
_DETAIL = r"(?:\s|\([^)]*\)|\[ext[^]]*\])*+"  # GUIDs, and the numbers of ports on the chassis
_OPTION = r"[^\s#=\[(]++=[^\s#]*+"  # such as w=4
_PORT = re.compile(
    rf'\[([1-9]\d{{0,3}})\]{_DETAIL}"([^"]+)"\s*(?:\[([1-9]\d{{0,3}})\])?(?:{_DETAIL}{_OPTION})*{_DETAIL}(?:#(.*))?'
)
_IGNORED = re.compile(
    r"(vendid|devid|sysimgguid|(switch|hca|ca|rt)guids?|width|speed|extspeed|pdebug|Chassis|Non-Chassis|Hostname)\b"
)
# Gb/s of a lane without the overhead of the encoding: InfiniBand Trade Association, "InfiniBand Roadmap".
_LANE = {
    **{"SDR": 2, "DDR": 4, "QDR": 8, "FDR10": 10, "FDR": 14.0625 * 64 / 66},
    **{"EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200},
}
_SPEED = re.compile(rf"(?<!\S)(1|2|4|8|12)x({'|'.join(_LANE)})(?!\S)")


_Side = tuple[str, int]  # of a cable: node and port, from 1


class _Node(NamedTuple):
    host: bool
    ports: int
    line: int
    description: str


class _End(NamedTuple):
    """The other end of a cable, as the record of a node names it."""

    peer: str
    port: int
    speed: float  # Gb/s; 0: not given
    line: int


def read_records(path: str, text: str) -> tuple[Nodes, Cables]:
    """Read the network in the text of a file. The core checks it further.

    Raises:
        ConfigError: The text is not such a file, or the two sides of a cable differ. The message names the line.
    """
    nodes: dict[str, _Node] = {}
    ends: dict[_Side, _End] = {}
    own = ""
    for line, content in enumerate(re.split(r"\r\n?|\n", text), 1):
        words = content.strip()
        where = f"{path}:{line}"
        if words.startswith("#"):
            continue
        if found := _PORT.fullmatch(words):
            port, peer, peer_port, comment = found.groups()
            at = own, int(port)
            if not own:
                raise ConfigError(f"{where}: a port that belongs to no node; expected it right below its node's line")
            if at in ends:
                raise ConfigError(f"{where}: port {port} of '{own}' is already on line {ends[at].line}")
            width, lane = rate.groups() if (rate := _SPEED.search(comment or "")) else (0, "SDR")
            ends[at] = _End(peer, int(peer_port or 1), int(width) * _LANE[lane], line)
        elif found := _NODE.fullmatch(words):
            kind, ports, own, comment = found.groups()
            if own in nodes:
                raise ConfigError(f"{where}: '{own}' is already on line {nodes[own].line}")
            said = re.search(r'"(.*)"', comment or "")
            nodes[own] = _Node(kind != "Switch", int(ports), line, said[1].strip() if said else "")
        elif words and not _IGNORED.match(words):
            raise ConfigError(
                f"{where}: '{words[:80]}'; expected Switch, Ca, Rt or Hca, ports, and a name in quotes, or "
                'below it [PORT] "NAME"[PORT]'
            )
        else:
            own = ""
    return _network(nodes, _cables(path, nodes, ends))


def _cables(path: str, nodes: dict[str, _Node], ends: dict[_Side, _End]) -> list[tuple[_Side, _Side, float, int]]:
    """Both sides, speed and line of each cable, once its records agree."""
    cables = []
    for (name, port), end in ends.items():
        where = f"{path}:{end.line}: port {port} of '{name}' leads to port {end.port} of '{end.peer}'"
        if end.peer not in nodes:
            raise ConfigError(f"{where}, which is not a node of this file; or the file is cut short")
        back = ends.get((end.peer, end.port))
        if back is None or (back.peer, back.port) != (name, port):
            there = "has no cable" if back is None else f"leads to port {back.port} of '{back.peer}' (line {back.line})"
            raise ConfigError(f"{where}, which {there} there; expected each cable on both of its sides")
        if end.line <= back.line:
            cables.append(((name, port), (end.peer, end.port), max(end.speed, back.speed), end.line))
    return cables


def _network(nodes: dict[str, _Node], cables: list[tuple[_Side, _Side, float, int]]) -> tuple[Nodes, Cables]:
    """The network without aggregation nodes, with descriptions as names, and with a terminal per cable of a host."""
    count = Counter(node.description for node in nodes.values())
    used = defaultdict[str, set[int]](set)  # ports of hosts
    for one, other, _, _ in cables:
        for name, port in (one, other):
            used[name].add(port)
    found: Nodes = []
    number: dict[_Side, int] = {}
    for name, node in nodes.items():
        if node.host and "Aggregation Node" in node.description:
            continue
        unique = node.description and count[node.description] == 1 and nodes.get(node.description, node) is node
        shown = node.description if unique else name
        several = node.host and len(used[name]) > 1
        for port in sorted(used[name]):
            number[name, port] = len(found)
            if several:
                found.append((f"{shown}:{port}", True, node.ports, node.line))
        if not several:
            found.append((shown, node.host, node.ports, node.line))
    fastest = max((speed for _, _, speed, _ in cables), default=0.0)
    return found, [
        (number[one], one[1] - 1, number[other], other[1] - 1, speed / (fastest or 1) or 1.0, line)
        for one, other, speed, line in cables
        if one in number and other in number
    ]
