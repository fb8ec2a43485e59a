"""Scores of a policy's layers for rows of features, computed as in the core."""

import numpy as np
from flitgym.agents.networks import Layers


def score(layers: Layers, x: np.ndarray) -> np.ndarray:
    """Maps [n, inputs] to [n]: one output, with rectified linear units between the layers."""
    for weight, bias in layers[:-1]:
        x = np.maximum(x @ weight.T + bias, 0)
    weight, bias = layers[-1]
    return (x @ weight.T + bias)[:, 0]
