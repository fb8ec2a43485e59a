"""Policy files in the safetensors format: the length of a header in eight bytes, the header as JSON, and the numbers.

The format cannot contain code. The core reads the same files (simcore/src/learning/policy_file.cpp and
simcore/src/learning/policy.cpp).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import ConfigError
from ._files import atomic_path, read_plain

FORMAT = "flitgym-policy-1"
# The metadata of every policy. The values of a key are not limited if it has no list.
KEYS: dict[str, tuple[str, ...]] = {
    "format": (FORMAT,),
    "network": ("slots", "flat"),
    "slots": (),
    "observation": (),
    "topology": (),
    "relation": (),
    "slots_by": ("random", "estimate", "rotated"),
    "allocation": ("greedy", "sequential"),
    "activation": ("relu", "tanh"),
    "decisions": ("router", "source", "both", "nic"),
    "flowlet_gap_ns": (),
}
# The metadata that records how the weights were trained. It does not affect the decisions of a policy.
PROVENANCE = ("trained_by", "training_hash", "version")

_DAMAGED = (ValueError, RecursionError, KeyError, TypeError, AttributeError)  # errors of a damaged header

Pairs = Sequence[tuple[ArrayLike, ArrayLike]]


def save_policy(
    path: str | os.PathLike[str],
    layers: Pairs,
    *,
    network: str,
    slots: int,
    observation: str,
    topology: str,
    relation: str = "widest",
    slots_by: str = "random",
    allocation: str = "greedy",
    activation: str = "relu",
    decisions: str = "router",
    flowlet_gap_ns: float = 0.0,
    provenance: Mapping[str, str] | None = None,
) -> None:
    """Write a policy atomically. Equal policies give equal bytes.

    Args:
        path: `*.safetensors`.
        layers: weights [outputs, inputs] and biases [outputs] of each layer. The inputs of the first layer are the
            general features, then those of the slot (`network=slots`) or of slot 0, slot 1, ... (`flat`).
        network: `slots` or `flat`, see `flitgym.agents.networks.SlotScores`.
        slots: the largest number of candidates that the policy sees.
        observation: blocks of features, joined by +.
        topology: the kind of network that the policy was trained on (`dragonfly`, `hyperx`), without its size; `any` if
            the policy is for all networks.
        relation: the relation that lists the candidates.
        slots_by: how candidates are selected if there are more than slots: `random`, `estimate` or `rotated`.
        allocation: `greedy`, or `sequential`: a decision sees the earlier ones of its router in the cycle.
        activation: the function of the hidden units, `relu` or `tanh`.
        decisions: the places of the decisions, `router`, `source` or `both` (see `PacketOptions`), or `nic`.
        flowlet_gap_ns: see `PacketOptions`.
        provenance: the origin of the weights, with the keys of `PROVENANCE`: the command, the hash of the training's
            configuration, the version of flitgym. There is no date, so equal trainings write equal bytes.

    Raises:
        ConfigError: a weight is not finite, layers do not fit each other, or a word is unknown.
        OSError: the file cannot be written; nothing is left behind.
    """
    metadata = {
        "format": FORMAT,
        "network": network,
        "slots": str(slots),
        "observation": observation,
        "topology": topology,
        "relation": relation,
        "slots_by": slots_by,
        "allocation": allocation,
        "activation": activation,
        "decisions": decisions,
        "flowlet_gap_ns": str(float(flowlet_gap_ns)),
    }
    _check(metadata)
    arrays = [tuple(np.ascontiguousarray(x, dtype=np.float32) for x in layer) for layer in layers]
    _check_layers(arrays)
    tensors = {f"layers.{k}.weight": weight for k, (weight, _) in enumerate(arrays)}
    tensors |= {f"layers.{k}.bias": bias for k, (_, bias) in enumerate(arrays)}
    # The core's reader takes only plain text in headers.
    metadata |= {key: value.encode("unicode_escape").decode() for key, value in (provenance or {}).items()}
    with atomic_path(path) as temporary:
        temporary.write_bytes(packed(tensors, metadata))


def load_policy(path: str | os.PathLike[str]) -> tuple[list[tuple[NDArray[Any], NDArray[Any]]], dict[str, str]]:
    """Layers and metadata of a policy file.

    Raises:
        ConfigError: the file cannot be read, is not a policy, is cut short, or holds weights that are not finite.
    """
    try:
        header, numbers = _split(read_plain(path))
        metadata = header.pop("__metadata__")
        _check(metadata)
        tensors = {name: _tensor(name, entry, numbers) for name, entry in header.items()}
        names = [(f"layers.{k}.weight", f"layers.{k}.bias") for k in range(len(tensors) // 2)]
        if not names or set(tensors) != {name for pair in names for name in pair}:
            raise ConfigError(f"its tensors are {', '.join(tensors) or 'none'}")
        layers = [(tensors[weight], tensors[bias]) for weight, bias in names]
        _check_layers(layers)
    except (OSError, *_DAMAGED) as error:
        why = error if isinstance(error, OSError | ValueError) else "its header is damaged"
        raise ConfigError(f"policy file {path}: {why}") from error
    return layers, metadata


def packed(tensors: Mapping[str, NDArray[np.float32]], metadata: Mapping[str, str]) -> bytes:
    """Return the bytes of a file; the tensors are sorted by name."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name in sorted(tensors):
        begin, end = end, end + tensors[name].nbytes
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [begin, end]}
    return _joined(header, b"".join(tensors[name].astype("<f4").tobytes() for name in sorted(tensors)))


