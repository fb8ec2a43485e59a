"""RLModules around the networks of `flitgym.agents.networks`, so that the core can run their policy.

A row is the observation followed by the mask, 1 or 0 per slot (`flitgym.env.experience.bounds.seen`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...simcore import ConfigError
from ..networks import Layers, QNetwork, SlotScores, StateValue
from ..ppo import CRITIC

try:
    import torch
    from ray.rllib.algorithms.dqn.default_dqn_rl_module import QF_NEXT_PREDS, QF_PREDS, QF_TARGET_NEXT_PREDS
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.learner.utils import make_target_network
    from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, QNetAPI, TargetNetworkAPI, ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from torch import nn
except ImportError as error:
    raise ConfigError(f"flitgym.agents.rllib.modules needs RLlib ({error}): pip install 'flitgym[rllib]'") from error


class _Masked(TorchRLModule):
    """The common part; `model_config` holds the `seam`, `hidden`, `network` and, for DQN, `dueling`."""

    def setup(self) -> None:
        """Read the layout of a row."""
        settings: Any = self.model_config
        self.seam: Mapping[str, Any] = settings["seam"]
        self.hidden, self.network = settings["hidden"], settings["network"]
        self.width = int(self.seam["width"])

    def divided(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Observation [n, width] and mask [n, slots] of rows."""
        return rows[..., : self.width], rows[..., self.width :] > 0

    def core_layers(self) -> Layers:
        """The layers that the core follows."""
        raise NotImplementedError


def _masked(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The scores. A slot without a candidate gets the most negative finite number, so that gradients stay finite."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


class MaskedActorCritic(_Masked, InferenceOnlyAPI, ValueFunctionAPI):
    """PPO's module: actor and critic of `flitgym.agents.ppo`."""

    def setup(self) -> None:
        """Build both networks."""
        super().setup()
        self.actor = SlotScores(self.seam, self.hidden, self.network)
        self.critic = StateValue(self.seam, CRITIC)

    def core_layers(self) -> Layers:
        """The layers that the core follows."""
        return self.actor.export()

    def get_non_inference_attributes(self) -> list[str]:
        """The critic, which only learners need."""
        return ["critic"]

    def scores(self, rows: torch.Tensor) -> torch.Tensor:
        """The scores of all slots, [n, slots]."""
        observation, mask = self.divided(rows)
        return _masked(self.actor(observation), mask)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self.scores(batch[Columns.OBS])}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """The expected return of each row."""
        values: torch.Tensor = self.critic(*self.divided(batch[Columns.OBS]))
        return values


class MaskedQNetwork(_Masked, InferenceOnlyAPI, QNetAPI, TargetNetworkAPI):
    """DQN's module: the network of `flitgym.agents.dqn`, and its target network."""

    target: nn.Module

    def setup(self) -> None:
        """Build the network."""
        super().setup()
        settings: Any = self.model_config
        self.online = QNetwork(self.seam, self.hidden, self.network, settings["dueling"])

    def core_layers(self) -> Layers:
        """The layers that the core follows."""
        return self.online.scores.export()

    def _values(self, network: nn.Module, rows: torch.Tensor) -> torch.Tensor:
        observation, mask = self.divided(rows)
        return _masked(network(observation, mask), mask)

    def get_non_inference_attributes(self) -> list[str]:
        """The target network, which only learners need."""
        return ["target"]

    def make_target_networks(self) -> None:
        """Create the target network as a copy."""
        self.target = make_target_network(self.online)

    def get_target_network_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """The network and its target network."""
        return [(self.online, self.target)]

    def compute_q_values(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Q values of the network."""
        return {QF_PREDS: self._values(self.online, batch[Columns.OBS])}

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Q values of the target network."""
        return {QF_PREDS: self._values(self.target, batch[Columns.OBS])}

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {Columns.ACTIONS: self.compute_q_values(batch)[QF_PREDS].argmax(dim=-1)}

    def _forward_train(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        # Double Q-learning: the network picks the next slot, and the target network values it. After a delivery every
        # slot is masked; the learner ignores the next value of that row.
        following = {Columns.OBS: batch[Columns.NEXT_OBS]}
        return {
            **self.compute_q_values(batch),
            QF_NEXT_PREDS: self.compute_q_values(following)[QF_PREDS],
            QF_TARGET_NEXT_PREDS: self.forward_target(following)[QF_PREDS],
        }
