"""`flitgym convert`: writes a graph of another tool as the edge list that `topology=graph` reads; checks a machine.

flitgym convert net.graphml hosts='node*'
flitgym draw topology=graph topology.file=net.csv
"""

from __future__ import annotations

import ast
import csv
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from omegaconf import OmegaConf

from ..configs import compose, unknown
from ..configs.machine import LEVELS, expanded, read_machine
from ..configs.quantities import in_number
from ..simcore import ChannelGraph, ConfigError
from ..simcore._files import read_plain
from .terminal.commandline import CommandError, main_of
from .terminal.tables import console, terminal_table, write_csv
from .terminal.words import parse

if TYPE_CHECKING:
    from networkx import MultiGraph

NAME = "flitgym convert"
_OF_CABLE = ("a_port", "b_port", "latency_ns", "bandwidth_gb_per_s", "kind", "links")
_NUMBERS = ("latency_ns", "bandwidth_gb_per_s")
_MOST_LISTED = 8  # attributes that are named
_USAGE = f"""\
usage: {NAME} <file> [out=<file.csv>] [hosts=<names>] [type=<attribute>] [<column>=<attribute>[*<number>] ...]

Write a graph as the edge list that topology=graph topology.file=<file.csv> reads, and list the unused attributes.
The name of the file gives its format: .graphml, .gml, .json (networkx' node-link data), .csv or .tsv (a line that names
the columns; the first two columns are the nodes), or any other name (two nodes per line, and optionally their data).

  out     default: the name of the file with .csv
  hosts   patterns of the hosts' names with commas between, such as 'node*,gpu*'; other nodes are switches
  type    the attribute of nodes that is 'host' or 'switch'; default: type
  column  {", ".join(_OF_CABLE)}: the attribute of cables with its value,
          as in bandwidth_gb_per_s=LinkSpeedRaw/8e9; by default the attribute of the same name

A host with several cables becomes a terminal per cable: NAME:1, NAME:2 and so on.

       {NAME} <machine.yaml>

Check the values of a machine against each other, and print the keys that machine=<machine.yaml> sets in other commands.
"""
_WIDTH = 120  # columns of tables that do not go to a terminal


def convert(file: Path, given: Mapping[str, str]) -> tuple[Path, list[str]]:
    """Write the edge list of a graph. Returns its path, and sentences about the parts of the file.

    `given` are the keys of the command line.

    Raises:
        ConfigError: the graph cannot be read or built. The message names the file and the part.
        CommandError: networkx is missing.
        OSError: the file cannot be read or written.
    """
    graph = _read(file)
    names = _names(graph)
    notes: list[str] = []
    patterns = given["hosts"].split(",") if "hosts" in given else []
    kinds = {node: _type(file, graph, node, names[node], given, patterns) for node in graph}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names.values()):
            some = _listed(list(names.values()))
            raise ConfigError(f"hosts={given['hosts']}: no node of {file} has such a name: '{pattern}'; nodes: {some}")
    edges = _undirected(graph, notes)
    ends = Counter(node for a, b, _ in edges for node in (a, b))
    if alone := [names[node] for node in graph if not ends[node]]:
        notes.append(f"left out: nodes without a cable: {_listed(alone)}")
    sources = {column: _source(column, given.get(column, column)) for column in _OF_CABLE}
    for column, (attribute, _) in sources.items():
        if column in given and not any(attribute in data for _, _, data in edges):
            found = dict.fromkeys(key for _, _, data in edges for key in data)
            raise ConfigError(unknown(f"{column}={given[column]}", attribute, found, "attribute"))
    count: Counter[Any] = Counter()
    rows = []
    for a, b, data in edges:
        row: dict[str, Any] = {"a": names[a], "b": names[b], "a_type": kinds[a], "b_type": kinds[b]}
        for node, end in ((a, "a"), (b, "b")):
            if kinds[node] == "host" and ends[node] > 1:
                count[node] += 1
                row[end] = f"{names[node]}:{count[node]}"
        for column, (attribute, factor) in sources.items():
            if data.get(attribute) not in (None, ""):
                row[column] = _value(f"{file}: {names[a]}, {names[b]}: {attribute}", column, data[attribute], factor)
        rows.append(row)
    if count:
        notes.append(f"hosts with several cables: {len(count)}, which are {sum(count.values())} terminals NAME:1, ...")
    notes += _unused("nodes", (graph.nodes[node] for node in graph), {given.get("type", "type"), "label", "name"})
    notes += _unused("cables", (data for _, _, data in edges), {attribute for attribute, _ in sources.values()})
    if not rows:
        raise ConfigError(f"{file}: the graph has no cable")
    out = Path(given.get("out", file.with_suffix(".csv")))
    if out.suffix != ".csv" or out.resolve() == file.resolve():
        raise ConfigError(f"out={out}: write another name that ends in .csv")
    columns = [key for key in ("a", "b", "a_type", "b_type", *_OF_CABLE) if any(key in row for row in rows)]
    write_csv(out, rows, columns)
    hosts = any(kind == "host" for node, kind in kinds.items() if ends[node])
    built = ChannelGraph({"name": "graph", "file": str(out), "terminals_per_router": 0 if hosts else 1})
    head = f"{out}: {built.switches} switches, {built.terminals if hosts else 0} terminals, {len(rows)} cables"
    again = "" if hosts else " topology.terminals_per_router=1"
    return out, [head, *notes, f"next: flitgym draw topology=graph topology.file={out}{again}"]


