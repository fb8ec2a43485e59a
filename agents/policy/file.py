"""Policies as safetensors files, which the core reads, too (`routing=policy routing.path=...`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...configs.errors import unknown
from ...simcore import ConfigError
from ...simcore._policy_file import KEYS, Pairs, load_policy, save_policy

_ACTIVATIONS = {*KEYS["activation"]}

if TYPE_CHECKING:
    from ...env.packet_batch import PacketBatch

__all__ = ["load_policy", "save_batch_policy", "save_policy"]


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
    if not parts or len(names) % 2 == 0 or set(names[::2]) != {"Linear"} or len(kinds) > 1 or kinds - _ACTIVATIONS:
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
