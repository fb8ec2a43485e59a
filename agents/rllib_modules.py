"""RLModules whose policy is a network that the core can run: linear layers and rectified linear units, masked slots.

Both see rows as `flitgym.env.rllib_runner.rows_with_mask` makes them: the observation, then 1 or 0 per slot.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError

try:
    import torch
    from ray.rllib.algorithms.dqn.default_dqn_rl_module import QF_NEXT_PREDS, QF_PREDS, QF_TARGET_NEXT_PREDS
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.learner.utils import make_target_network
    from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, QNetAPI, TargetNetworkAPI, ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from torch import nn
except ImportError as error:
    raise ConfigError(f"flitgym.agents.rllib_modules needs RLlib ({error}): pip install 'flitgym[rllib]'") from error

Layers = list[tuple[NDArray[np.float32], NDArray[np.float32]]]


def perceptron(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Linear layers with rectified linear units between them: the shape of the core's own network."""
    sizes = [inputs, *hidden]
    parts: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes):
        parts += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(sizes[-1], outputs))


def layers_of(network: nn.Sequential) -> Layers:
    """Its weights [outputs, inputs] and biases, as `Simulation.set_policy` and the policy file take them."""
    linear = [part for part in network if isinstance(part, nn.Linear)]
    return [(x.weight.detach().cpu().numpy().copy(), x.bias.detach().cpu().numpy().copy()) for x in linear]


class _Masked(TorchRLModule):
    """What the two have in common: `model_config` says `hidden`, the spaces say the rest."""

    policy: nn.Sequential

    def setup(self) -> None:
        """Build the network that decides."""
        row: Any = self.observation_space
        action: Any = self.action_space
        settings: Any = self.model_config
        self.hidden: list[int] = settings["hidden"]
        self.slots = int(action.n)
        self.width = int(row.shape[0]) - self.slots
        self.policy = perceptron(self.width, self.hidden, self.slots)

    def scores(self, network: nn.Module, rows: torch.Tensor) -> torch.Tensor:
        """A score per slot; minus infinity (nearly, so that gradients stay finite) where there is no candidate."""
        scores: torch.Tensor = network(rows[..., : self.width])
        return scores.masked_fill(rows[..., self.width :] == 0, torch.finfo(scores.dtype).min)

    def core_layers(self) -> Layers:
        """The weights that decide."""
        return layers_of(self.policy)


class MaskedActorCritic(_Masked, InferenceOnlyAPI, ValueFunctionAPI):
    """For PPO: a policy, and a value function of its own."""

    def setup(self) -> None:
        """Build both networks; a policy that starts near uniform explores."""
        super().setup()
        self.value = perceptron(self.width, self.hidden, 1)
        with torch.no_grad():
            self.policy[-1].weight.mul_(0.1)  # type: ignore[operator]

    def get_non_inference_attributes(self) -> list[str]:
        """The value function only learns."""
        return ["value"]

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self.scores(self.policy, batch[Columns.OBS])}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """The expected return of each row."""
        values: torch.Tensor = self.value(batch[Columns.OBS][..., : self.width])
        return values.squeeze(-1)


class MaskedQNetwork(_Masked, InferenceOnlyAPI, QNetAPI, TargetNetworkAPI):
    """For DQN: a value per slot, and a slower copy of the network for targets."""

    target: nn.Module

    def get_non_inference_attributes(self) -> list[str]:
        """The slower copy only learns."""
        return ["target"]

    def make_target_networks(self) -> None:
        """Copy the network."""
        self.target = make_target_network(self.policy)

    def get_target_network_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """Which network follows which."""
        return [(self.policy, self.target)]

    def compute_q_values(self, batch: dict[str, Any]) -> dict[str, Any]:
        """By the network itself."""
        return {QF_PREDS: self.scores(self.policy, batch[Columns.OBS])}

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        """By its slower copy."""
        return {QF_PREDS: self.scores(self.target, batch[Columns.OBS])}

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {Columns.ACTIONS: self.compute_q_values(batch)[QF_PREDS].argmax(dim=-1)}

    def _forward_train(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        # Double Q-learning: the network picks the next slot, the slower copy says what it is worth. Behind a delivery
        # every slot is masked; the learner leaves that row's next value out.
        following = {Columns.OBS: batch[Columns.NEXT_OBS]}
        return {
            **self.compute_q_values(batch),
            QF_NEXT_PREDS: self.compute_q_values(following)[QF_PREDS],
            QF_TARGET_NEXT_PREDS: self.forward_target(following)[QF_PREDS],
        }
