"""The parts of agents that learn by gradients: the checkpoint, the learning rate, and a step of the optimiser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from .divergence import require_finite
from .replay import Replay
from .rollouts import Rollouts


class Learner:
    """Base class of agents that learn by gradients. Each subclass sets these attributes.

    Attributes:
        config: with `learning_rate` and `gradient_norm`.
        rounds: of the whole training.
        round: finished rounds.
        optimiser: of all trained parameters.
        generator: draws the batches.
        parts: networks, optimiser and generator by name, for the checkpoint.
        rollouts: the simulations; only agents that simulate set it.
        replay: the replay buffer; only agents with such a buffer set it.
    """

    NUMBERS: ClassVar[tuple[str, ...]] = ("round",)
    """The attributes of the checkpoint that are whole numbers."""
    ROUTING: ClassVar[tuple[str, ...]] = ()
    """The hyperparameters that are parameters of `routing=policy`."""

    config: Any
    rounds: int
    round: int
    optimiser: torch.optim.Adam
    generator: torch.Generator
    parts: dict[str, nn.Module | torch.optim.Adam | torch.Generator]
    rollouts: Rollouts
    replay: Replay

    @classmethod
    def routing(cls, config: Any) -> dict[str, Any]:
        """Parameters of `routing=policy`, for the rollouts and for the policy."""
        return {key: getattr(config, key) for key in cls.ROUTING}

    def hold(self, seed: int, *trained: str, **networks: nn.Module) -> None:
        """Set `optimiser`, `generator`, `parts` and `round`.

        Args:
            seed: of the generator, which draws the batches.
            trained: the networks whose parameters the optimiser changes.
            networks: all networks, by name.
        """
        parameters = [parameter for name in trained for parameter in networks[name].parameters()]
        self.optimiser = torch.optim.Adam(parameters, self.config.learning_rate)
        self.generator = torch.Generator().manual_seed(seed)
        self.round = 0
        self.parts = {**networks, "optimiser": self.optimiser, "generator": self.generator}

    def lower_rate(self) -> None:
        """Let the learning rate fall to a tenth during the training, so that the last policies differ little."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.config.learning_rate * (1 - 0.9 * self.round / max(self.rounds, 1))

    def descend(self, loss: Tensor, **quantities: Tensor) -> float:
        """Make one step of gradient descent, and return the loss. `require_finite` checks the loss and `quantities`."""
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        parameters = [parameter for group in self.optimiser.param_groups for parameter in group["params"]]
        norm = nn.utils.clip_grad_norm_(parameters, self.config.gradient_norm)
        value = require_finite(loss, norm, **quantities)
        self.optimiser.step()
        return value

    def state(self) -> dict[str, Any]:
        """The agent's part of a checkpoint."""
        parts = {
            name: part.get_state() if isinstance(part, torch.Generator) else part.state_dict()
            for name, part in self.parts.items()
        }
        numbers = {name: getattr(self, name) for name in self.NUMBERS}
        return {**parts, **numbers, **{name: part.state() for name, part in self._held().items()}}

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from a `state()`."""
        for name in self.NUMBERS:
            setattr(self, name, state[name])
        for name, part in self.parts.items():
            if isinstance(part, torch.Generator):
                part.set_state(state[name])
            else:
                part.load_state_dict(state[name])
        for name, held in self._held().items():
            held.load_state(state[name])

    def _held(self) -> dict[str, Rollouts | Replay]:
        return {name: getattr(self, name) for name in ("rollouts", "replay") if hasattr(self, name)}


@torch.no_grad()
def bellman_goal(batch: Mapping[str, Tensor], target: nn.Module, chooser: nn.Module, discount: float) -> Tensor:
    """[n] reward plus the target network's value of the action that `chooser` takes next; 0 after the last action.

    If `chooser` is the online network, this is double Q-learning (van Hasselt, Guez, Silver, AAAI 2016).
    """
    following, mask = batch["next_observation"], batch["next_mask"]
    judged = target(following, mask)
    values = judged if chooser is target else chooser(following, mask)
    best = values.masked_fill(~mask, -torch.inf).argmax(1, keepdim=True)
    continues = mask.any(1) & ~batch["done"]
    return batch["reward"] + torch.where(continues, discount * judged.gather(1, best).squeeze(1), 0.0)


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, rate: float) -> None:
    """Move the weights of a target network towards those of the online network."""
    for own, other in zip(slow.parameters(), fast.parameters(), strict=True):
        own.lerp_(other, rate)
