"""Files of ibnetdiscover and ibsim: the same network in both formats, names, hosts, speeds, and refusals."""

from pathlib import Path

import pytest
from flitgym.simcore import ChannelGraph, ConfigError, Simulation

# Two switches with two cables between them and three hosts.
CSV = """a,b,a_port,b_port,a_type,b_type
s1,h2,0,0,switch,host
s1,s0,2,2,switch,switch
s1,s0,3,3,,
s0,h0,0,0,switch,host
s0,h1,1,0,,host
"""
IBSIM = """# a comment
switchguid=0x10001
Switch	4 "s1"
[1]	"h2"
[3]	"s0"[3]	w=12 s=4
[4]	"s0" [4]

switchguid=0x10000
Switch	4 "s0"
[1]	"h0"[1]
[2]	"h1"[1]
[3]	"s1"[3]
[4]	"s1"[4]

caguid=0x200000
Hca	1 "h0"
[1]	"s0"[1]

Hca	1 "h1"
[1]	"s0"[2]

Ca	2 "h2"
[1]	"s1"
"""
# Output of ibnetdiscover (infiniband-diags 44.0) with -g -f for this network, simulated by ibsim 0.10.
DISCOVERED = """#
# Topology file: generated on Sun Nov 22 03:26:59 2026
#
# Initiated from node 0000000000200000 port 0000000000200001

Non-Chassis Nodes

vendid=0x0
devid=0x0
sysimgguid=0x10001
switchguid=0x10001(10001)	#
Switch	4 "S-0000000000010001"		# "s1" base port 0 lid 0 lmc 0
[1]	"H-0000000000200004"[1](200005) 		# "h2" lid 0 4xSDR s=1 w=2 v=4
[3]	"S-0000000000010000"[3]		# "s0" lid 0 4xSDR s=1 w=2 v=4
[4]	"S-0000000000010000"[4]		# "s0" lid 0 4xSDR s=1 w=2 v=4

switchguid=0x10000(10000)	#
Switch	4 "S-0000000000010000"		# "s0" base port 0 lid 0 lmc 0
[1]	"H-0000000000200000"[1](200001) 		# "h0" lid 0 4xSDR s=1 w=2 v=4
[2]	"H-0000000000200002"[1](200003) 		# "h1" lid 0 4xSDR s=1 w=2 v=4
[3]	"S-0000000000010001"[3]		# "s1" lid 0 4xSDR s=1 w=2 v=4
[4]	"S-0000000000010001"[4]		# "s1" lid 0 4xSDR s=1 w=2 v=4

caguid=0x200004
Ca	2 "H-0000000000200004"		# "h2"
[1](200005) 	"S-0000000000010001"[1]		# lid 0 lmc 0 "s1" lid 0 4xSDR s=1 w=2 v=4

caguid=0x200002
Ca	1 "H-0000000000200002"		# "h1"
[1](200003) 	"S-0000000000010000"[2]		# lid 0 lmc 0 "s0" lid 0 4xSDR s=1 w=2 v=4

caguid=0x200000
Ca	1 "H-0000000000200000"		# "h0"
[1](200001) 	"S-0000000000010000"[1]		# lid 0 lmc 0 "s0" lid 0 4xSDR s=1 w=2 v=4
"""
# A shared description, a description that is another node's GUID, an empty one and one with quotes, a host of two
# cabled ports, an aggregation node, a router to another subnet, and cables of three speeds.
ODD = """Chassis 1 (guid 0x8f1)

switchguid=0x1(1)	# ISR9288 Spine 1 Chip 1
Switch	24 "S-0001"		# "ISR9288" enhanced port 0 lid 6 lmc 0
[7][ext 5]	"S-0002"[8][ext 6]		# "ISR9288" lid 3 4xEDR
[1]	"H-0003"[2](8f1) 		# "S-0001" lid 4 4xEDR
[2]	"H-0004"[1](8f2) 		# lid 4 1xEDR
[3]	"R-0005"[1](8f2) 		# "to "the" world" lid 9 4xEDR
[4]	"H-0006"[1](a1) 		# "node1 HCA-1" lid 2 4xEDR
[5]	"H-0006"[3](a3) 		# "node1 HCA-1" lid 3 4xDDR
[6]	"H-0007"[1](a4) 		# "Mellanox Technologies Aggregation Node" lid 4 4xNDR
Switch	24 "S-0002"		# "ISR9288" base port 0 lid 3 lmc 0
[8][ext 6]	"S-0001"[7][ext 5]		# "ISR9288" lid 6 4xEDR

Hostname: service
Ca	2 "H-0003"		# "S-0001"
[2](8f1) 	"S-0001"[1]		# lid 4 lmc 0 "ISR9288" lid 6 4xEDR
Ca	1 "H-0004"		# ""
[1](8f2) 	"S-0001"[2]		# lid 4 lmc 0 "ISR9288" lid 6 1xEDR
rtguid=0x5
Rt	1 "R-0005"		# "to "the" world"
[1](8f2) 	"S-0001"[3]		# lid 9 lmc 0 "ISR9288" lid 6 4xEDR
Ca	3 "H-0006"		# "node1 HCA-1"
[1](a1) 	"S-0001"[4]		# lid 2 lmc 0 "edge" lid 1 4xEDR
[3](a3) 	"S-0001"[5]		# lid 3 lmc 0 "edge" lid 1 4xDDR
Ca	1 "H-0007"		# "Mellanox Technologies Aggregation Node"
[1](a4) 	"S-0001"[6]		# lid 4 lmc 0 "edge" lid 1 4xNDR
"""


