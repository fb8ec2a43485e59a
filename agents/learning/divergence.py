"""When numbers stop being finite: which quantity was the first, and what to do about it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ...simcore import CoreError

_SMALLER_STEPS = "take a smaller agent.learning_rate or agent.gradient_norm"


class DivergedError(CoreError):
    """A training cannot go on, since a number is not finite; `quantity` became so first."""

    def __init__(self, quantity: str, advice: str = _SMALLER_STEPS) -> None:
        super().__init__(f"{quantity} is not finite; {advice}")
        self.quantity, self.advice = quantity, advice

    def __reduce__(self) -> tuple[type[DivergedError], tuple[str, str]]:
        return type(self), (self.quantity, self.advice)  # from a worker process the text would come twice


def require_finite(loss: Tensor, gradient_norm: Tensor, **quantities: Tensor) -> float:
    """The loss as a number, if it and its gradient are finite.

    Call it before the step of the optimiser, so that the weights stay what they were.

    Args:
        loss: what is minimised.
        gradient_norm: of its gradient, over all parameters.
        quantities: what the loss is made of, in the order in which they are computed.

    Raises:
        DivergedError: it is not; the first of `quantities` that is not finite either is named.
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
        return "it comes from the simulation, not from learning: check vary and agent.reward, and report it"
    if name == "goal":
        return "the values of later decisions grew without bound: take a smaller agent.learning_rate or agent.discount"
    return _SMALLER_STEPS
