"""The parts of a training that RLlib's PPO and DQN share: configuration, numbers, and the policy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...env.experience.world import World
from ...env.rllib_runner import LATENCY, CoreEnvRunner, Rollout, spaces_of
from ...simcore import ConfigError
from ..learning.rollouts import SEEN
from ..networks import Layers
from .config import DqnConfig, PpoConfig

try:
    from ray.rllib.core import DEFAULT_MODULE_ID
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.utils.metrics import (
        ENV_RUNNER_RESULTS,
        EPISODE_RETURN_MEAN,
        LEARNER_RESULTS,
        NUM_ENV_STEPS_SAMPLED_LIFETIME,
    )
except ImportError as error:
    raise ConfigError(f"flitgym.agents.rllib.training needs RLlib ({error}): pip install 'flitgym[rllib]'") from error


def columns_of(episodes: Sequence[Any], *extra: str) -> dict[str, NDArray[Any]]:
    """The columns of a batch, the rows of all its episodes one after another.

    Args:
        episodes: RLlib's `SingleAgentEpisode`s in NumPy form.
        extra: further columns of the runner.

    Returns:
        Observations [n, width + slots], actions [n], rewards [n] (us), and `extra`, under RLlib's names.
    """
    pieces = []
    for episode in episodes:
        every = slice(0, len(episode))
        columns = {Columns.OBS: episode.get_observations(every), Columns.ACTIONS: episode.get_actions(every)}
        columns[Columns.REWARDS] = episode.get_rewards(every)
        pieces.append(columns | {name: episode.get_extra_model_outputs(name, every) for name in extra})
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def rollout_of(world: World, given: PpoConfig | DqnConfig, **options: Any) -> Rollout:
    """The rollout of each runner."""
    return Rollout(world, {key: getattr(given, key) for key in SEEN}, episode_ns=given.episode_ns, **options)


def configure(config: Any, rollout: Rollout, module: type, given: PpoConfig | DqnConfig, seed: int) -> Any:
    """Complete an `AlgorithmConfig`: the core simulates, and `module` is the network."""
    seam = rollout.simulation(seed).seam()
    observation, action = spaces_of(seam)
    keys = ("general", "per_slot", "slots", "width")
    model = {
        "seam": {key: seam[key] for key in keys},
        "hidden": list(given.hidden),
        "network": given.network,
        "dueling": getattr(given, "dueling", False),  # PPO has none
    }
    return (
        config.environment(observation_space=observation, action_space=action, env_config={"rollout": rollout})
        .env_runners(env_runner_cls=CoreEnvRunner, num_env_runners=given.env_runners)
        .learners(num_learners=given.learners, num_gpus_per_learner=given.gpus_per_learner)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=module, model_config=model))
        .debugging(seed=seed, log_level="ERROR")
        .reporting(min_time_s_per_iteration=None, min_sample_timesteps_per_iteration=0)
    )


def numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an iteration: decisions so far, sum of a packet's rewards, mean packet latency, and loss."""
    runners = result[ENV_RUNNER_RESULTS]
    learner = result.get(LEARNER_RESULTS, {}).get(DEFAULT_MODULE_ID, {})
    return {
        "decisions": float(runners[NUM_ENV_STEPS_SAMPLED_LIFETIME]),
        "reward": float(runners[EPISODE_RETURN_MEAN]),
        "latency_ns": float(runners.get(LATENCY, float("nan"))),
        "loss": float(learner.get("total_loss", float("nan"))),
    }


def core_layers(algorithm: Any) -> Layers:
    """The learners' present policy, as layers for the core."""
    weights = algorithm.learner_group.get_weights()[DEFAULT_MODULE_ID]
    # The scores of the actor (PPO) or of the online network (DQN).
    found = (re.fullmatch(r"((?:actor|online\.scores)\.perceptron\.layers\.(\d+)\.)bias", name) for name in weights)
    layers = sorted((int(one[2]), one[1]) for one in found if one)
    return [(weights[f"{layer}weight"], weights[f"{layer}bias"]) for _, layer in layers]
