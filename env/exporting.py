"""From a trained model and its environment to a policy file that the core plays: `export`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorActionWrapper, VectorObservationWrapper
from gymnasium.wrappers import FrameStackObservation, MaxAndSkipObservation, StickyAction
from numpy.typing import NDArray

from ..simcore import ConfigError
from ..simcore._policy_file import KEYS, Pairs, save_policy
from .injection import InjectionBatch
from .packet_options import PacketOptions

_INNER = ("base_env", "_env", "networks", "venv", "env")  # of TorchRL (2), flitgym's VecEnv, SB3, Gymnasium
_CHANGING = (
    *(gymnasium.ObservationWrapper, gymnasium.ActionWrapper, VectorObservationWrapper, VectorActionWrapper),
    *(FrameStackObservation, MaxAndSkipObservation, StickyAction),
)
# Modules that do not change the order of the scores, also those that follow the network in TorchRL's actors.
_NEUTRAL = ("Flatten", "Identity", "ProbabilisticTensorDictModule", "SafeProbabilisticModule", "QValueModule")
_ACTIVATIONS = {*KEYS["activation"]}


def export(
    model: Any,
    env: Any,
    path: str | os.PathLike[str],
    *,
    topology: str | None = None,
    provenance: Mapping[str, str] | None = None,
) -> None:
    """Write a policy that the core plays (`routing=policy`, `play`).

    Args:
        model: a DQN, PPO, A2C or MaskablePPO of Stable-Baselines3 with its usual features extractor; an actor of
            TorchRL; a `torch.nn.Sequential` of `Linear` and one kind of `ReLU` or `Tanh`; or weights and biases for
            `ReLU`, as for `save_policy`. It maps the whole observation to the scores of all slots, or the general
            features and those of one slot to the score of this slot.
        env: gives observation, slots, relation, decisions and topology. An environment of packets, also in wrappers and
            vector environments of Gymnasium, SB3 or TorchRL, or a `PacketBatch`. The means and variances of
            `NormalizeObservation` and `VecNormalize` become part of the first layer. Or an `InjectionBatch`, for
            `congestion_control=agent`.
        path: `*.safetensors`.
        topology: see `save_policy`; None: that of the first network of the world.
        provenance: see `save_policy`.

    Raises:
        ConfigError: the model has other parts, or other inputs or outputs than the environment has features and slots;
            a wrapper changes observations or actions; the observation has blocks from Python, a delay or noise, which
            the core does not have.
        OSError: the file cannot be written; nothing is left behind.
    """
    if isinstance(env, InjectionBatch):
        layers, activation = _layers_of(model)
        save_policy(
            path,
            layers,
            network="flat",
            slots=int(env.seam["slots"]),
            observation="flow",
            topology=topology or "any",
            relation="",
            activation=activation,
            decisions="nic",
            provenance=provenance,
        )
        return
    options, scale, shift = _options_of(env)
    if options.parts.in_python:
        raise ConfigError(
            f"export(): '{options.observation}' has blocks from Python, delay_ns or noise, which the core does not have"
        )
    layers, activation = _layers_of(model)
    probe = options.simulation(0, warm=False)
    seam = probe.seam()
    general, per_slot, slots = len(seam["general"]), len(seam["per_slot"]), int(seam["slots"])
    sizes = {(seam["width"], slots): "flat", (general + per_slot, 1): "slots"}
    found = np.shape(layers[0][0])[-1], np.shape(layers[-1][0])[0]
    if found not in sizes or (sizes[found] == "slots" and np.ndim(scale)):
        raise ConfigError(
            f"export(): the model has {found[0]} inputs and {found[1]} outputs; it needs {seam['width']} and {slots}, "
            f"or, without normalised observations, {general + per_slot} and 1 ({general} general features, {per_slot} "
            f"per slot, {slots} slots)"
        )
    weight, bias = (np.asarray(x, np.float64) for x in layers[0])
    save_policy(
        path,
        [(weight * scale, bias + (weight * shift).sum(axis=1)), *layers[1:]],
        network=sizes[found],
        slots=slots,
        observation=options.observation,
        topology=topology or str(seam["topology"]),
        relation=options.acting["name"] if options.acting else options.relation,
        slots_by=options.slots_by,
        activation=activation,
        decisions=options.decisions,
        flowlet_gap_ns=options.flowlet_gap_ns,
        provenance=provenance,
    )


def _options_of(env: Any) -> tuple[PacketOptions, NDArray[np.float64], NDArray[np.float64]]:
    """The options of the innermost environment, and the model's inputs as scale x feature + shift."""
    scale, shift, several = np.ones(()), np.zeros(()), False
    # Not getattr(), since TorchRL forwards attributes to inner environments.
    while not isinstance(options := vars(env).get("options"), PacketOptions):
        if (seen := vars(env).get("obs_rms")) is not None:
            if several:
                raise ConfigError("export(): each environment has means of its own; normalise the vector environment")
            if np.isfinite(getattr(env, "clip_obs", np.inf)):
                raise ConfigError("export(): the core does not clip features; train with VecNormalize(clip_obs=np.inf)")
            deviation = np.sqrt(seen.var + env.epsilon)
            scale, shift = scale / deviation, shift - scale * seen.mean / deviation
        elif isinstance(env, _CHANGING) or _transforms(env):
            raise ConfigError(f"export(): {type(env).__name__} changes observations or actions; the core does not")
        if hasattr(env, "envs"):
            several, env = len(env.envs) > 1, env.envs[0]
        elif inner := [name for name in _INNER if getattr(env, name, None) is not None]:
            env = getattr(env, inner[0])
        else:
            raise ConfigError(f"export(): {type(env).__name__} is no environment of packets in this process")
    return options, scale, shift


