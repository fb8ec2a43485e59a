"""The protobuf messages of Chakra execution traces, built from a descriptor, so that no code generator is needed.

Fields and numbers are those of `schema/protobuf/et_def.proto` in github.com/mlcommons/chakra. The schemas 0.0.4 and
1.0.0 have the same fields; only the version in `GlobalMetadata` differs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..._core import ConfigError

# Type names in the schema by field type; `<type>_val` and `<type>_list` follow each other in AttributeProto.
_SCALARS = [
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
]
NODE_TYPES = [
    "INVALID_NODE",
    "METADATA_NODE",
    "MEM_LOAD_NODE",
    "MEM_STORE_NODE",
    "COMP_NODE",
    "COMM_SEND_NODE",
    "COMM_RECV_NODE",
    "COMM_COLL_NODE",
]
COLLECTIVES = {  # in the order of the schema, with their names in the core
    "ALL_REDUCE": "allreduce",
    "REDUCE": "reduce",
    "ALL_GATHER": "allgather",
    "GATHER": "gather",
    "SCATTER": "scatter",
    "BROADCAST": "bcast",
    "ALL_TO_ALL": "alltoall",
    "REDUCE_SCATTER": "reduce_scatter",
    "REDUCE_SCATTER_BLOCK": "reduce_scatter",
    "BARRIER": "barrier",
}
_PACKAGE = "ChakraProtoMsg"
# By message: fields with number and type; `*` marks a repeated field.
_MESSAGES = {
    "GlobalMetadata": {"version": (1, "string"), "attr": (2, "AttributeProto*")},
    "IOInfo": {"values": (1, "string"), "shapes": (2, "string"), "types": (3, "string")},
    "Node": {
        **{"id": (1, "uint64"), "name": (2, "string"), "type": (3, "NodeType"), "ctrl_deps": (4, "uint64*")},
        **{"data_deps": (5, "uint64*"), "start_time_micros": (6, "uint64"), "duration_micros": (7, "uint64")},
        **{"inputs": (8, "IOInfo"), "outputs": (9, "IOInfo"), "attr": (10, "AttributeProto*")},
    },
}


@cache
def messages() -> tuple[Any, Any]:
    """Return the classes (GlobalMetadata, Node)."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ConfigError(
            "Chakra traces need the library protobuf, which is not installed; pip install 'flitgym[traces]'"
        ) from error
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="flitgym/chakra.proto", package=_PACKAGE, syntax="proto3")
    enums = {"NodeType": NODE_TYPES, "CollectiveCommType": list(COLLECTIVES)}
    for name, values in enums.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)

    def add(message: Any, name: str, number: int, kind: str) -> Any:
        label = kinds.LABEL_REPEATED if kind.endswith("*") else kinds.LABEL_OPTIONAL
        kind = kind.removesuffix("*")
        field = message.field.add(name=name, number=number, label=label)
        if kind in _SCALARS:
            field.type = getattr(kinds, f"TYPE_{kind.upper()}")
        else:
            field.type = kinds.TYPE_ENUM if kind in enums else kinds.TYPE_MESSAGE
            field.type_name = f".{_PACKAGE}.{kind}"
        return field

    attribute = file.message_type.add(name="AttributeProto")
    attribute.oneof_decl.add(name="value")
    add(attribute, "name", 1, "string")
    add(attribute, "doc_string", 2, "string")
    for at, scalar in enumerate(_SCALARS):
        listed = f"{scalar.capitalize()}List"
        add(file.message_type.add(name=listed), "values", 1, f"{scalar}*")
        add(attribute, f"{scalar}_val", 3 + 2 * at, scalar).oneof_index = 0
        add(attribute, f"{scalar}_list", 4 + 2 * at, listed).oneof_index = 0
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            add(message, field, number, kind)
    pool = descriptor_pool.DescriptorPool()  # not the shared one, in which another package may register the schema
    pool.Add(file)
    found = (pool.FindMessageTypeByName(f"{_PACKAGE}.{name}") for name in ("GlobalMetadata", "Node"))
    metadata, node = (message_factory.GetMessageClass(each) for each in found)
    return metadata, node