def _read(file: Path) -> MultiGraph[Any]:
    text = read_plain(file)
    try:
        import networkx
    except ImportError:
        raise CommandError("networkx is missing; install it by pip install 'flitgym[graphs]'") from None
    kind = file.suffix.lower()
    try:
        if kind in (".graphml", ".xml"):
            graph = networkx.parse_graphml(text.decode(), force_multigraph=True)
        elif kind == ".gml":
            graph = networkx.parse_gml(text.decode(), label=None)
        elif kind == ".json":
            content = json.loads(text)
            edges = "edges" if "edges" in content else "links"
            graph = networkx.node_link_graph(content, edges=edges)
        else:
            graph = networkx.MultiGraph()
            lines = text.decode().splitlines()
            pairs = _columns(lines, kind) if kind in (".csv", ".tsv") else _words(file, lines)
            graph.add_edges_from(pairs)
    except ConfigError:
        raise
    except Exception as error:  # the parsers of networkx raise errors of many types
        raise ConfigError(f"{file}: the graph cannot be read: {str(error) or type(error).__name__}") from error
    return networkx.MultiDiGraph(graph) if graph.is_directed() else networkx.MultiGraph(graph)


def _columns(lines: Sequence[str], kind: str) -> Iterable[tuple[str, str, dict[str, str]]]:
    sample = lines[0] if lines else ""
    mark = "\t" if kind == ".tsv" else ";" if ";" in sample else ","
    for row in csv.DictReader(lines, delimiter=mark, restkey="further"):
        (_, a), (_, b), *rest = ((key, value or "") for key, value in row.items())
        yield a.strip(), b.strip(), dict(rest)


def _words(file: Path, lines: Iterable[str]) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """Two nodes per line, then a dictionary as networkx writes it, or values named weight, column4 and so on."""
    for number, line in enumerate(lines, 1):
        words = line.split(None, 2)
        if not words or words[0][0] in "#%":
            continue
        if len(words) == 1:
            raise ConfigError(f"{file}:{number}: one word; expected the names of two nodes with a blank between them")
        rest = words[2] if len(words) == 3 else ""
        if rest.startswith("{"):
            data = ast.literal_eval(rest)
        else:
            data = {"weight" if k == 3 else f"column{k}": word for k, word in enumerate(rest.split(), 3)}
        yield words[0], words[1], data


def _names(graph: MultiGraph[Any]) -> dict[Any, str]:
    """The attributes `label` or `name` of all nodes if they are distinct, otherwise their identifiers."""
    labels = {
        node: " ".join(str(data.get("label", data.get("name", node))).split()) for node, data in graph.nodes(data=True)
    }
    return labels if len(set(labels.values())) == len(labels) else {node: " ".join(str(node).split()) for node in graph}


def _type(
    file: Path, graph: MultiGraph[Any], node: Any, name: str, given: Mapping[str, str], patterns: Sequence[str]
) -> str:
    if patterns:
        return "host" if any(fnmatchcase(name, pattern) for pattern in patterns) else "switch"
    key = given.get("type", "type")
    value = str(graph.nodes[node].get(key, "not given")).lower()
    if value not in ("host", "switch") and "type" in given:
        raise ConfigError(f"{file}: {key} of node {name} is {value}, not host or switch; name the hosts by hosts=...")
    return "host" if value == "host" else "switch"


