"""Policy files are safetensors files: the safetensors library reads and writes the same content."""

import json
from pathlib import Path

import numpy as np
import pytest
from flitgym.configs.policies import shipped_policies, shipped_policy
from flitgym.simcore._policy_file import load_policy, packed
from safetensors import safe_open
from safetensors.numpy import save


def halves(data: bytes) -> tuple[dict[str, object], bytes]:
    numbers = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:numbers]), data[numbers:]


@pytest.mark.parametrize("name", shipped_policies())
def test_shipped_policies_are_read_as_the_library_reads_them(name: str) -> None:
    path = shipped_policy(name)
    layers, metadata = load_policy(path)
    tensors = {
        f"layers.{k}.{part}": value
        for k, layer in enumerate(layers)
        for part, value in zip(("weight", "bias"), layer, strict=True)
    }
    with safe_open(path, framework="numpy") as file:
        assert metadata == file.metadata()
        assert set(tensors) == set(file.keys())
        assert all(np.array_equal(file.get_tensor(key), tensor) for key, tensor in tensors.items())
    assert packed(tensors, metadata) == Path(path).read_bytes()


def test_the_library_writes_the_same_header_and_numbers() -> None:
    random = np.random.default_rng(1)
    tensors = {
        f"layers.{k}.{part}": random.random((3, 2), np.float32) for k in range(12) for part in ("weight", "bias")
    }
    assert halves(packed(tensors, {"a": "b"})) == halves(save(tensors, {"a": "b"}))
