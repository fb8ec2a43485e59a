"""A network with one switch: no link joins switches, and all packets pass through this switch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.simcore import ChannelGraph, ConfigError, ForwardingTable, Simulation

# Four terminals at one switch. The order of the lines determines the ports.
CABLES = "a,b,a_type,b_type\n" + "".join(f"s0,h{k},switch,host\n" for k in range(4))


@pytest.fixture
def topology(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "one.csv").write_text(CABLES)
    return {"name": "graph", "file": str(tmp_path / "one.csv")}


@pytest.mark.parametrize("routing", ["minimal", "valiant", "ugal", "table"])
def test_it_runs_with_one_vc(topology: dict[str, Any], routing: str) -> None:
    network = {"topology": topology, "routing": routing, "traffic": {"name": "uniform", "load": 0.6}}
    runs = [Simulation({**network, "router": {"name": "vc_router", "vcs": vcs}}) for vcs in (0, 1)]
    for run in runs:
        run.begin_window()
        run.run(3000)
        run.check_conservation()
        assert run.drain(3000)
    assert [run.facts()["vcs"] for run in runs] == [1, 1]
    assert runs[0].state_hash() == runs[1].state_hash()
    found = runs[0].statistics()
    assert found["packets_delivered"] > 1000
    assert found["hops_mean"] == 0


def test_two_vcs_for_injection_are_too_many(topology: dict[str, Any]) -> None:
    router = {"name": "vc_router", "injection_vcs": 2}
    with pytest.raises(ConfigError, match=r"router\.injection_vcs: 2.* 1 VC"):
        Simulation({"topology": topology, "router": router, "routing": "minimal", "traffic": "uniform"})


def test_its_table_has_the_ports_of_its_terminals(topology: dict[str, Any]) -> None:
    graph = ChannelGraph(topology)
    table = ForwardingTable.route(graph, "dfsssp")
    np.testing.assert_array_equal(table.port, [[0, 1, 2, 3]])
    assert table.layers == 1