def _undirected(graph: MultiGraph[Any], notes: list[str]) -> list[tuple[Any, Any, dict[str, Any]]]:
    """The cables of a graph without those from a node to itself. An edge and an edge back are one cable."""
    edges = [(a, b, data) for a, b, data in graph.edges(data=True) if a != b]
    if loops := graph.number_of_edges() - len(edges):
        notes.append(f"left out: {loops} edges from a node to itself")
    if not graph.is_directed():
        return edges
    kept, open_ends = [], Counter[Any]()
    for a, b, data in edges:
        if open_ends[b, a]:
            open_ends[b, a] -= 1
        else:
            open_ends[a, b] += 1
            kept.append((a, b, data))
    if both := len(edges) - len(kept):
        notes.append(f"{both} of {len(kept)} cables have an edge in each direction; the first edge gives their values")
    return kept


def _source(column: str, word: str) -> tuple[str, float]:
    """The attribute and the factor of `LinkSpeedRaw/8e9` or `weight*5`."""
    found = re.fullmatch(r"(.+?)(?:([*/])(\d[\d.eE+-]*))?", word)
    try:
        attribute, sign, number = found.groups() if found else (word, None, None)
        return attribute, 1.0 if sign is None else float(number) if sign == "*" else 1 / float(number)
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"{column}={word}: expected an attribute and a factor, as in LinkSpeedRaw/8e9") from None


def _value(where: str, column: str, value: Any, factor: float) -> Any:
    """The value of a column. Numbers may have a unit, such as 100Gb/s."""
    if column not in _NUMBERS:
        return value
    try:
        return f"{float(in_number(column, str(value).replace(' ', ''))) * factor:.9g}"
    except ValueError:
        raise ConfigError(f"{where} is '{value}'; expected a number for {column}, or one with a unit") from None


def _unused(what: str, parts: Iterable[Mapping[str, Any]], used: set[str]) -> list[str]:
    found: dict[str, Any] = {}
    for data in parts:
        for key, value in data.items():
            found.setdefault(str(key), value)
    left = [f"{key} ({str(value)[:30]})" for key, value in found.items() if key not in used]
    return [f"unused attributes of {what}: {_listed(left)}"] if left else []


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST_LISTED} more" if len(words) > _MOST_LISTED else ""
    return ", ".join(words[:_MOST_LISTED]) + more


def machine_text(file: Path) -> str:
    """The checks of a machine: its switches, and for each level the buffer that fills a link. Then its overrides.

    Raises:
        ConfigError: the machine is wrong, cannot be built, or needs more ports than a switch has.
        OSError: the file cannot be read.
    """
    machine = read_machine(file)
    shape = compose(machine.shape())
    graph = ChannelGraph(OmegaConf.to_container(shape.topology, resolve=True))  # type: ignore[arg-type]
    arrays = graph.arrays()
    ends = np.bincount(arrays["from"], minlength=graph.switches)
    ports = int(max(ends + np.bincount(arrays["terminal_switch"], minlength=graph.switches)))
    if machine.ports and ports > machine.ports:
        raise ConfigError(f"{file}: switch.ports: a switch has {machine.ports}, but the network needs {ports}")
    table = terminal_table(
        ("links", "Gb/s", "cable, ns", "bandwidth x round trip, KiB", "buffer of a VC, KiB")
    )
    for level in LEVELS:
        numbers = (
            8 * machine.bandwidth[level],
            machine.cables[level],
            machine.needed(level) / 1024,
            machine.buffer / 1024,
        )
        table.add_row(level, *(f"{number:.4g}" for number in numbers))
    shown = console(_WIDTH)
    with shown.capture() as capture:
        shown.print(table)
    sizes = f"{graph.switches} switches with up to {ports} ports, {graph.terminals} terminals"
    verdict = [f"low: {text}" for text in machine.shortfalls()] or ["one VC fills every link"]
    draw = f"flitgym draw {shlex.join(machine.shape())}"
    return "\n".join([f"{file}: {sizes}", capture.get(), *verdict, *expanded([f"machine={file}"]), f"next: {draw}"])


def _command(words: Sequence[str]) -> str:
    files, given, _ = parse(words, ("out", "hosts", "type", *_OF_CABLE), ())
    if len(files) != 1:
        raise CommandError(f"the command takes one file, not {len(files)}; for example {NAME} net.graphml")
    if files[0].suffix in (".yaml", ".yml"):
        return machine_text(files[0])
    return "\n".join(convert(files[0], given)[1])


def main() -> None:
    """Entry point of the command."""
    main_of(NAME, _USAGE, _command)
