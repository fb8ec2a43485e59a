"""Generalised advantage estimation (Schulman et al., ICLR 2016) along the decisions of packets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from ...env.experience.chains import following


def successors(rows: Mapping[str, Tensor]) -> Tensor:
    """The row of each transition's packet's next decision, [n]; -1 where there is none, or it is not among the rows.

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
        value: the critic's estimate where it was made, [n].
        next_value: likewise at the packet's next decision, 0 behind its last, [n].
        successor: the row of that decision, [n]; -1: none, or not here, and the critic's estimate stands for the rest.
        discount: per decision.
        gae_lambda: 1: nothing but what was measured, as far as it is here; 0: nothing but the next step.
    """
    known = successor >= 0
    delta = reward + discount * next_value - value
    advantage, left = delta, known
    while left.any():  # of the longest chain, a link each time; numbers of decisions rise along it
        advantage = delta + torch.where(known, discount * gae_lambda * advantage[successor], 0.0)
        left = known & left[successor]
    return advantage
