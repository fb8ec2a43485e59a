"""Forwarding tables and flows from files: written files are read back."""

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.simcore import ChannelGraph, ConfigError, ForwardingTable, Simulation, read_flows
from table_scenes import HYPERX, TOPOLOGIES


@pytest.fixture(scope="module")
def hyperx() -> ForwardingTable:
    return ForwardingTable.route(ChannelGraph(HYPERX), "min_hop")


def test_saved_and_loaded_again(hyperx: ForwardingTable, tmp_path: Path) -> None:
    hyperx.save(tmp_path / "table.npz")
    again = ForwardingTable.load(tmp_path / "table.npz", hyperx.graph)
    np.testing.assert_array_equal(again.port, hyperx.port)
    assert again.engine == "min_hop"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda topology: topology["name"])
def test_a_dump_can_be_read_back(topology: dict[str, Any], tmp_path: Path) -> None:
    graph = ChannelGraph(topology)
    table = ForwardingTable.route(graph, "min_hop")
    table.save_dump(tmp_path / "lfts.dump")
    np.testing.assert_array_equal(ForwardingTable.load(tmp_path / "lfts.dump", graph).port, table.port)
    (tmp_path / "lfts.dump.gz").write_bytes(gzip.compress((tmp_path / "lfts.dump").read_bytes()))
    np.testing.assert_array_equal(ForwardingTable.load(tmp_path / "lfts.dump.gz", graph).port, table.port)
    several = ForwardingTable(graph, np.repeat(table.port, 4, axis=1), lmc=2)
    several.save_dump(tmp_path / "lmc.dump")
    again = ForwardingTable.load(tmp_path / "lmc.dump", graph)
    assert int(again.arrays()["lmc"]) == 2
    np.testing.assert_array_equal(again.port, several.port)
    # ibroute shows only the first LID of a host.
    text = (tmp_path / "lmc.dump").read_text()
    later = re.compile(r"(0x[0-9a-f]{3}[1-35-79-bd-f] \d+) # Channel Adapter (portguid 0x[0-9a-f]+): '.*'")
    (tmp_path / "paths.dump").write_text(later.sub(r"\1 : (path #2 out of 4: \2)", text))
    assert (tmp_path / "paths.dump").read_text() != text
    np.testing.assert_array_equal(ForwardingTable.load(tmp_path / "paths.dump", graph).port, several.port)


def ring_of_three(tmp_path: Path) -> ChannelGraph:
    """Three switches in a ring with a host each. Ports count from 1, as in InfiniBand."""
    path = tmp_path / "ring.csv"
    hosts = [f"host {h},1,{s},1,host,switch" for h, s in (("a", "left"), ("b", "right"), ("c", "top"))]
    ring = [f"{a},2,{b},3,switch,switch" for a, b in (("left", "right"), ("right", "top"), ("top", "left"))]
    path.write_text("\n".join(["a,a_port,b,b_port,a_type,b_type", *hosts, *ring]) + "\n")
    return ChannelGraph({"name": "graph", "file": str(path)})


DUMP = """Unicast lids [0-6] of switch Lid 1 guid 0x0000000000010000 ('left'):
0x0001 000 # Switch portguid 0x0000000000010000: 'left'
0x0002 002 # Switch portguid 0x0000000000010001: 'right'
0x0003 003 # Switch portguid 0x0000000000010002: 'top'
0x0004 001 # Channel Adapter portguid 0x0000000000200001: 'host a'
0x0005 002 # Channel Adapter portguid 0x0000000000200003: 'host b'
0x0006 003 # Channel Adapter portguid 0x0000000000200005: 'host c'
6 lids dumped
Unicast lids [0-6] of switch Lid 2 guid 0x0000000000010001 ('right'):
0x0004 003 # Channel Adapter portguid 0x0000000000200001: 'host a'
0x0005 001 # Channel Adapter portguid 0x0000000000200003: 'host b'
0x0006 002 # Channel Adapter portguid 0x0000000000200005: 'host c'
6 lids dumped
Unicast lids [0-6] of switch Lid 3 guid 0x0000000000010002 ('top'):
0x0004 002 # Channel Adapter portguid 0x0000000000200001: 'host a'
0x0005 003 # Channel Adapter portguid 0x0000000000200003: 'host b'
0x0006 001 # Channel Adapter portguid 0x0000000000200005: 'host c'
6 lids dumped
"""
PORTS = [[1, 2, 3], [3, 1, 2], [2, 3, 1]]
# The same table in the format of `ibroute`. One switch has a path as its address.
IBROUTE = """Unicast lids [0x0-0x6] of switch Lid 1 guid 0x0000000000010000 (left):
  Lid  Out   Destination
       Port     Info
0x0001 000 : (Switch portguid 0x0000000000010000: 'left')
0x0004 001 : (Channel Adapter portguid 0x0000000000200001: 'host a')
0x0005 002 : (Channel Adapter portguid 0x0000000000200003: 'host b')
0x0006 003 : (Channel Adapter portguid 0x0000000000200005: 'host c')
4 valid lids dumped
Unicast lids [0x0-0x6] of switch DR path slid 0; dlid 0; 0,2 guid 0x0000000000010001 (right):
  Lid  Out   Destination
       Port     Info
0x0004 003 : (Channel Adapter portguid 0x0000000000200001: 'host a')
0x0005 001 : (Channel Adapter portguid 0x0000000000200003: 'host b')
0x0006 002 : (Channel Adapter portguid 0x0000000000200005: 'host c')
3 valid lids dumped
Unicast lids [0x0-0x6] of switch Lid 3 guid 0x0000000000010002 (top):
  Lid  Out   Destination
       Port     Info
0x0004 002 : (Channel Adapter portguid 0x0000000000200001: 'host a')
0x0005 003 : (Channel Adapter portguid 0x0000000000200003: 'host b')
0x0006 001 : (Channel Adapter portguid 0x0000000000200005: 'host c')
3 valid lids dumped
"""
FDBS = """dump_ucast_routes: Switch 0x0000000000010000
LID    : Port : Hops : Optimal
0x0001 : 000  : 00   : yes
0x0002 : UNREACHABLE
0x0003 : UNREACHABLE
0x0004 : 001  : 01   : yes
0x0005 : 002  : 02   : yes
0x0006 : 003  : 02   : yes
dump_ucast_routes: Switch 0x0000000000010001
LID    : Port : Hops : Optimal
0x0001 : 003  : 01   : yes
0x0002 : 000  : 00   : yes
0x0003 : UNREACHABLE
0x0004 : 003  : 02   : yes
0x0005 : 001  : 01   : yes
0x0006 : 002  : 02   : yes
dump_ucast_routes: Switch 0x0000000000010002
LID    : Port : Hops : Optimal
0x0001 : 002  : 01   : yes
0x0002 : 003  : 01   : yes
0x0003 : 000  : 00   : yes
0x0004 : 002  : 02   : yes
0x0005 : 003  : 02   : yes
0x0006 : 001  : 01   : yes
"""


