"""The nodes of a Chakra trace file: protobuf messages, or one of the two JSON forms of the Chakra tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from ..._core import ConfigError
from ..._files import read_unpacked
from ._chakra_files import is_json
from ._chakra_schema import COLLECTIVES, NODE_TYPES, messages

_NS_PER_US = 1000
# The keys of the JSON that Chakra's feeder reads (src/feeder/json_node.cpp), and their names in the schema.
_FEEDER_KEYS = {"Id": "id", "Name": "name", "NodeType": "type", "ctrlDeps": "ctrl_deps", "runtime": "duration_micros"}


@dataclass(slots=True)
class Node:
    """A node. `attributes` has the values of the attributes by name, and `at` is its position in the file."""

    id: int
    name: str
    type: str
    data_deps: list[int]
    ctrl_deps: list[int]
    duration_ns: int
    values: str = ""  # IOInfo.values of the inputs, only of METADATA_NODE
    attributes: dict[str, Any] = field(default_factory=dict)
    at: int = 0

    def text(self) -> str:
        """Return the node's number and name for messages."""
        return f"node {self.id} '{self.name[:80]}'"

    def number(self, name: str) -> int | None:
        """Return an attribute as an integer, or None."""
        value = self.attributes.get(name)
        try:
            return None if value is None else int(value)
        except (TypeError, ValueError):
            raise ConfigError(f"the attribute {name} is {str(value)[:40]!r}, not an integer") from None


# Attributes that the reader uses. Others take memory only.
_KNOWN = {
    *("is_cpu_op", "comm_type", "comm_size", "tensor_size", "comm_src", "comm_dst", "comm_tag", "pg_name"),
    *("involved_dim", "root", "root_rank", "comm_root"),
}


def read_nodes(path: Path) -> tuple[str, list[Node]]:
    """Read a file.

    Returns:
        The version of the schema, or "", and the nodes.
    """
    data = read_unpacked(path)
    try:
        version, nodes = (_from_json if is_json(data[:4096]) else _from_protobuf)(data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    for at, node in enumerate(nodes):
        node.at = at
    return version, nodes


def _from_protobuf(data: bytes) -> tuple[str, list[Node]]:
    metadata_class, node_class = messages()
    file = BytesIO(data)
    metadata = _next(metadata_class, file)
    if metadata is None:
        raise ConfigError("the file is empty; a Chakra trace begins with GlobalMetadata")
    return str(metadata.version), [_from_message(m) for m in iter(lambda: _next(node_class, file), None)]


def _next(kind: Any, file: BytesIO) -> Any:
    """The next message, which follows its length as a varint; None at the end of the file."""
    from google.protobuf.message import DecodeError
    from google.protobuf.proto import parse_length_prefixed

    begin = file.tell()
    try:
        return parse_length_prefixed(kind, file)
    except (DecodeError, ValueError) as error:
        what = kind.DESCRIPTOR.name
        raise ConfigError(
            f"byte {begin}: no {what} of Chakra begins here, or the file is truncated: {error}"
        ) from error


def _from_message(message: Any) -> Node:
    number = message.type
    values = {a.name: getattr(a, kind) for a in message.attr if a.name in _KNOWN and (kind := a.WhichOneof("value"))}
    return Node(
        id=message.id,
        name=message.name,
        type=NODE_TYPES[number] if 0 <= number < len(NODE_TYPES) else f"type {number}",
        data_deps=list(message.data_deps),
        ctrl_deps=list(message.ctrl_deps),
        duration_ns=message.duration_micros * _NS_PER_US,
        values=message.inputs.values if number == NODE_TYPES.index("METADATA_NODE") else "",
        attributes={name: list(v.values) if hasattr(v, "values") else v for name, v in values.items()},
    )


def _from_json(data: bytes) -> tuple[str, list[Node]]:
    values = list(_json_values(data.decode("utf-8", "replace")))
    graph = values[0]
    if "workload_graph" in graph:
        return str(graph.get("schema", "")), [_from_feeder(v, k) for k, v in enumerate(graph["workload_graph"])]
    if "nodes" in graph:
        raise ConfigError(
            "this is a trace of PyTorch before its conversion, without the times and dependencies of a Chakra trace; "
            "convert it with chakra_trace_link and chakra_converter"
        )
    return str(graph.get("version", "")), [_from_jsonizer(value, k) for k, value in enumerate(values[1:])]


def _json_values(text: str) -> Iterator[Any]:
    """The JSON objects of a text, one after another, as chakra_jsonizer writes them."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError as error:
            line = text.count("\n", 0, at) + 1
            raise ConfigError(f"line {line}: the JSON value that begins here is not complete: {error}") from error
        yield value


def _from_jsonizer(value: Any, k: int) -> Node:
    from google.protobuf.json_format import ParseDict, ParseError

    try:
        return _from_message(ParseDict(value, messages()[1](), ignore_unknown_fields=True))
    except ParseError as error:
        raise ConfigError(f"node[{k}]: {error}") from error


def _from_feeder(value: Any, k: int) -> Node:
    try:
        given = {_FEEDER_KEYS.get(key, key): each for key, each in value.items()}
        return Node(
            id=int(given.get("id", 0)),
            name=str(given.get("name", "")),
            type=NODE_TYPES[given.get("type", 0)],
            data_deps=[int(each) for each in given.get("data_deps", [])],
            ctrl_deps=[int(each) for each in given.get("ctrl_deps", [])],
            duration_ns=int(given.get("duration_micros", 0)) * _NS_PER_US,
            attributes={key: each for key, each in given.items() if key in _KNOWN and each is not None},
        )
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise ConfigError(f"workload_graph[{k}]: not a node of Chakra's feeder: {error}") from error


def collective_of(node: Node) -> str | None:
    """Name of a collective in the schema: the attribute `comm_type`, or a word in the name. None: neither says it."""
    kind = node.attributes.get("comm_type")
    if isinstance(kind, str) and kind.upper() in COLLECTIVES:
        return kind.upper()
    number = node.number("comm_type")
    if number is not None:
        if not 0 <= number < len(COLLECTIVES):
            raise ConfigError(f"comm_type {number} does not exist; valid are 0 (ALL_REDUCE) to 9 (BARRIER)")
        return list(COLLECTIVES)[number]
    plain = node.name.lower().replace("_", "")
    for name in sorted(COLLECTIVES, key=len, reverse=True):
        if name.lower().replace("_", "") in plain:
            return name
    return None