def _transforms(env: Any) -> bool:
    """Whether an environment of TorchRL changes observations."""
    base = getattr(env, "base_env", None)
    return base is not None and bool(env.observation_spec["observation"] != base.observation_spec["observation"])


def _layers_of(model: Any) -> tuple[Pairs, str]:
    """The layers of a model, and its activation. Torch is not imported here."""
    if isinstance(model, list) and all(isinstance(part, tuple) for part in model):
        return model, "relu"
    policy = getattr(model, "policy", None)
    parts = list(_modules(model if policy is None else _of_sb3(policy)))
    names = [type(part).__name__ for part in parts]
    kinds = {name.lower() for name in names[1::2]}
    if len(names) % 2 == 0 or set(names[::2]) != {"Linear"} or len(kinds) > 1 or kinds - _ACTIVATIONS:
        raise ConfigError(
            f"export(): the model is {', '.join(names) or 'empty'}; it must be Linear layers with ReLU between them, "
            "or with Tanh"
        )
    state = [{key: value.cpu().numpy() for key, value in part.state_dict().items()} for part in parts[::2]]
    layers = [(of["weight"], of.get("bias", np.zeros(len(of["weight"])))) for of in state]
    return layers, next(iter(kinds), "relu")


def _of_sb3(policy: Any) -> list[Any]:
    if policy.features_extractor_class.__name__ == "FlattenExtractor" and not hasattr(policy, "lstm_actor"):
        if hasattr(policy, "q_net"):
            return [policy.q_net.q_net]
        if hasattr(policy, "mlp_extractor"):
            return [policy.mlp_extractor.policy_net, policy.action_net]
    raise ConfigError(
        f"export(): {type(policy).__name__} is not a policy of DQN, PPO, A2C or MaskablePPO with the usual features "
        "extractor"
    )


def _modules(model: Any) -> Iterator[Any]:
    """The modules of nested containers in the order of their use, without the neutral ones."""
    inner = getattr(model, "module", model)  # TorchRL wraps networks
    try:
        parts = list(inner)
    except TypeError:
        if inner is not model:
            yield from _modules(inner)
        elif type(model).__name__ not in _NEUTRAL:
            yield model
        return
    for part in parts:
        yield from _modules(part)
