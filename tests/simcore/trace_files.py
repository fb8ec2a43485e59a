"""Small trace files for the tests, and the finishing time of a program without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core_scenes import config, router
from flitgym.simcore import Program, Simulation
from flitgym.simcore.traces.readers._chakra_schema import COLLECTIVES, NODE_TYPES, messages

DATA = Path(__file__).parents[1] / "data" / "traces"


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def framed(*parts: bytes) -> bytes:
    """Messages, each after its length."""
    return b"".join(varint(len(part)) + part for part in parts)


def node(id_: int, kind: str, *, deps: tuple[int, ...] = (), us: int = 0, name: str = "n", **attributes: Any) -> Any:
    """A Node of Chakra. Attributes are numbers, truth values or texts; `comm_type` may be a name."""
    made = messages()[1](id=id_, name=name, type=NODE_TYPES.index(kind), data_deps=deps, duration_micros=us)
    for key, value in attributes.items():
        if key == "comm_type" and isinstance(value, str):
            value = list(COLLECTIVES).index(value)
        attribute = made.attr.add(name=key)
        if isinstance(value, bool):
            attribute.bool_val = value
        elif isinstance(value, int):
            attribute.int64_val = value
        elif isinstance(value, list):
            attribute.bool_list.values.extend(value)
        else:
            attribute.string_val = value
    return made


def trace(path: Path, *nodes: Any, version: str = "0.0.4") -> Path:
    """Write a protobuf trace."""
    metadata = messages()[0](version=version)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(framed(metadata.SerializeToString(), *(each.SerializeToString() for each in nodes)))
    return path


def feeder_json(path: Path, nodes: list[dict[str, Any]]) -> Path:
    """Write the JSON that Chakra's feeder reads."""
    path.write_text(json.dumps({"workload_graph": nodes}))
    return path


def finish_ns(program: Program, **workload: Any) -> float:
    """When the program ends on hosts without costs, if each message takes 1,000 ns."""
    free = {"loggops_L_ns": 1000, "loggops_o_ns": 0, "loggops_g_ns": 0, "loggops_G_ns_per_byte": 0}
    hosts = {"host": "loggops", "network": "none", **free, **workload}
    jobs = [{"name": "trace", "program": program}]
    simulation = Simulation(config(traffic=None, router=router("sc22"), workload={"jobs": jobs, **hosts}))
    simulation.begin_window()
    assert simulation.run_workload(100_000_000), simulation.waiting()
    return float(simulation.jobs()[0]["finish_ns"])
