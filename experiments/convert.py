"""`flitgym convert`: writes a graph of another tool as the edge list that `topology=graph` reads; checks a machine.

flitgym convert net.graphml hosts='node*'
flitgym draw topology=graph topology.file=net.csv
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from ..configs import compose, refuse_unknown
from ..configs.machine import LEVELS, expanded, read_machine
from ..configs.quantities import in_number
from ..simcore import ChannelGraph, ConfigError
from ..simcore._files import read_plain
from .terminal.commandline import CommandError, main_of, parse, some
from .terminal.tables import write_csv

NAME = "flitgym convert"
_COLUMNS = ("a_port", "b_port", "latency_ns", "bandwidth_gb_per_s", "kind", "links")
_USAGE = f"""\
usage: {NAME} <file> [out=<file.csv>] [hosts=<names>] [<column>=<attribute>[*<number>] ...]

Write a graph as the edge list that topology=graph topology.file=<file.csv> reads, and list the unused attributes.
The name of the file gives its format: .graphml, .gml, .json (networkx' node-link data), .dot, .csv or .tsv (a line that
names the columns; the first two are the nodes), or any other name (two nodes per line, and optionally their data).

  out     default: the name of the file with .csv
  hosts   patterns of the hosts' names with commas between, such as 'node*,gpu*'; default: nodes with type=host
  column  {", ".join(_COLUMNS)}: the attribute of cables with its value,
          as in bandwidth_gb_per_s=LinkSpeedRaw/8e9; default: the attribute of the same name

A host with several cables becomes a terminal per cable: NAME:1, NAME:2 and so on.

       {NAME} <machine.yaml>