@pytest.mark.parametrize("text", [DUMP, IBROUTE, FDBS], ids=["opensm-lfts.dump", "ibroute", "opensm.fdbs"])
def test_dumps_of_a_subnet_manager(text: str, tmp_path: Path) -> None:
    graph = ring_of_three(tmp_path)
    (tmp_path / "dump").write_text(text)
    table = ForwardingTable.load(tmp_path / "dump", graph)
    order = [graph.switch_names.index(name) for name in ("left", "right", "top")]
    np.testing.assert_array_equal(table.port[order], PORTS)
    assert table.quality().edge_forwarding_index == 1
    # The written dump gives the same table.
    table.save_dump(tmp_path / "again")
    written = (tmp_path / "again").read_text()
    assert all(line in written for line in DUMP.splitlines() if "Channel Adapter" in line)


def test_a_list_with_its_service_levels(tmp_path: Path) -> None:
    graph = ring_of_three(tmp_path)
    rows = [
        f"{s},{h},{PORTS[i][k]}"
        for i, s in enumerate(("left", "right", "top"))
        for k, h in enumerate(("host a", "host b", "host c"))
    ]
    listed = tmp_path / "mine.lft.csv"
    listed.write_text("\n".join(["switch,host,port", *rows]) + "\n")
    table = ForwardingTable.load(listed, graph)
    order = [graph.switch_names.index(name) for name in ("left", "right", "top")]
    np.testing.assert_array_equal(table.port[order], PORTS)
    assert table.layers == 1
    (tmp_path / "mine.sl.csv").write_text(
        "host,service_level_per_destination_host\nhost a,-37\nhost b,7-3\nhost c,33-\n"
    )
    table = ForwardingTable.load(listed, graph)
    assert (table.engine, table.layers) == ("mine", 2)
    np.testing.assert_array_equal(table.service_levels[~np.eye(3, dtype=bool)], [0, 1, 1, 0, 0, 0])
    table.save_service_levels(tmp_path / "again.sl.csv")
    assert (tmp_path / "again.sl.csv").read_text().splitlines()[1:] == ["host a,-01", "host b,1-0", "host c,00-"]
    (tmp_path / "mine.sl.csv").write_text("host,service_level_per_destination_host\nhost a,-37\n")
    with pytest.raises(ConfigError, match=r"cut short: .* 2 of 3"):
        ForwardingTable.load(listed, graph)
    (tmp_path / "mine.sl.csv").unlink()
    for text, words in (
        ("\n".join(["switch,host,port", *rows[:-1]]), "top has no line for 1 of 3 hosts: host c"),
        ("\n".join(["switch,host,port", *rows, "top,host z,1"]), "no host host z"),
    ):
        listed.write_text(text)
        with pytest.raises(ConfigError, match=words):
            ForwardingTable.load(listed, graph)


def test_a_table_from_a_file_runs(hyperx: ForwardingTable, tmp_path: Path) -> None:
    hyperx.save_dump(tmp_path / "lfts.dump")
    sections = {"topology": HYPERX, "traffic": {"name": "uniform", "load": 0.2}, "seed": 3}
    runs = [
        Simulation({**sections, "routing": {"name": "table", "allow_cycles": True, **how}})
        for how in ({"file": str(tmp_path / "lfts.dump")}, {"engine": "min_hop"}, {"table": hyperx})
    ]
    hashes = set()
    for simulation in runs:
        simulation.run(2000)
        hashes.add(simulation.state_hash())
    assert len(hashes) == 1


def test_flows_of_a_file(tmp_path: Path) -> None:
    graph = ring_of_three(tmp_path)
    path = tmp_path / "flows.csv"
    path.write_text("source,destination,weight\nhost a,host b,2\n0,2,0.5\n")
    source, destination, weight = read_flows(path, graph)
    names = graph.terminal_names
    assert [names[t] for t in source] == ["host a", names[0]]
    assert [names[t] for t in destination] == ["host b", names[2]]
    assert weight.tolist() == [2, 0.5]
    for text, words in (
        ("0,1\n", "header"),
        ("source,destination,source\n0,1,2\n", "a column appears twice: source,destination,source"),
        ("source,destination\nhost a,host x\n", "line 2.*no terminal 'host x'"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=words):
            read_flows(path, graph)
