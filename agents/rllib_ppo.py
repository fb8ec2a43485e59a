"""PPO (Schulman et al., 2017) by RLlib, with rollouts from inside the core: one policy for all routers.

    from flitgym.agents import rllib_ppo
    layers = rllib_ppo.train(world, steps=1_000_000, policy_path="ppo.safetensors")

The learner gets the decisions of whole packets, one packet behind the other in one long array. Advantages
(GAE, Schulman et al., 2016) therefore end where a packet was delivered; nothing is ever estimated beyond.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..env import World
from ..simcore import ConfigError
from .rllib_modules import Layers, MaskedActorCritic
from .rllib_training import Machines, configure, learn

try:
    import torch
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.connectors.connector_v2 import ConnectorV2
    from ray.rllib.core import DEFAULT_MODULE_ID
    from ray.rllib.core.columns import Columns
    from ray.rllib.evaluation.postprocessing import Postprocessing
except ImportError as error:
    raise ConfigError(f"flitgym.agents.rllib_ppo needs RLlib ({error}): pip install 'flitgym[rllib]'") from error

from ..env.rllib_runner import DELIVERED, Rollout


@dataclass(frozen=True)
class Hyperparameters:
    """Of PPO, and of the network.

    Args:
        hidden: units of the hidden layers, of the policy and of the value function.
        learning_rate: of Adam.
        batch: decisions per iteration, of all runners together.
        minibatch: decisions per gradient step.
        epochs: passes over a batch.
        gamma: discount per decision; 1: the return is the packet's whole delay.
        lambda_: of GAE; 1: nothing but what was measured.
        clip: of the ratio of probabilities.
        entropy: weight of the policy's entropy.
        value_clip: squared errors of the value function (us^2) above this have no gradient.
        gradient_clip: norm above which a gradient is shortened.
        episode_ns: simulated time until a new world is drawn.
    """

    hidden: Sequence[int] = (64, 64)
    learning_rate: float = 1e-3
    batch: int = 8192
    minibatch: int = 1024
    epochs: int = 4
    gamma: float = 1.0
    lambda_: float = 0.95
    clip: float = 0.2
    entropy: float = 0.003
    value_clip: float = 100.0
    gradient_clip: float = 0.5
    episode_ns: float = 100_000.0
    seam: Mapping[str, Any] = field(default_factory=dict)


def advantages(
    rewards: NDArray[np.float32],
    values: NDArray[np.float32],
    delivered: NDArray[np.bool_],
    gamma: float,
    lambda_: float,
) -> NDArray[np.float32]:
    """GAE over packets that stand one behind the other, each ending with `delivered`.

    Decisions behind the last end (a packet that was cut where learners share a batch) get 0.
    """
    ends = np.flatnonzero(delivered)
    number = np.arange(len(rewards))
    whole = number <= (ends[-1] if len(ends) else -1)
    left = (
        np.where(whole, ends[np.minimum(np.searchsorted(ends, number), len(ends) - 1)] - number, -1)
        if len(ends)
        else -1
    )
    result = np.zeros(len(rewards), np.float32)
    # All last decisions at once, then all but last ones, ...: a packet has few.
    for distance in range(int(np.max(left)) + 1):
        at = np.flatnonzero(left == distance)
        result[at] = rewards[at] - values[at]
        if distance:
            result[at] += gamma * (values[at + 1] + lambda_ * result[at + 1])
    return result


class PacketBatch(ConnectorV2):
    """Learner connector: from the runners' arrays straight to PPO's train batch, in the place of RLlib's own pieces."""

    def __init__(self, *spaces: Any, gamma: float, lambda_: float, **kwargs: Any) -> None:
        super().__init__(*spaces, **kwargs)
        self.gamma, self.lambda_ = gamma, lambda_

    def __call__(self, *, rl_module: Any, episodes: Sequence[Any], **_: Any) -> dict[str, Any]:
        """The batch of one module, on its device."""
        module = rl_module[DEFAULT_MODULE_ID]
        module = module.unwrapped() if hasattr(module, "unwrapped") else module
        device = next(module.parameters()).device

        def column(get: Callable[[Any], Any]) -> Any:
            return np.concatenate([get(episode) for episode in episodes])

        def extra(name: str) -> Any:
            return column(lambda e: e.get_extra_model_outputs(name, slice(0, len(e))))

        rows = torch.as_tensor(column(lambda e: e.get_observations(slice(0, len(e)))), device=device)
        with torch.no_grad():
            values = module.compute_values({Columns.OBS: rows})
            scores = module.scores(module.policy, rows)
        rewards = column(lambda e: e.get_rewards(slice(0, len(e))))
        gained = advantages(rewards, values.cpu().numpy(), extra(DELIVERED), self.gamma, self.lambda_)
        targets = values + torch.as_tensor(gained, device=device)
        gained = (gained - gained.mean()) / max(1e-4, float(gained.std()))
        return {
            DEFAULT_MODULE_ID: {
                Columns.OBS: rows,
                Columns.ACTIONS: torch.as_tensor(column(lambda e: e.get_actions(slice(0, len(e)))), device=device),
                Columns.ACTION_LOGP: torch.as_tensor(extra(Columns.ACTION_LOGP), device=device),
                Columns.ACTION_DIST_INPUTS: scores,
                Postprocessing.ADVANTAGES: torch.as_tensor(gained, device=device),
                Postprocessing.VALUE_TARGETS: targets,
            }
        }


