"""A score for every slot. The core evaluates the same layers (simcore/src/learning/perceptron.cpp)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Layers = list[tuple[NDArray[np.float32], NDArray[np.float32]]]


class Perceptron(nn.Module):
    """Fully connected layers with rectified linear units in between."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(n, m) for n, m in pairwise(sizes))

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]."""
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        output: Tensor = self.layers[-1](x)
        return output


class SlotScores(nn.Module):
    """A score for every slot of an observation.

    Args:
        seam: `Simulation.seam()`, which holds the numbers of general features, of features per slot, and of slots.
        hidden: units of each hidden layer.
        network: `slots`: one network is applied to every slot. Its inputs are the general features and those of the
            slot, so the order of the slots has no effect. `flat`: the inputs are the whole row.
    """

    def __init__(self, seam: Mapping[str, Any], hidden: Sequence[int], network: str = "slots") -> None:
        super().__init__()
        self.general, self.per_slot = len(seam["general"]), len(seam["per_slot"])
        self.slots, self.network = int(seam["slots"]), network
        if network == "slots":
            self.perceptron = Perceptron([self.general + self.per_slot, *hidden, 1])
        else:
            self.perceptron = Perceptron([int(seam["width"]), *hidden, self.slots])

    def forward(self, observation: Tensor) -> Tensor:
        """[n, width] -> [n, slots]; the scores of masked slots have no meaning."""
        if self.network == "flat":
            flat: Tensor = self.perceptron(observation)
            return flat
        general = observation[:, None, : self.general].expand(-1, self.slots, -1)
        own = observation[:, self.general :].view(-1, self.slots, self.per_slot)
        scores: Tensor = self.perceptron(torch.cat([general, own], dim=2)).squeeze(2)
        return scores

    def export(self) -> Layers:
        """Weights [outputs, inputs] and biases of every layer, for `Simulation.set_policy` and `save_policy`."""
        linear = [layer for layer in self.perceptron.layers if isinstance(layer, nn.Linear)]
        return [(layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy()) for layer in linear]
