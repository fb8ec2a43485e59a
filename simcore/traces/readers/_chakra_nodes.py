"""The nodes of a Chakra trace file: protobuf messages, or one of the two JSON forms of the Chakra tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..._core import ConfigError, available_memory
from ..._files import read_unpacked
from ._chakra_files import is_json
from ._chakra_schema import COLLECTIVES, NODE_TYPES, messages

_NS_PER_US = 1000
_NODE_BYTES = 400  # of a node in memory, with its lists and attributes
# The keys of the JSON that Chakra's feeder reads (src/feeder/json_node.cpp), and their names in the schema.
_FEEDER_KEYS = {"Id": "id", "Name": "name", "NodeType": "type", "ctrlDeps": "ctrl_deps", "runtime": "duration_micros"}
_NO_ATTRIBUTES = {"id", "name", "type", "ctrl_deps", "data_deps", "duration_micros", "start_time_micros"}


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
        if value is None or isinstance(value, bool | int):
            return None if value is None else int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str):
            try:
                return int(value)
            except ValueError:
                pass
        raise ConfigError(f"{self.text()}: the attribute {name} is {str(value)[:40]!r}, not an integer")


# Attributes that the reader uses. Others take memory only.
KNOWN = {
    *("is_cpu_op", "comm_type", "comm_size", "tensor_size", "comm_src", "comm_dst", "comm_tag", "pg_name"),
    *("involved_dim", "root", "root_rank", "comm_root"),
}


def read_nodes(path: Path) -> tuple[str, list[Node]]:
    """Read a file.

    Returns:
        The version of the schema, or "", and the nodes.

    Raises:
        ConfigError: The content is not valid. The text names the file, and the message or the node.
        OSError: The file cannot be read.
    """
    data = read_unpacked(path)
    try:
        version, nodes = (_from_json if is_json(data[:4096]) else _from_protobuf)(data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    for at, node in enumerate(nodes):
        node.at = at
    return version, nodes


def frames(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (offset, begin, end) of the messages, each after its length as a varint.

    Raises:
        ConfigError: A length is not valid or exceeds the file.
    """
    at, size = 0, len(data)
    while at < size:
        offset, length, shift = at, 0, 0
        while True:
            if at == size or shift > 63:
                raise ConfigError(f"byte {offset}: the length of a message is cut short or not valid")
            length |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if data[at - 1] < 0x80:
                break
        if length > size - at:
            raise ConfigError(
                f"byte {offset}: a message of {length} bytes begins, but only {size - at} bytes follow; "
                "the file is truncated or is no Chakra trace"
            )
        yield offset, at, at + length
        at += length


def _from_protobuf(data: bytes) -> tuple[str, list[Node]]:
    metadata_class, node_class = messages()
    parts = frames(data)
    first = next(parts, None)
    if first is None:
        raise ConfigError("the file is empty; a Chakra trace begins with GlobalMetadata")
    version = str(_parsed(metadata_class, data, first, "GlobalMetadata").version)
    return version, list(_affordable(_from_message(_parsed(node_class, data, part, "a Node")) for part in parts))


def _affordable(nodes: Iterator[Node]) -> Iterator[Node]:
    """The nodes. A compressed file can have many nodes of a few bytes.

    Raises:
        ConfigError: They need more than the free memory.
    """
    free = available_memory()
    for count, node in enumerate(nodes):
        if count * _NODE_BYTES > free:
            raise ConfigError(
                f"the file has more than {count:,} nodes, which need {count * _NODE_BYTES / 1e9:.1f} GB, but "
                f"{free / 1e9:.1f} GB of memory are free"
            )
        yield node


def _parsed(kind: Any, data: bytes, part: tuple[int, int, int], what: str) -> Any:
    from google.protobuf.message import DecodeError

    offset, begin, end = part
    if begin == end and what != "GlobalMetadata":
        raise ConfigError(f"byte {offset}: an empty message; {what} of Chakra has at least a type")
    try:
        return kind.FromString(data[begin:end])
    except (DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"byte {offset}: this message of {end - begin} bytes is not {what} of Chakra") from error


def _value(attribute: Any) -> Any:
    which = attribute.WhichOneof("value")
    if which is None:
        return None
    value = getattr(attribute, which)
    return list(value.values) if which.endswith("_list") else value


def _from_message(message: Any) -> Node:
    kind = int(message.type)
    return Node(
        id=message.id,
        name=message.name,
        type=NODE_TYPES[kind] if 0 <= kind < len(NODE_TYPES) else f"type {kind}",
        data_deps=list(message.data_deps),
        ctrl_deps=list(message.ctrl_deps),
        duration_ns=message.duration_micros * _NS_PER_US,
        values=message.inputs.values if kind == NODE_TYPES.index("METADATA_NODE") else "",
        attributes={a.name: value for a in message.attr if a.name in KNOWN and (value := _value(a)) is not None},
    )


