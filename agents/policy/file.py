"""Policies as safetensors files, which the core reads, too (`routing=policy routing.path=...`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...configs.errors import unknown
from ...simcore import ConfigError
from ...simcore._files import atomic_path
from ...simcore._policy_file import PROVENANCE, packed, read

if TYPE_CHECKING:
    from ...env.packet_batch import PacketBatch

FORMAT = "flitgym-policy-1"
FORMAT_2 = "flitgym-policy-2"  # names the activation; earlier versions of flitgym, which know only `relu`, refuse it
FORMAT_3 = "flitgym-policy-3"  # also names the decisions, which earlier versions would leave to every router
FORMATS = (FORMAT, FORMAT_2, FORMAT_3)
ACTIVATIONS = ("relu", "tanh")
DECISIONS = ("router", "source", "both")

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
    activation: str = "relu",
    decisions: str = "router",
    flowlet_gap_ns: float = 0.0,
    provenance: Mapping[str, str] | None = None,
) -> None:
    """Write a policy atomically.

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
        slots_by: how candidates are selected if there are more than slots: `random` or `estimate`.
        activation: the function of the hidden units, `relu` or `tanh`.
        decisions: the places of the decisions, `router`, `source` or `both`; see `PacketOptions`.
        flowlet_gap_ns: see `PacketOptions`.
        provenance: the origin of the weights, with the keys of `PROVENANCE`: the command, the hash of the training's
            configuration, the version of flitgym. There is no date, so equal trainings write equal bytes.

    Raises:
        ConfigError: a weight is not finite, layers do not fit each other, or a word is unknown.
        OSError: the file cannot be written; nothing is left behind.
    """
    if activation not in ACTIVATIONS:
        raise ConfigError(unknown("save_policy(): activation", activation, ACTIVATIONS, "function"))
    if decisions not in DECISIONS:
        raise ConfigError(unknown("save_policy(): decisions", decisions, DECISIONS, "value"))
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
    if activation != "relu":  # equal policies keep the bytes that earlier versions wrote
        metadata |= {"format": FORMAT_2, "activation": activation}
    if (decisions, flowlet_gap_ns) != ("router", 0):
        metadata |= {"format": FORMAT_3, "activation": activation}
        metadata |= {"decisions": decisions, "flowlet_gap_ns": str(float(flowlet_gap_ns))}
    for key, value in (provenance or {}).items():
        if key not in PROVENANCE:
            raise ConfigError(unknown("save_policy(): provenance", key, PROVENANCE, "key"))
        metadata[key] = value.encode("unicode_escape").decode()  # the core's reader takes only plain text in headers
    with atomic_path(path) as temporary:
        temporary.write_bytes(packed(tensors, metadata))


def save_batch_policy(
    path: str | os.PathLike[str],
    batch: PacketBatch | Any,
    model: Iterable[Any] | Pairs,
    *,
    network: str = "slots",
    topology: str | None = None,
    activation: str | None = None,
    provenance: Mapping[str, str] | None = None,
) -> None:
    """Write a policy of a `PacketBatch` or an environment, so that the core plays it (`routing=policy`).

    Args:
        path: `*.safetensors`.
        batch: gives observation, slots, relation, decisions and topology. A `PacketBatch` after `reset()`, an
            environment of packets from Gymnasium, also in wrappers, or an `Sb3PacketRouting`.
        model: a `torch.nn.Sequential` of `Linear` and one kind of `ReLU` or `Tanh`, or weights and biases as for
            `save_policy`.
        network: `slots`: the model maps the general features and those of a slot to the score of the slot; `flat`: it
            maps the whole observation to the scores of all slots.
        topology: see `save_policy`; None: that of the first network of the batch's world.
        activation: only with weights and biases; None: `relu`.
        provenance: see `save_policy`.

    Raises:
        ConfigError: the model has other parts, or other inputs or outputs than the batch has features and slots, or the
            observation has blocks from Python, which the core does not have.
        OSError: the file cannot be written; nothing is left behind.
    """
    layers, found = _layers_of(model)
    if found is not None and activation not in (None, found):
        raise ConfigError(f"save_batch_policy(): activation={activation}, but the model has {found}")
    environment = getattr(batch, "unwrapped", batch)
    environment = getattr(environment, "networks", environment)  # of an Sb3PacketRouting
    seam, options = environment.seam, environment.options
    if options.parts().observations:
        raise ConfigError(
            f"save_batch_policy(): the observation '{options.observation}' has blocks from Python, which the core does "
            "not have; train with blocks of the core"
        )
    general, per_slot, slots = len(seam["general"]), len(seam["per_slot"]), int(seam["slots"])
    sizes = {"slots": (general + per_slot, 1), "flat": (int(seam["width"]), slots)}
    if network not in sizes:
        raise ConfigError(unknown("save_batch_policy(): network", network, sizes, "kind"))
    inputs, outputs = np.shape(layers[0][0])[-1], np.shape(layers[-1][0])[0]
    if (inputs, outputs) != sizes[network]:
        raise ConfigError(
            f"save_batch_policy(): the model has {inputs} inputs and {outputs} outputs; network={network} needs "
            f"{sizes[network][0]} and {sizes[network][1]} ({general} general features, {per_slot} per slot, {slots} "
            "slots)"
        )
    save_policy(
        path,
        layers,
        network=network,
        slots=slots,
        observation=options.observation,
        topology=topology or str(options.world.simulation(options.routing(), 0).facts()["topology"]),
        relation=options.relation,
        slots_by=options.slots_by,
        activation=found or activation or "relu",
        decisions=options.decisions,
        flowlet_gap_ns=options.flowlet_gap_ns,
        provenance=provenance,
    )


def _layers_of(model: Iterable[Any]) -> tuple[Pairs, str | None]:
    """The layers of a model, and its activation if the model has one. Torch is not imported here."""
    parts = list(model)
    if parts and all(isinstance(part, tuple) for part in parts):
        return parts, None
    names = [type(part).__name__ for part in parts]
    kinds = {name.lower() for name in names[1::2]}
    if not parts or len(names) % 2 == 0 or set(names[::2]) != {"Linear"} or len(kinds) > 1 or kinds - {*ACTIVATIONS}:
        raise ConfigError(
            f"save_batch_policy(): the model is {', '.join(names) or 'empty'}; it must be Linear layers with ReLU "
            "between them, or with Tanh"
        )
    layers = [(part.weight.detach().cpu().numpy(), _bias(part)) for part in parts[::2]]
    return layers, next(iter(kinds), None)


def _bias(linear: Any) -> ArrayLike:
    if linear.bias is None:
        return np.zeros(len(linear.weight), np.float32)
    bias: ArrayLike = linear.bias.detach().cpu().numpy()
    return bias


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
    if metadata.get("format") not in FORMATS:
        raise ConfigError(
            f"policy file {path}: its format is {metadata.get('format')!r}, this version reads {FORMAT}, {FORMAT_2} "
            f"and {FORMAT_3}"
        )
    for key, valid, since in (("activation", ACTIVATIONS, FORMAT_2), ("decisions", DECISIONS, FORMAT_3)):
        if metadata["format"] >= since and metadata.get(key) not in valid:
            raise ConfigError(f"policy file {path}: " + unknown(key, str(metadata.get(key)), valid))
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
