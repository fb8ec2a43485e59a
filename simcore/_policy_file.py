"""Policy files in the safetensors format: the length of a header in eight bytes, the header as JSON, and the numbers.

The format cannot contain code. The core reads the same files (simcore/src/learning/policy_file.cpp).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import ConfigError
from ._files import read_plain

# The metadata that records how the weights were trained. It does not affect the decisions of a policy.
PROVENANCE = ("trained_by", "training_hash", "version")

_DAMAGED = (ValueError, RecursionError, KeyError, TypeError, AttributeError)  # errors of a damaged header

Tensors = dict[str, NDArray[np.float32]]


def packed(tensors: Mapping[str, NDArray[np.float32]], metadata: Mapping[str, str]) -> bytes:
    """Return the bytes of a file. Equal policies give equal bytes; the tensors are sorted by name."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name in sorted(tensors):
        begin, end = end, end + tensors[name].nbytes
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [begin, end]}
    return _joined(header, b"".join(tensors[name].astype("<f4").tobytes() for name in sorted(tensors)))


def read(path: str | os.PathLike[str]) -> tuple[Tensors, dict[str, str]]:
    """Read the tensors and the metadata of a file.

    Raises:
        ConfigError: The file is not a policy file, is damaged, or has numbers of a type other than float32.
        OSError: The file cannot be read.
    """
    data = read_plain(path)
    try:
        header, numbers = _split(data)
        metadata = header.pop("__metadata__", {})
        if not all(isinstance(word, str) for word in metadata.values()):
            raise ValueError("its metadata are not text")
        return {name: _tensor(name, entry, numbers) for name, entry in header.items()}, metadata
    except _DAMAGED as error:
        why = str(error).strip().splitlines()[0] if isinstance(error, ValueError) else "its header is damaged"
        raise ConfigError(f"policy file {path}: {why}") from error


def without_provenance(data: bytes) -> bytes:
    """Return the bytes of a policy file without its provenance, and those of any other file unchanged."""
    try:
        header, numbers = _split(data)
        metadata = header["__metadata__"]
        kept = {key: value for key, value in metadata.items() if key not in PROVENANCE}
    except _DAMAGED:
        return data
    return data if len(kept) == len(metadata) else _joined({**header, "__metadata__": kept}, numbers)


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
