"""The parts of a training that RLlib's PPO and DQN share: configuration, the loop, and the policy at the end."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ...env.experience.world import World
from ...env.rllib_runner import LATENCY, CoreEnvRunner, Rollout, spaces_of
from ...simcore import ConfigError
from ..networks import Layers
from .config import DqnConfig, PpoConfig
from .ray_cluster import join, require_cpus

try:
    from ray.rllib.core import DEFAULT_MODULE_ID
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.utils.metrics import (
        ENV_RUNNER_RESULTS,
        EPISODE_RETURN_MEAN,
        LEARNER_RESULTS,
        NUM_ENV_STEPS_SAMPLED_LIFETIME,
    )
except ImportError as error:
    raise ConfigError(f"flitgym.agents.rllib.training needs RLlib ({error}): pip install 'flitgym[rllib]'") from error


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


Chosen = TypeVar("Chosen", PpoConfig, DqnConfig)


def learn(
    algorithm_config: Callable[[World, Chosen, int], Any],
    rollout_of: Callable[[World, Chosen], Rollout],
    world: World,
    config: Chosen,
    steps: int,
    *,
    seed: int = 0,
    policy_path: str | os.PathLike[str] | None = None,
    report: Callable[[Mapping[str, float]], object] = print,
) -> Layers:
    """Train a policy for the routers of `world` and return its layers.

    Args:
        algorithm_config: makes RLlib's configuration of the algorithm.
        rollout_of: makes the `Rollout` that each runner samples.
        world: networks and traffic.
        config: hyperparameters, and where it runs: processes, GPUs, and the Ray cluster.
        steps: decisions to sample, at least.
        seed: of worlds, weights, minibatches and replay.
        policy_path: where to write the policy (safetensors), for `routing=policy`.
        report: gets the numbers of each iteration (`numbers`).

    Raises:
        ConfigError: the world cannot be built, or no decision is made in it.
    """
    join(config.address, "address", include_dashboard=False, log_to_driver=False)
    require_cpus(config.cpus, "env_runners + learners")
    algorithm = algorithm_config(world, config, seed).build_algo()
    try:
        done = 0
        while done < steps:
            result = numbers(algorithm.train())
            done = int(result["steps"])
            report(result)
        layers = core_layers(algorithm)
    finally:
        algorithm.stop()
    if policy_path is not None:
        export(policy_path, layers, rollout_of(world, config))
    return layers


def numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an iteration.

    Returns:
        `steps`, the decisions so far; `return`, the sum of a packet's rewards; `latency_ns`, the mean packet latency;
        and the learner's own numbers as `learner/...`.
    """
    runners = result[ENV_RUNNER_RESULTS]
    learner = result.get(LEARNER_RESULTS, {}).get(DEFAULT_MODULE_ID, {})
    return {
        "steps": float(runners[NUM_ENV_STEPS_SAMPLED_LIFETIME]),
        "return": float(runners[EPISODE_RETURN_MEAN]),
        "latency_ns": float(runners.get(LATENCY, float("nan"))),
        **{f"learner/{key}": float(x) for key, x in learner.items() if isinstance(x, int | float)},
    }


def core_layers(algorithm: Any) -> Layers:
    """The learners' present policy, as layers for the core."""
    weights = algorithm.learner_group.get_weights()[DEFAULT_MODULE_ID]
    # The scores of the actor (PPO) or of the online network (DQN).
    found = (re.fullmatch(r"((?:actor|online\.scores)\.perceptron\.layers\.(\d+)\.)bias", name) for name in weights)
    layers = sorted((int(one[2]), one[1]) for one in found if one)
    return [(weights[f"{layer}weight"], weights[f"{layer}bias"]) for _, layer in layers]


def export(path: str | os.PathLike[str], layers: Layers, rollout: Rollout) -> None:
    """Write the policy to a file for `routing=policy routing.path=...`."""
    from ..policy.file import save_policy

    facts = rollout.simulation(0).seam()
    save_policy(
        Path(path),
        layers,
        network=rollout.routing.get("network", "slots"),
        slots=facts["slots"],
        observation=facts["observation"],
        topology=facts["topology"],
        relation=rollout.routing.get("relation", "widest"),
        slots_by=rollout.routing.get("slots_by", "random"),
    )
