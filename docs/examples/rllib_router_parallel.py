"""RLlib's PPO on `RouterParallelEnv`: the routers of a Dragonfly of 72 terminals learn biases by one shared policy.

    pip install 'flitgym[rllib]'
    python docs/examples/rllib_router_parallel.py [--iterations 30] [--seed 1]

The script prints the mean return of an episode, summed over the routers, and the return of the bias 0, which is UGAL.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import ray
from flitgym.env import RouterParallelEnv
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]
INTERVALS = 20  # steps of an episode, each of interval_ns=1000


def environment(config: dict[str, Any]) -> ParallelPettingZooEnv:
    """The environment in RLlib's form."""
    return ParallelPettingZooEnv(RouterParallelEnv(overrides=WORLD, intervals=INTERVALS))


def without_bias(seed: int) -> float:
    """The return of an episode in which no router sets a bias."""
    env = RouterParallelEnv(overrides=WORLD, intervals=INTERVALS)
    env.reset(seed=seed)
    total = 0.0
    while env.agents:
        total += sum(env.step({})[1].values())
    return total


def main(arguments: list[str] | None = None) -> tuple[float, float]:
    """Train, print, and return the mean returns of the last iteration and of the bias 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=30, help="PPO updates, each from 200 steps of all routers")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)

    register_env("routers", environment)
    config = (
        PPOConfig()
        .environment("routers")
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
        .training(train_batch_size_per_learner=200, minibatch_size=200, num_epochs=4)
        .debugging(seed=options.seed)
    )
    algorithm = config.build_algo()
    learned = float("nan")
    for iteration in range(options.iterations):
        learned = float(algorithm.train()["env_runners"]["episode_return_mean"])
        print(f"iteration {iteration + 1}: return {learned:.1f} packet-us per terminal")
    algorithm.stop()
    ugal = float(np.mean([without_bias(seed) for seed in (101, 102, 103)]))
    print(f"learned {learned:.1f}, without a bias {ugal:.1f}")
    return learned, ugal


if __name__ == "__main__":
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    main()
    ray.shutdown()
