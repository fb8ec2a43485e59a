"""`flitgym convert`: each format gives the network of the graph, and unread parts are named."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import pytest
from conftest import Command
from flitgym.experiments.convert import convert
from flitgym.simcore import ChannelGraph

WRITERS: dict[str, Callable[[Any, Path], object]] = {
    "net.graphml": networkx.write_graphml,
    "net.gml": networkx.write_gml,
    "net.json": lambda graph, path: path.write_text(json.dumps(networkx.node_link_data(graph, edges="edges"))),
    "old.json": lambda graph, path: path.write_text(json.dumps(networkx.node_link_data(graph, edges="links"))),
    "net.edges": lambda graph, path: networkx.write_edgelist(graph, path),
    # Of Cumulus and NVIDIA Air: ports have names, and a cable of a switch may return to it.
    "net.dot": lambda graph, path: path.write_text(
        'graph vx {\n "leaf0" [function=leaf];\n "leaf0":"swp1" -- "leaf0":"swp2"\n subgraph cluster {\n'
        + "".join(
            f'"{a}":"eth1" -- "{b}":"swp{k}" [bw="{d["bw"]}"]\n' for k, (a, b, d) in enumerate(graph.edges(data=True))
        )
        + "} }"
    ),
    "net.csv": lambda graph, path: path.write_text(
        "Source;Target;bw\n" + "".join(f"{a};{b};{data['bw']}\n" for a, b, data in graph.edges(data=True))
    ),
}


def neighbours(file: Path, **keys: Any) -> Counter[tuple[str, str]]:
    """The number of cables between every two switches, and between terminals and switches, by their names."""
    graph = ChannelGraph({"name": "graph", "file": str(file), **keys})
    arrays, names = graph.arrays(), graph.switch_names
    found = Counter((names[a], names[b]) for a, b in zip(arrays["from"], arrays["to"], strict=True))
    found.update(zip(graph.terminal_names, (names[s] for s in arrays["terminal_switch"]), strict=True))
    return found


def leaf_spine() -> Any:
    """Two leaves, two spines, and three hosts; host h0 has a cable to each leaf."""
    graph = networkx.Graph()
    for leaf in ("leaf0", "leaf1"):
        for spine in ("spine0", "spine1"):
            graph.add_edge(leaf, spine, bw="200 Gb/s")
    for host, leaf in (("h0", "leaf0"), ("h0", "leaf1"), ("h1", "leaf0"), ("h2", "leaf1")):
        graph.add_edge(host, leaf, bw="100 Gb/s")
    return graph


EXPECTED = Counter({(f"leaf{k}", f"spine{j}"): 1 for k in (0, 1) for j in (0, 1)})
EXPECTED.update({(b, a): 1 for a, b in EXPECTED})
EXPECTED.update({("h0:1", "leaf0"): 1, ("h0:2", "leaf1"): 1, ("h1", "leaf0"): 1, ("h2", "leaf1"): 1})


@pytest.mark.parametrize("name", WRITERS)
def test_each_format_gives_the_cables_of_the_graph(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pydot" if name == "net.dot" else "networkx")
    WRITERS[name](leaf_spine(), tmp_path / name)
    out = tmp_path / "out.csv"
    notes = convert(tmp_path / name, {"hosts": "h[0-9]", "bandwidth_gb_per_s": "bw", "out": str(out)})
    assert neighbours(out) == EXPECTED
    assert notes[0].endswith("4 switches, 4 terminals, 8 cables")
    assert notes[2 if name == "net.dot" else 1] == "1 hosts with several cables are 2 terminals"
    rates = {(row["a_type"] == row["b_type"], float(row["bandwidth_gb_per_s"])) for row in csv.DictReader(out.open())}
    assert rates == {(True, 25.0), (False, 12.5)}  # GB/s


def test_directions_loops_and_unread_parts_are_named(tmp_path: Path) -> None:
    graph = networkx.MultiDiGraph([("a", "b"), ("b", "a"), ("b", "a"), ("b", "c"), ("c", "c")])
    graph.add_node("d", height=3)
    networkx.set_edge_attributes(graph, "OC-192", "label")
    networkx.write_graphml(graph, tmp_path / "net.graphml")
    out, notes = tmp_path / "net.csv", convert(tmp_path / "net.graphml", {})
    assert neighbours(out, terminals_per_router=1)["a", "b"] == 2
    assert "left out: 1 edges from a node to itself" in notes
    assert any(note.startswith("1 of 3 cables have an edge in each direction") for note in notes)
    assert "left out: nodes without a cable: d" in notes
    assert "unused attributes of nodes: height (3)" in notes
    assert "unused attributes of cables: label (OC-192)" in notes


def test_ports_of_graphviz(tmp_path: Path) -> None:
    pytest.importorskip("pydot")
    cables = "s1:2 -> s0:2; s1:3 -> s0:p3; h0:0 -> s0:0; s0:2 -> s1:2; s0:3 -> s1:3; s0:0 -> h0:0"
    (tmp_path / "net.dot").write_text(f"digraph {{ s0; h0 [type=host]; {cables} }}")
    convert(tmp_path / "net.dot", {})
    rows = [tuple(row.values()) for row in csv.DictReader((tmp_path / "net.csv").open())]
    assert sorted(rows) == [
        ("s0", "h0", "switch", "host", "0", "0"),
        ("s0", "s1", "switch", "switch", "2", "2"),
        ("s0", "s1", "switch", "switch", "3", "3"),
    ]


def test_weights_of_an_edge_list_become_a_quantity(tmp_path: Path) -> None:
    file = tmp_path / "net.edges"
    file.write_text("# a comment\n0 1 3\n1 2 4.5\n")
    assert "unused attributes of cables: weight (4.5)" in convert(file, {})
    convert(file, {"latency_ns": "weight*5"})
    assert [row["latency_ns"] for row in csv.DictReader((tmp_path / "net.csv").open())] == ["15", "22.5"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["latency_ns=wait"], "latency_ns=wait: unknown attribute 'wait'; did you mean 'weight'?"),
        (["latency_ns=weight*x"], "latency_ns=weight*x: unknown attribute"),
        (["hosts=gpu*"], "no node has such a name; nodes: 0, 1, 2"),
        (["out=net.txt"], "out=net.txt: write another name that ends in .csv"),
    ],
)
def test_errors_name_the_key(tmp_path: Path, command: Command, words: list[str], message: str) -> None:
    (tmp_path / "net.edges").write_text("0 1 3\n1 2 4.5\n")
    done = command("convert", "net.edges", *words)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize("name", ["net.graphml", "net.gml", "net.json", "net.edges"])
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, name: str, command: Command) -> None:
    (tmp_path / name).write_text("{")
    done = command("convert", name)
    assert done.returncode == 2
    assert name in done.stderr
