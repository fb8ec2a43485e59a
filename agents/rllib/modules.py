"""RLModules around the networks of `flitgym.agents.networks`, whose policy the core can run.

They see rows as `flitgym.env.experience.bounds.seen` makes them: the observation, then 1 or 0 per slot.
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
    """What the two have in common: `model_config` holds the `seam`, `hidden`, `network` and, of DQN, `dueling`."""

    def setup(self) -> None:
        """How a row is divided."""
        settings: Any = self.model_config
        self.seam: Mapping[str, Any] = settings["seam"]
        self.hidden, self.network = settings["hidden"], settings["network"]
        self.width = int(self.seam["width"])

    def divided(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Observation [n, width] and mask [n, slots] of rows."""
        return rows[..., : self.width], rows[..., self.width :] > 0

    def core_layers(self) -> Layers:
        """The weights that decide."""
        raise NotImplementedError


def _masked(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Minus infinity (nearly, so that gradients stay finite) where there is no candidate."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


class MaskedActorCritic(_Masked, InferenceOnlyAPI, ValueFunctionAPI):
    """For PPO: actor and critic of `flitgym.agents.ppo`."""

    def setup(self) -> None:
        """Build both networks."""
        super().setup()
        self.actor = SlotScores(self.seam, self.hidden, self.network)
        self.critic = StateValue(self.seam, CRITIC)

    def core_layers(self) -> Layers:
        """The weights that decide."""
        return self.actor.export()

    def get_non_inference_attributes(self) -> list[str]:
        """The critic only learns."""
        return ["critic"]

    def scores(self, rows: torch.Tensor) -> torch.Tensor:
        """Of every slot, [n, slots]."""
        observation, mask = self.divided(rows)
        return _masked(self.actor(observation), mask)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self.scores(batch[Columns.OBS])}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """The expected return of each row."""
        values: torch.Tensor = self.critic(*self.divided(batch[Columns.OBS]))
        return values


class MaskedQNetwork(_Masked, InferenceOnlyAPI, QNetAPI, TargetNetworkAPI):
    """For DQN: the network of `flitgym.agents.dqn`, and a slower copy of it for targets."""

    target: nn.Module

    def setup(self) -> None:
        """Build the network."""
        super().setup()
        settings: Any = self.model_config
        self.online = QNetwork(self.seam, self.hidden, self.network, settings["dueling"])

    def core_layers(self) -> Layers:
        """The weights that decide."""
        return self.online.scores.export()

    def _values(self, network: nn.Module, rows: torch.Tensor) -> torch.Tensor:
        observation, mask = self.divided(rows)
        return _masked(network(observation, mask), mask)

    def get_non_inference_attributes(self) -> list[str]:
        """The slower copy only learns."""
        return ["target"]

    def make_target_networks(self) -> None:
        """Copy the network."""
        self.target = make_target_network(self.online)

    def get_target_network_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """Which network follows which."""
        return [(self.online, self.target)]

    def compute_q_values(self, batch: dict[str, Any]) -> dict[str, Any]:
        """By the network itself."""
        return {QF_PREDS: self._values(self.online, batch[Columns.OBS])}

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        """By its slower copy."""
        return {QF_PREDS: self._values(self.target, batch[Columns.OBS])}

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
