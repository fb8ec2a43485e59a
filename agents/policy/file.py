"""Policies as safetensors files, which the core reads, too (`routing=policy routing.path=...`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...configs.errors import unknown
from ...simcore import ConfigError
from ...simcore._files import atomic_path
from ...simcore._policy_file import PROVENANCE, packed, read

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
    """Write a policy atomically.

    Args:
        path: `*.safetensors`.
        layers: weights [outputs, inputs] and biases [outputs] of each layer; rectified linear units in between.
        network: `slots` or `flat`, see `flitgym.agents.networks.SlotScores`.
        slots: the largest number of candidates that the policy sees.
        observation: blocks of features, joined by +.
        topology: the kind of network that the policy was trained on (`dragonfly`, `hyperx`), without its size; `any` if
            the policy is for all networks.
        relation: the relation that lists the candidates.
        slots_by: how candidates are selected if there are more than slots: `random` or `estimate`.
        provenance: the origin of the weights, with the keys of `PROVENANCE`: the command, the hash of the training's
            configuration, the version of flitgym. There is no date, so equal trainings write equal bytes.

    Raises:
        ConfigError: a weight is not finite, layers do not fit each other, or a key of `provenance` is unknown.
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
    if slots_by != "random":  # the default of files without this key
        metadata["slots_by"] = slots_by
    for key, value in (provenance or {}).items():
        if key not in PROVENANCE:
            raise ConfigError(unknown("save_policy(): provenance", key, PROVENANCE, "key"))
        metadata[key] = value.encode("unicode_escape").decode()  # the core's reader takes only plain text in headers
    with atomic_path(path) as temporary:
        temporary.write_bytes(packed(tensors, metadata))


def load_policy(
    path: str | os.PathLike[str],
) -> tuple[list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]], dict[str, str]]:
    """Layers and metadata of a policy file.

    Raises:
        ConfigError: the file is not a policy, is cut short, or holds weights that are not finite.
    """
    try:
        tensors, metadata = read(path)
    except OSError as error:
        raise ConfigError(f"policy file {path}: {error}") from error
    if metadata.get("format") != FORMAT:
        raise ConfigError(f"policy file {path}: its format is {metadata.get('format')!r}, this version reads {FORMAT}")
    layers: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
    while f"layers.{len(layers)}.weight" in tensors and f"layers.{len(layers)}.bias" in tensors:
        k = len(layers)
        layers.append((tensors[f"layers.{k}.weight"], tensors[f"layers.{k}.bias"]))
    if not layers or len(tensors) != 2 * len(layers):
        raise ConfigError(f"policy file {path}: its tensors are {', '.join(tensors) or 'none'}")
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ConfigError(f"policy file {path}: tensor '{name}' holds a weight that is not finite")
    return layers, metadata