def _from_json(data: bytes) -> tuple[str, list[Node]]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"byte {error.start}: the text is not UTF-8") from error
    values = list(_json_values(text))
    graph = values[0] if len(values) == 1 else None
    if isinstance(graph, dict) and "workload_graph" in graph:
        return str(graph.get("schema", "")), _nodes(graph["workload_graph"], "workload_graph")
    if isinstance(graph, dict) and "nodes" in graph:
        raise ConfigError(
            "this is a trace of PyTorch before its conversion, without the times and dependencies of a Chakra trace; "
            "convert it with chakra_trace_link and chakra_converter"
        )
    if not values or not isinstance(values[0], dict) or ("type" in values[0] and "id" in values[0]):
        raise ConfigError("expected the JSON of a Chakra trace: GlobalMetadata and its nodes, or a workload_graph")
    return str(values[0].get("version", "")), _nodes(values[1:], "node")


def _json_values(text: str) -> Iterator[Any]:
    """The JSON values of a text, one after another, as chakra_jsonizer writes them."""
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, at) + 1
            raise ConfigError(f"line {line}: the JSON value that begins here is not complete: {error}") from error
        yield value


def _nodes(values: Any, where: str) -> list[Node]:
    if not isinstance(values, list):
        raise ConfigError(f"{where}: expected a list of nodes")
    return list(_affordable(_node(value, f"{where}[{k}]") for k, value in enumerate(values)))


def _node(value: Any, where: str) -> Node:
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: expected a node, which is a JSON object")
    given = {_FEEDER_KEYS.get(key, _snake(key)): each for key, each in value.items()}
    kind = given.get("type", 0)
    if isinstance(kind, int) and 0 <= kind < len(NODE_TYPES):
        kind = NODE_TYPES[kind]
    attributes = {key: each for key, each in given.items() if key in KNOWN - _NO_ATTRIBUTES and each is not None}
    attributes |= dict(_json_attributes(given.get("attr", []), where))
    inputs = given.get("inputs")
    return Node(
        id=_integer(given.get("id", 0), f"{where}.id"),
        name=str(given.get("name", "")),
        type=str(kind),
        data_deps=_integers(given.get("data_deps", []), f"{where}.data_deps"),
        ctrl_deps=_integers(given.get("ctrl_deps", []), f"{where}.ctrl_deps"),
        duration_ns=_integer(given.get("duration_micros", 0), f"{where}.duration_micros") * _NS_PER_US,
        values=str(inputs.get("values", "")) if isinstance(inputs, dict) else "",
        attributes=attributes,
    )


def _json_attributes(values: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Attributes in protobuf's JSON: {"name": "comm_size", "int64Val": "1048576"}; 64-bit integers are texts."""
    if not isinstance(values, list):
        raise ConfigError(f"{where}.attr: expected a list of attributes")
    for each in values:
        if not isinstance(each, dict) or each.get("name") not in KNOWN:
            continue
        for key, value in each.items():
            if key.endswith(("Val", "_val")) and value is not None:
                yield each["name"], value
            elif key.endswith(("List", "_list")) and isinstance(value, Mapping):
                yield each["name"], value.get("values", [])


def _snake(key: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in key)


def _integers(values: Any, where: str) -> list[int]:
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise ConfigError(f"{where}: expected a list of numbers of nodes")
    return [_integer(value, where) for value in values]


def _integer(value: Any, where: str) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
        raise ConfigError(f"{where}: {str(value)[:40]!r} is not an unsigned 64-bit integer")
    return value


def collective_of(node: Node) -> str | None:
    """Name of a collective in the schema: the attribute `comm_type`, or a word in the name. None: neither says it."""
    kind = node.attributes.get("comm_type")
    if isinstance(kind, str) and kind.upper() in COLLECTIVES:
        return kind.upper()
    number = node.number("comm_type")
    if number is not None:
        if not 0 <= number < len(COLLECTIVES):
            raise ConfigError(
                f"{node.text()}: comm_type {number} does not exist; valid are 0 ({COLLECTIVES[0]}) to "
                f"{len(COLLECTIVES) - 1} ({COLLECTIVES[-1]})"
            )
        return COLLECTIVES[number]
    plain = node.name.lower().replace("_", "")
    for name in sorted(COLLECTIVES, key=len, reverse=True):
        if name.lower().replace("_", "") in plain:
            return name
    return None
