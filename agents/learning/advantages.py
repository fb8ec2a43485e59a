"""Generalised advantage estimation (Schulman et al., ICLR 2016) along the decisions of packets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from ...env.experience.chains import following


def successors(rows: Mapping[str, Tensor]) -> Tensor:
    """The row of each packet's next decision, [n]; -1 if there is none, or if it is not among the rows.

    Args:
        rows: transitions with `decision`, `next_decision` (int64, -1: none) and `network`, [n] each.
    """
    decision, next_decision = (rows[name].cpu().numpy().view(np.uint64) for name in ("decision", "next_decision"))
    places = following(decision, next_decision, rows["network"].cpu().numpy())
    return torch.from_numpy(places).to(rows["decision"].device)


@torch.no_grad()
def generalised_advantages(
    reward: Tensor, value: Tensor, next_value: Tensor, successor: Tensor, discount: float, gae_lambda: float
) -> Tensor:
    """The advantage of every decision, [n].

    Args:
        reward: of each decision, [n].
        value: the critic's estimate at the decision, [n].
        next_value: the critic's estimate at the packet's next decision, 0 after its last one, [n].
        successor: the row of the next decision, [n]; -1 if it is not among the rows. `next_value` then replaces all
            later rewards.
        discount: per decision.
        gae_lambda: 1 uses all measured rewards that are known; 0 uses one reward and the critic's next value.
    """
    known = successor >= 0
    delta = reward + discount * next_value - value
    advantage, left = delta, known
    while left.any():  # each turn adds one more decision to every chain
        advantage = delta + torch.where(known, discount * gae_lambda * advantage[successor], 0.0)
        left = known & left[successor]
    return advantage