def rollout_of(world: World, parameters: Hyperparameters, machines: Machines) -> Rollout:
    """What each runner samples."""
    return Rollout(
        world,
        seam=parameters.seam,
        hidden=tuple(parameters.hidden),
        fragment=-(-parameters.batch // max(1, machines.env_runners)),
        chains=True,
        temperature=1.0,
        episode_ns=parameters.episode_ns,
    )


def algorithm_config(
    world: World, parameters: Hyperparameters | None = None, machines: Machines | None = None, seed: int = 0
) -> Any:
    """RLlib's `PPOConfig`, ready for `build_algo()`."""
    parameters, machines = parameters or Hyperparameters(), machines or Machines()
    gamma, lambda_ = parameters.gamma, parameters.lambda_
    config: Any = PPOConfig()  # type: ignore[no-untyped-call]
    config.training(
        lr=parameters.learning_rate,
        train_batch_size_per_learner=parameters.batch // max(1, machines.learners),
        minibatch_size=parameters.minibatch,
        num_epochs=parameters.epochs,
        gamma=gamma,
        lambda_=lambda_,
        clip_param=parameters.clip,
        entropy_coeff=parameters.entropy,
        vf_clip_param=parameters.value_clip,
        vf_loss_coeff=0.5,
        grad_clip=parameters.gradient_clip,
        # The old distribution is not kept (its log-probabilities are), so there is no divergence to penalise.
        use_kl_loss=False,
    )
    config.learners(
        add_default_connectors_to_learner_pipeline=False,
        learner_connector=lambda *spaces: PacketBatch(*spaces, gamma=gamma, lambda_=lambda_),
    )
    return configure(config, rollout_of(world, parameters, machines), MaskedActorCritic, machines, seed)


def train(
    world: World,
    steps: int,
    *,
    parameters: Hyperparameters | None = None,
    machines: Machines | None = None,
    seed: int = 0,
    policy_path: str | os.PathLike[str] | None = None,
    report: Callable[[Mapping[str, float]], object] = print,
) -> Layers:
    """Train a policy for the routers of `world` with `steps` decisions, and return its layers.

    Args:
        world: networks and traffic.
        steps: decisions to sample, at least.
        parameters: of the algorithm.
        machines: runners, learners, GPUs, and the Ray cluster.
        seed: of worlds, weights and minibatches.
        policy_path: where to write the policy (safetensors), for `routing=policy`.
        report: gets the numbers of each iteration.

    Raises:
        ConfigError: the world cannot be built, or nothing is decided in it.
    """
    parameters, machines = parameters or Hyperparameters(), machines or Machines()
    config = algorithm_config(world, parameters, machines, seed)
    return learn(config, rollout_of(world, parameters, machines), machines, steps, policy_path, report)