def without_provenance(data: bytes) -> bytes:
    """Return the bytes of a policy file without its provenance, and those of any other file unchanged."""
    try:
        header, numbers = _split(data)
        metadata = header["__metadata__"]
        kept = {key: value for key, value in metadata.items() if key not in PROVENANCE}
    except _DAMAGED:
        return data
    return data if len(kept) == len(metadata) else _joined({**header, "__metadata__": kept}, numbers)


def _check(metadata: Mapping[str, str]) -> None:
    for key, valid in KEYS.items():
        if not isinstance(metadata.get(key), str):
            raise ConfigError(f"its metadata lacks '{key}'")
        if valid and metadata[key] not in valid:
            raise ConfigError(f"{key} is '{metadata[key]}'; valid: {', '.join(valid)}")


def _check_layers(layers: Sequence[tuple[NDArray[Any], ...]]) -> None:
    inputs = None
    for k, (weight, bias) in enumerate(layers):
        if weight.ndim != 2 or bias.shape != weight.shape[:1] or inputs not in (None, weight.shape[1]):
            raise ConfigError(f"layer {k} of shapes {weight.shape} and {bias.shape} does not fit")
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ConfigError(f"layer {k} holds a weight that is not finite; the training diverged")
        inputs = len(weight)


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    begin = 8 + int.from_bytes(data[:8], "little")
    if begin > len(data):
        raise ValueError(f"{len(data)} bytes are not a safetensors file, or the file is cut short")
    return json.loads(data[8:begin]), data[begin:]


def _joined(header: Mapping[str, Any], numbers: bytes) -> bytes:
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + numbers


def _tensor(name: str, entry: Mapping[str, Any], numbers: bytes) -> NDArray[np.float32]:
    if entry["dtype"] != "F32":
        raise ValueError(f"tensor '{name}' is of type {entry['dtype']}; policies are F32")
    (begin, end), shape = entry["data_offsets"], entry["shape"]
    if not 0 <= begin <= end <= len(numbers) or end - begin != 4 * math.prod(shape):
        raise ValueError(f"the shape of tensor '{name}' does not fit its bytes, or the file is cut short")
    return np.frombuffer(numbers[begin:end], "<f4").reshape(shape).astype(np.float32)
