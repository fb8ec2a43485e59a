"""The value of an observation, and Q values of its slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .scores import Perceptron, SlotScores


class StateValue(nn.Module):
    """One number per observation.

    Inputs: the general features, the first slot, each slot feature's mean and minimum.
    """

    def __init__(self, seam: Mapping[str, Any], hidden: Sequence[int]) -> None:
        super().__init__()
        self.general, self.per_slot, self.slots = len(seam["general"]), len(seam["per_slot"]), int(seam["slots"])
        self.perceptron = Perceptron([self.general + 3 * self.per_slot, *hidden, 1])

    def forward(self, observation: Tensor, mask: Tensor) -> Tensor:
        """[n, width], [n, slots] -> [n]."""
        own = observation[:, self.general :].view(-1, self.slots, self.per_slot)
        valid = mask.unsqueeze(2)
        mean = (own * valid).sum(1) / valid.sum(1).clamp(min=1)
        least = own.masked_fill(~valid, torch.inf).amin(1).nan_to_num(posinf=0)
        value: Tensor = self.perceptron(torch.cat([observation[:, : self.general], own[:, 0], mean, least], dim=1))
        return value.squeeze(1)


class QNetwork(nn.Module):
    """The Q value of every slot.

    The core needs only the scores, since adding the state's value does not change their order.

    Args:
        seam: as for `SlotScores`.
        hidden: as for `SlotScores`.
        network: as for `SlotScores`.
        dueling: Q is the state's value plus the score minus the mean score (Wang et al., ICML 2016).
    """

    def __init__(
        self, seam: Mapping[str, Any], hidden: Sequence[int], network: str = "slots", dueling: bool = False
    ) -> None:
        super().__init__()
        self.scores = SlotScores(seam, hidden, network)
        self.value = StateValue(seam, hidden) if dueling else None

    def forward(self, observation: Tensor, mask: Tensor) -> Tensor:
        """[n, width], [n, slots] -> [n, slots]."""
        scores: Tensor = self.scores(observation)
        if self.value is None:
            return scores
        mean = (scores * mask).sum(1) / mask.sum(1).clamp(min=1)
        value: Tensor = self.value(observation, mask)
        return value[:, None] + scores - mean[:, None]
