"""Diverged trainings: the first quantity that is not finite, and what to do about it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ...simcore import CoreError

_SMALLER_STEPS = "take a smaller agent.learning_rate or agent.gradient_norm"


class DivergedError(CoreError):
    """A training cannot continue, since a number is not finite. `quantity` is the first such quantity."""

    def __init__(self, quantity: str, advice: str = _SMALLER_STEPS) -> None:
        super().__init__(f"{quantity} is not finite; {advice}")
        self.quantity, self.advice = quantity, advice

    def __reduce__(self) -> tuple[type[DivergedError], tuple[str, str]]:
        return type(self), (self.quantity, self.advice)  # the default would pass the whole message as `quantity`


def require_finite(loss: Tensor, gradient_norm: Tensor, **quantities: Tensor) -> float:
    """The loss as a number, if it and its gradient are finite.

    Call it before the optimiser's step, so that a diverged gradient does not change the weights.

    Args:
        loss: the loss.
        gradient_norm: the norm of its gradient over all parameters.
        quantities: the terms of the loss, in the order of their computation.
    """
    value = float(loss.detach())
    if math.isfinite(value) and math.isfinite(float(gradient_norm)):
        return value
    for name, quantity in {**quantities, "loss": loss, "gradient": gradient_norm}.items():
        if not bool(torch.isfinite(quantity.detach()).all()):
            raise DivergedError(f"the {name.replace('_', ' ')}", _advice(name))
    raise DivergedError("the loss")


def _advice(name: str) -> str:
    if name in ("observation", "reward"):
        return "it comes from the simulation, not from learning: check vary and agent.reward, and report this error"
    if name == "goal":
        return "the values of later decisions grow without bound: take a smaller agent.learning_rate or agent.discount"
    return _SMALLER_STEPS
