"""Policies as files that cannot run code: safetensors, read by the core as well (`routing=policy routing.path=...`)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ...configs.errors import unknown
from ...configs.policy_header import PROVENANCE, with_header
from ...simcore import ConfigError
from ...simcore._files import atomic_path, open_plain

FORMAT = "flitgym-policy-1"


def save_policy(
    path: str | os.PathLike[str],
    layers: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    network: str,
    slots: int,
    observation: str,
    topology: str,
    relation: str = "widest",
    slots_by: str = "random",
    provenance: Mapping[str, str] | None = None,
) -> None:
    """Write a policy, whole or not at all.

    Args:
        path: `*.safetensors`.
        layers: weights [outputs, inputs] and biases [outputs] of each layer; rectified linear units in between.
        network: `slots` or `flat`, see `flitgym.agents.networks.SlotScores`.
        slots: candidates that the policy sees at most.
        observation: blocks of features, joined by +.
        topology: kind of network it was trained on (`dragonfly`, `hyperx`), of whatever size; `any` if it fits all.
        relation: the candidates that its slots are drawn from.
        slots_by: which of them, where there are more: `random` or `estimate`.
        provenance: what it comes from, under keys of `PROVENANCE`: the command, the hash of the training's
            configuration, the version of flitgym. No date: the same training writes the same bytes.

    Raises:
        ConfigError: a weight is not finite, or layers do not fit each other; an unknown key of `provenance`.
        OSError: the file cannot be written; nothing is left behind.
    """
    tensors: dict[str, np.ndarray[Any, Any]] = {}
    inputs = None
    for k, (weight, bias) in enumerate(layers):
        w, b = (np.ascontiguousarray(x, dtype=np.float32) for x in (weight, bias))
        if w.ndim != 2 or b.shape != (w.shape[0],) or (inputs is not None and w.shape[1] != inputs):
            raise ConfigError(f"save_policy(): layer {k} of shapes {w.shape} and {b.shape} does not fit")
        if not (np.isfinite(w).all() and np.isfinite(b).all()):
            raise ConfigError(f"save_policy(): layer {k} holds a weight that is not finite; the training diverged")
        tensors[f"layers.{k}.weight"], tensors[f"layers.{k}.bias"], inputs = w, b, w.shape[0]
    metadata = {
        "format": FORMAT,
        "network": network,
        "slots": str(slots),
        "observation": observation,
        "topology": topology,
        "relation": relation,
    }
    if slots_by != "random":  # what files without the word mean
        metadata["slots_by"] = slots_by
    for key, value in (provenance or {}).items():
        if key not in PROVENANCE:
            raise ConfigError(unknown("save_policy(): provenance", key, PROVENANCE, "key"))
        metadata[key] = value.encode("unicode_escape").decode()  # the core's reader of headers knows plain text alone
    with atomic_path(path) as temporary:
        temporary.write_bytes(_in_order(save(tensors, metadata)))


def _in_order(data: bytes) -> bytes:
    # The library writes its header in an order that changes from run to run; equal policies shall be equal files.
    numbers = 8 + int.from_bytes(data[:8], "little")
    return with_header(json.loads(data[8:numbers]), data[numbers:])


def load_policy(
    path: str | os.PathLike[str],
) -> tuple[list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]], dict[str, str]]:
    """Layers and metadata of a policy file.

    Raises:
        ConfigError: it is none, is cut short, or holds weights that are not finite.
    """
    try:
        with open_plain(path):
            pass
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            names = list(file.keys())
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise ConfigError(f"policy file {path}: {error}") from error
    if metadata.get("format") != FORMAT:
        raise ConfigError(f"policy file {path}: its format is {metadata.get('format')!r}, this version reads {FORMAT}")
    layers: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
    while f"layers.{len(layers)}.weight" in tensors and f"layers.{len(layers)}.bias" in tensors:
        k = len(layers)
        layers.append((tensors[f"layers.{k}.weight"], tensors[f"layers.{k}.bias"]))
    if not layers or len(tensors) != 2 * len(layers):
        raise ConfigError(f"policy file {path}: its tensors are {', '.join(names) or 'none'}")
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ConfigError(f"policy file {path}: tensor '{name}' holds a weight that is not finite")
    return layers, metadata