def graph(tmp_path: Path, text: str, file_format: str = "auto", name: str = "net") -> ChannelGraph:
    (tmp_path / name).write_text(text)
    return ChannelGraph({"name": "graph", "file": str(tmp_path / name), "format": file_format})


def cables(graph: ChannelGraph) -> set[tuple[str, int, str]]:
    """The switch, the port and the other end of every cable."""
    arrays, names = graph.arrays(), graph.switch_names
    ends = [names[s] for s in arrays["to"]] + graph.terminal_names
    ports, switches = (
        [*arrays[own], *arrays[of]] for own, of in (("port", "terminal_port"), ("from", "terminal_switch"))
    )
    return {(names[s], int(port), end) for s, port, end in zip(switches, ports, ends, strict=True)}


@pytest.mark.parametrize(("text", "formats"), [(IBSIM, ("auto", "ibsim")), (DISCOVERED, ("auto", "ibnetdiscover"))])
def test_the_formats_agree(tmp_path: Path, text: str, formats: tuple[str, ...]) -> None:
    expected = cables(graph(tmp_path, CSV, "csv"))
    for file_format in formats:
        found = graph(tmp_path, text, file_format)
        assert cables(found) == expected
        assert found.switch_names == ["s1", "s0"]
        assert found.terminal_names == (["h2", "h1", "h0"] if text is DISCOVERED else ["h0", "h1", "h2"])


def test_names_hosts_and_speeds(tmp_path: Path) -> None:
    found = graph(tmp_path, ODD)
    assert found.switch_names == ["S-0001", "S-0002"]
    assert found.terminal_names == ["H-0003", "H-0004", 'to "the" world', "node1 HCA-1:1", "node1 HCA-1:3"]
    assert {port for switch, port, _ in cables(found) if switch == "S-0001"} == {0, 1, 2, 3, 4, 6}
    (tmp_path / "fast").write_text(ODD.replace("4xNDR", "4xEDR"))
    router = {"name": "vc_router", "flit_bytes": 128}
    topology = {"name": "graph", "file": str(tmp_path / "fast")}
    channels = Simulation({"topology": topology, "router": router, "routing": "minimal"}).channels()
    times = {int(t): time for t, time in zip(channels["terminal"], channels["flit_time_ns"], strict=True) if t >= 0}
    assert times[1] == 4 * times[0]  # one lane of four
    assert times[4] == pytest.approx(100 / 16 * times[0], rel=0.1)  # whole cycles


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('[3]	"s1"[3]\n', "", r"net:5: port 3 of 's1' leads to port 3 of 's0', which has no cable"),
        ('[3]	"s1"[3]', '[3]	"s1"[4]', r"net:5: .* leads to port 4 of 's1' \(line 12\)"),
        ('[1]	"h2"', '[1]	"h3"', r"net:4: .*'h3', which is not a node"),
        ('[4]	"s0" [4]', '[3]	"s0" [4]', r"net:6: port 3 of 's1' is already on line 5"),
        ("Hca	1", "Hca	0", r"net:16: 'Hca	0 \"h0\"'; expected Switch"),
        ('Hca	1 "h1"', 'Hca	1 "h0"', r"net:19: 'h0' is already on line 16"),
        ('Switch	4 "s0"', 'include "x"', r"net:9: 'include"),
        ('Switch	4 "s1"', "", r"net:4: a port that belongs to no node"),
        ("Switch	4", "Switch	3", r"net:6: port 3 of 's1', which has 3 ports"),
        ('[4]	"s0" [4]', '[4]	"s0" [4]' + " w=1" * 20 + "w=1," * 20 + " x", r"net:6: "),  # in linear time
    ],
)
def test_refusals(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        graph(tmp_path, IBSIM.replace(old, new, 1), "ibsim")
