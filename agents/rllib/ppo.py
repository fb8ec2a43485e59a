"""PPO (Schulman et al., 2017) by RLlib, with rollouts from the core: one policy for all routers.

The learner gets the decisions of whole packets, one packet after another in one array. So advantages (GAE, Schulman et
al., 2016) end at the delivery of a packet. They never need the critic's value at the end of an unfinished episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...env.experience.world import World
from ...simcore import ConfigError
from ..learning.advantages import generalised_advantages
from .config import PpoConfig
from .modules import MaskedActorCritic
from .training import columns_of, configure, rollout_of

try:
    import torch
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.connectors.connector_v2 import ConnectorV2
    from ray.rllib.core import DEFAULT_MODULE_ID
    from ray.rllib.core.columns import Columns
    from ray.rllib.evaluation.postprocessing import Postprocessing
except ImportError as error:
    raise ConfigError(f"flitgym.agents.rllib.ppo needs RLlib ({error}): pip install 'flitgym[rllib]'") from error

from ...env.rllib_runner import DELIVERED


def advantages(
    rewards: NDArray[np.float32],
    values: NDArray[np.float32],
    delivered: NDArray[np.bool_],
    discount: float,
    gae_lambda: float,
) -> NDArray[np.float32]:
    """GAE over packets, one after another; `delivered` marks the last decision of each.

    Decisions after the last delivery get 0. They belong to a packet whose decisions were divided among two learners.
    """
    ends = np.flatnonzero(delivered)
    whole = int(ends[-1]) + 1 if len(ends) else 0
    successor = np.where(delivered[:whole], -1, np.arange(1, whole + 1))
    reward, value = (torch.from_numpy(np.asarray(column[:whole])) for column in (rewards, values))
    next_value = torch.where(torch.from_numpy(delivered[:whole]), 0.0, value.roll(-1))
    result = np.zeros(len(rewards), np.float32)
    result[:whole] = generalised_advantages(
        reward, value, next_value, torch.from_numpy(successor), discount, gae_lambda
    ).numpy()
    return result


class PpoTrainBatch(ConnectorV2):
    """Learner connector: makes PPO's train batch from the runners' arrays, instead of RLlib's own connectors."""

    def __init__(self, *spaces: Any, discount: float, gae_lambda: float, **kwargs: Any) -> None:
        super().__init__(*spaces, **kwargs)
        self.discount, self.gae_lambda = discount, gae_lambda

    def __call__(self, *, rl_module: Any, episodes: Sequence[Any], **_: Any) -> dict[str, Any]:
        """The batch of one module, on its device."""
        module = rl_module[DEFAULT_MODULE_ID]
        module = module.unwrapped() if hasattr(module, "unwrapped") else module
        device = next(module.parameters()).device

        def tensor(column: Any) -> Any:
            return torch.as_tensor(column, device=device)

        columns = columns_of(episodes, DELIVERED, Columns.ACTION_LOGP)
        rows = tensor(columns[Columns.OBS])
        with torch.no_grad():
            values = module.compute_values({Columns.OBS: rows})
            scores = module.scores(rows)
        rewards, delivered = columns[Columns.REWARDS], columns[DELIVERED]
        gained = advantages(rewards, values.cpu().numpy(), delivered, self.discount, self.gae_lambda)
        targets = values + tensor(gained)
        gained = (gained - gained.mean()) / max(1e-4, float(gained.std()))
        return {
            DEFAULT_MODULE_ID: {
                Columns.OBS: rows,
                Columns.ACTIONS: tensor(columns[Columns.ACTIONS]),
                Columns.ACTION_LOGP: tensor(columns[Columns.ACTION_LOGP]),
                Columns.ACTION_DIST_INPUTS: scores,
                Postprocessing.ADVANTAGES: tensor(gained),
                Postprocessing.VALUE_TARGETS: targets,
            }
        }


def algorithm_config(world: World, config: PpoConfig | None = None, seed: int = 0) -> Any:
    """RLlib's `PPOConfig`, ready for `build_algo()`."""
    config = config or PpoConfig()
    discount, gae_lambda = config.discount, config.gae_lambda
    algorithm: Any = PPOConfig()  # type: ignore[no-untyped-call]
    algorithm.training(
        lr=config.learning_rate,
        train_batch_size_per_learner=config.batch // max(1, config.learners),
        # At most `minibatch`, as in flitgym's PPO; RLlib refuses a minibatch that is larger than the batch.
        minibatch_size=min(config.minibatch, config.batch // max(1, config.learners)),
        num_epochs=config.epochs,
        gamma=discount,
        lambda_=gae_lambda,
        clip_param=config.clip,
        entropy_coeff=config.entropy,
        vf_clip_param=config.value_clip,
        vf_loss_coeff=config.critic_weight,
        grad_clip=config.gradient_norm,
        # The KL penalty needs the distribution of the policy that acted, but only the log-probabilities of its actions
        # are kept.
        use_kl_loss=False,
    )
    algorithm.learners(
        add_default_connectors_to_learner_pipeline=False,
        learner_connector=lambda *spaces: PpoTrainBatch(*spaces, discount=discount, gae_lambda=gae_lambda),
    )
    fragment = -(-config.batch // max(1, config.env_runners))
    rollout = rollout_of(world, config, fragment=fragment, chains=True, temperature=1.0)
    return configure(algorithm, rollout, MaskedActorCritic, config, seed)
