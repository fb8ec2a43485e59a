"""Layers for the core whose scores are computed from given costs and tolls, and sums of policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...configs.policies import policy_path
from ...simcore import ConfigError
from ...simcore._policy_file import load_policy
from ..networks import Layers

MOST_TOLLED = 512.0  # largest valid bound of a feature with a toll
_FAR = 2 * MOST_TOLLED
LONGER = "more_hops"  # a slot feature: 0 or less on minimal paths, 1/2 or more on others


def cost_layers(inputs: Sequence[str], costs: Mapping[str, float], tolls: Mapping[str, float]) -> Layers:
    """Layers whose score is minus a sum of costs, and minus tolls that non-minimal paths pay on top.

    Args:
        inputs: names of the network's inputs, in their order: the general features, then those of the slot. Only a
            name without a cost or a toll may occur twice.
        costs: per unit of a feature, by its name.
        tolls: per unit of a feature, paid where `more_hops` is above 0; the feature is between 0 and `MOST_TOLLED`.

    Returns:
        One linear layer, [1, inputs]; with tolls two layers, with 3 + len(tolls) units in between.
    """
    column = {name: k for k, name in enumerate(inputs)}
    linear = np.zeros((1, len(inputs)), np.float32)
    for name, cost in costs.items():
        linear[0, column[name]] = -cost
    if not tolls:
        return [(linear, np.zeros(1, np.float32))]
    # Two rectified units are plus and minus the sum of the costs. With h = more_hops, there is a unit x + F (h - 1/2)
    # for each feature x with a toll, and a unit F (h - 1/2). F is so large that the difference of the two is 0 on
    # minimal paths and x on others.
    longer = np.zeros_like(linear)
    longer[0, column[LONGER]] = _FAR
    tolled = np.repeat(longer, len(tolls), axis=0)
    for row, name in zip(tolled, tolls, strict=True):
        row[column[name]] += 1
    first = np.concatenate([-linear, linear, tolled, longer])
    bias = np.array([0, 0] + [-_FAR / 2] * (len(tolls) + 1), np.float32)
    each = np.array(list(tolls.values()), np.float32)
    second = np.array([[-1, 1, *-each, each.sum()]], np.float32)
    return [(first, bias), (second, np.zeros(1, np.float32))]


def added(a: Layers, b: Layers) -> Layers:
    """The network whose score is the sum of two networks' scores, to within rounding.

    Args:
        a: layers with one output.
        b: layers with one output and the inputs of `a`.

    Returns:
        The number of layers of the deeper network, at least two. A hidden layer has the units of both networks. A
        network without that layer contributes two units.
    """
    depth = max(len(a), len(b), 2)
    (first, *middle), (other, *rest) = _deepened(a, depth), _deepened(b, depth)
    joined = [(np.concatenate([first[0], other[0]]), np.concatenate([first[1], other[1]]))]
    for (w, c), (v, d) in zip(middle[:-1], rest[:-1], strict=True):
        block = np.zeros((w.shape[0] + v.shape[0], w.shape[1] + v.shape[1]), np.float32)
        block[: w.shape[0], : w.shape[1]] = w
        block[w.shape[0] :, w.shape[1] :] = v
        joined.append((block, np.concatenate([c, d])))
    (w, c), (v, d) = middle[-1], rest[-1]
    return [*joined, (np.concatenate([w, v], axis=1), c + d)]


def base_of(config: Any) -> Layers | None:
    """The policy `base` of an agent, checked to have its observation and slots; None without one."""
    if config.base is None:
        return None
    layers, metadata = load_policy(policy_path("agent.base", config.base))
    own = {key: str(getattr(config, key)) for key in ("network", "observation", "relation", "slots", "slots_by")}
    for key, needed in {**own, "activation": "relu", "decisions": "router"}.items():
        if metadata[key] != needed:
            raise ConfigError(f"agent.base: {config.base} has {key}={metadata[key]}; this training needs {needed}")
    return layers


def hidden_units(layers: Layers) -> list[int]:
    """The number of units of each hidden layer, as `routing=policy` takes them."""
    return [len(bias) for _, bias in layers[:-1]]


def _deepened(layers: Layers, depth: int) -> Layers:
    # Two units carry a score through a rectified layer: the score and minus the score. After rectification one of them
    # is 0.
    sign = np.array([[1], [-1]], np.float32)
    deep = list(layers)
    while len(deep) < depth:
        weight, bias = deep[-1]
        deep[-1:] = [(sign @ weight, sign[:, 0] * bias), (sign.T.copy(), np.zeros(1, np.float32))]
    return deep