Check the values of a machine against each other, and print the keys that machine=<machine.yaml> sets in other commands.
"""


def convert(file: Path, given: Mapping[str, str]) -> list[str]:
    """Write the edge list of a graph. Returns sentences about its size and about the parts that were not used.

    `given` are the keys of the command line.

    Raises:
        ConfigError: the graph cannot be read or built. The message names the file and the part.
        CommandError: networkx is missing.
        OSError: the file cannot be read or written.
    """
    graph = _read(file)
    labels = {node: str(data.get("label", data.get("name", node))) for node, data in graph.nodes(data=True)}
    distinct = len(set(labels.values())) == len(labels)
    names = {node: " ".join((label if distinct else str(node)).split()) for node, label in labels.items()}
    hosts = {node for node, kind in graph.nodes(data="type") if str(kind).lower() == "host"}
    if "hosts" in given:
        patterns = given["hosts"].split(",")
        hosts = {node for node, name in names.items() if any(fnmatchcase(name, one) for one in patterns)}
        if not hosts:
            raise ConfigError(f"hosts={given['hosts']}: no node has such a name; nodes: {some(list(names.values()))}")
    notes: list[str] = []
    edges = _cables(graph, notes)
    for a, b, data in edges:
        if ports := data.pop("ports", None):
            data |= {"a_port": ports[a], "b_port": ports[b]}
    ends = Counter(node for a, b, _ in edges for node in (a, b))
    if alone := [names[node] for node in graph if not ends[node]]:
        notes.append(f"left out: nodes without a cable: {some(alone)}")
    found = dict.fromkeys(key for _, _, data in edges for key in data)
    sources = {column: _source(column, given[column], found) for column in _COLUMNS if column in given}
    sources = {column: (column, 1.0) for column in _COLUMNS if column in found} | sources
    number = Counter[Any]()
    rows = []
    for a, b, data in edges:
        row: dict[str, Any] = {}
        for end, node in (("a", a), ("b", b)):
            number[node] += 1
            row[end] = f"{names[node]}:{number[node]}" if node in hosts and ends[node] > 1 else names[node]
            row[f"{end}_type"] = "host" if node in hosts else "switch"
        for column, (key, factor) in sources.items():
            row[column] = _value(f"{file}: {names[a]}, {names[b]}: {key}", column, data.get(key, ""), factor)
        rows.append(row)
    if several := [node for node in hosts if ends[node] > 1]:
        notes.append(f"{len(several)} hosts with several cables are {sum(ends[node] for node in several)} terminals")
    for what, parts, used in (
        ("nodes", (data for _, data in graph.nodes(data=True)), {"type", "label", "name"}),
        ("cables", (data for _, _, data in edges), {key for key, _ in sources.values()}),
    ):
        left = {key: str(value)[:30] for data in parts for key, value in data.items() if key not in used}
        if left:
            attributes = some([f"{key} ({value})" for key, value in left.items()])
            notes.append(f"unused attributes of {what}: {attributes}")
    out = Path(given.get("out", file.with_suffix(".csv")))
    if out.suffix != ".csv" or out.resolve() == file.resolve():
        raise ConfigError(f"out={out}: write another name that ends in .csv")
    write_csv(out, rows, ["a", "b", "a_type", "b_type", *sources])
    per_router = 0 if hosts else 1
    built = ChannelGraph({"name": "graph", "file": str(out), "terminals_per_router": per_router})
    head = f"{out}: {built.switches} switches, {built.terminals * (not per_router)} terminals, {len(rows)} cables"
    further = f" topology.terminals_per_router={per_router}" if per_router else ""
    return [head, *notes, f"next: flitgym draw topology=graph topology.file={out}{further}"]


def _read(file: Path) -> Any:
    """The graph in a file, a MultiGraph or a MultiDiGraph of networkx."""
    content = read_plain(file)
    kind = file.suffix.lower()
    try:
        import networkx

        if kind in (".dot", ".gv"):
            import pydot  # noqa: F401
    except ImportError as error:
        raise CommandError(f"{error.name} is missing; install it by pip install 'flitgym[graphs]'") from None
    try:
        text = content.decode()
        if kind == ".graphml":
            graph = networkx.parse_graphml(text, force_multigraph=True)
        elif kind == ".gml":
            graph = networkx.parse_gml(text, label=None)
        elif kind == ".json":
            data = json.loads(text)
            graph = networkx.node_link_graph(data, edges="edges" if "edges" in data else "links")
        elif kind in (".dot", ".gv"):
            graph = _dot(text)
        else:
            graph = networkx.MultiGraph()
            graph.add_edges_from((_rows if kind in (".csv", ".tsv") else _words)(text.splitlines()))
    except Exception as error:  # the parsers of networkx raise errors of many types
        raise ConfigError(f"{file}: the graph cannot be read: {str(error) or type(error).__name__}") from error
    return networkx.MultiDiGraph(graph) if graph.is_directed() else networkx.MultiGraph(graph)


def _dot(text: str) -> Any:
    """The nodes and edges of GraphViz, also in subgraphs. Ports with other names than `3` or `p3` are left out."""
    import networkx
    import pydot

    with redirect_stdout(io.StringIO()) as said:  # the parser prints its errors
        parts: list[Any] = list(pydot.graph_from_dot_data(text) or [])
    if not parts:
        raise ConfigError(" ".join(said.getvalue().split()))
    graph = networkx.MultiDiGraph() if parts[0].get_type() == "digraph" else networkx.MultiGraph()
    for part in parts:  # which grows
        parts += part.get_subgraphs()
        for node in part.get_nodes():
            data = {key: str(value).strip('"') for key, value in node.get_attributes().items()}
            if node.get_name() not in ("node", "edge", "graph"):  # defaults
                graph.add_node(node.get_name().strip('"'), **data)
        for edge in part.get_edges():
            ends = edge.get_source(), edge.get_destination()
            if not all(isinstance(end, str) for end in ends):
                raise ConfigError("an edge to a whole subgraph; write an edge to each of its nodes")
            found = [re.match(r'("[^"]*"|[^:]*)(?::"?[pP]?(\d+)"?$)?', end).groups() for end in ends]  # type: ignore[union-attr]
            (a, a_port), (b, b_port) = [(name.strip('"'), port or "") for name, port in found]
            data = {key: str(value).strip('"') for key, value in edge.get_attributes().items()}
            graph.add_edge(a, b, **data, **({"ports": {a: a_port, b: b_port}} if a_port or b_port else {}))
    return graph


def _rows(lines: Sequence[str]) -> Iterable[tuple[str, str, dict[str, str]]]:
    mark = next(mark for mark in "\t;," if mark in lines[0] or mark == ",")
    for row in csv.DictReader(lines, delimiter=mark):
        (_, a), (_, b), *rest = row.items()
        yield a.strip(), b.strip(), dict(rest)


def _words(lines: Iterable[str]) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """Two nodes per line, then a dictionary as networkx writes it, or values named weight, column4 and so on."""
    for number, line in enumerate(lines, 1):
        words = line.split(None, 2)
        if not words or words[0][0] in "#%":
            continue
        if len(words) == 1:
            raise ConfigError(f"line {number}: one word; expected the names of two nodes with a blank between them")
        rest = "".join(words[2:])
        further = {"weight" if k == 3 else f"column{k}": word for k, word in enumerate(rest.split(), 3)}
        yield words[0], words[1], ast.literal_eval(rest) if rest.startswith("{") else further


def _cables(graph: Any, notes: list[str]) -> list[tuple[Any, Any, dict[str, Any]]]:
    """The edges between two nodes. An edge and an edge back are one cable."""
    edges = [(a, b, data) for a, b, data in graph.edges(data=True) if a != b]
    if loops := graph.number_of_edges() - len(edges):
        notes.append(f"left out: {loops} edges from a node to itself")
    if not graph.is_directed():
        return edges
    kept, single = [], Counter[Any]()
    for a, b, data in edges:
        back = single[b, a] > 0
        single[(b, a) if back else (a, b)] += -1 if back else 1
        kept += [] if back else [(a, b, data)]
    if both := len(edges) - len(kept):
        notes.append(f"{both} of {len(kept)} cables have an edge in each direction; the first edge gives their values")
    return kept


def _source(column: str, word: str, valid: Collection[str]) -> tuple[str, float]:
    """The attribute and the factor of `LinkSpeedRaw/8e9` or `weight*5`."""
    key, sign, number = re.fullmatch(r"(.+?)(?:([*/])([\d.]*[1-9][\d.]*(?:e[+-]?\d+)?))?", word).groups()  # type: ignore[union-attr]
    refuse_unknown(f"{column}={word}", [key], valid, "attribute")
    return key, float(number or 1) ** (-1 if sign == "/" else 1)


def _value(where: str, column: str, value: Any, factor: float) -> Any:
    """The value of a column. Numbers may have a unit, such as 100Gb/s."""
    if value == "" or column not in ("latency_ns", "bandwidth_gb_per_s"):
        return value
    try:
        return f"{float(in_number(column, str(value).replace(' ', ''))) * factor:.9g}"
    except ValueError:
        raise ConfigError(f"{where} is '{value}'; expected a number for {column}, or one with a unit") from None


def machine_text(file: Path) -> str:
    """The size of a machine, the buffer that fills a link of each level, and its overrides.

    Raises:
        ConfigError: the machine is wrong, cannot be built, needs more ports than a switch has, or names links that the
            network does not have.
        OSError: the file cannot be read.
    """
    machine = read_machine(file)
    topology: Any = OmegaConf.to_container(compose(machine.shape()).topology, resolve=True)
    graph = ChannelGraph(topology)
    arrays = graph.arrays()
    begins = [arrays["terminal_switch"], *(arrays["from"][arrays["kind"] == kind] for kind in (1, 2))]
    levels = {level: begin for level, begin in zip(LEVELS, begins, strict=True) if len(begin)}
    if machine.has_global and "global" not in levels:
        raise ConfigError(f"{file}: global: all links between switches of this network are local")
    links = {level: np.bincount(begin, minlength=graph.switches) for level, begin in levels.items()}
    needed = [-(-count // machine.links_per_port.get(level, 1)) for level, count in links.items()]
    ports = int(np.sum(needed, axis=0).max())
    if machine.ports and ports > machine.ports:
        raise ConfigError(f"{file}: switch.ports: a switch has {machine.ports}, but the network needs {ports}")
    lines = [f"{file}: {graph.switches} switches with up to {ports} ports, {graph.terminals} terminals"]
    for level in levels:
        rate, length, need = 8 * machine.bandwidth[level], machine.cables[level], machine.needed(level) / 1024
        lines.append(f"{level} links: {rate:g} Gb/s x round trip over {length:g} ns of cable = {need:.4g} KiB")
    verdict = [f"low: {text}" for text in machine.shortfalls()] or ["the buffer of one VC fills every link"]
    draw = f"next: flitgym draw {shlex.join(machine.shape())}"
    return "\n".join([*lines, *verdict, *expanded([f"machine={file}"]), draw])


def _command(words: Sequence[str]) -> str:
    files, given, _ = parse(words, ("out", "hosts", *_COLUMNS), ())
    if len(files) != 1:
        raise CommandError(f"the command takes one file, not {len(files)}; for example {NAME} net.graphml")
    return machine_text(files[0]) if files[0].suffix == ".yaml" else "\n".join(convert(files[0], given))


main = main_of(NAME, _USAGE, _command)
