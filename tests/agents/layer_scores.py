"""The core's scores of rows of features with the layers of a policy."""

import numpy as np
from flitgym.agents.networks import Layers


def score(layers: Layers, x: np.ndarray) -> np.ndarray:
    """[n, inputs] -> [n]: rectified linear units between the layers, one output."""
    for weight, bias in layers[:-1]:
        x = np.maximum(x @ weight.T + bias, 0)
    weight, bias = layers[-1]
    return (x @ weight.T + bias)[:, 0]
