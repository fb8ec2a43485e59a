"""Stable-Baselines3 with default hyperparameters: adversarial traffic on a Dragonfly of 72 terminals.

    pip install 'flitgym[learn]' sb3-contrib
    python docs/examples/sb3.py [--decisions 40000] [--seed 1]             # DQN
    python docs/examples/sb3.py --agent maskable_ppo --decisions 24576
    python docs/examples/sb3.py --tolled --baseline q_adaptive --world topology=hyperx_64 traffic=bit_complement

The script prints mean packet latency and accepted load of the learned policy and of a baseline in the same networks.
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
import torch
from flitgym.env import TOLLED, play
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]


def main(arguments: list[str] | None = None) -> dict[str, dict[str, float]]:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", choices=("dqn", "maskable_ppo"), default="dqn")
    parser.add_argument("--decisions", type=int, default=40_000, help="decisions to learn from")
    parser.add_argument("--steps", type=int, default=2_048, help="steps between updates of PPO (SB3's default)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--networks", type=int, default=3, help="networks of the measurement")
    parser.add_argument("--world", nargs="+", default=WORLD, help="as after flitgym simulate")
    parser.add_argument("--baseline", default="ugal_l", help="the routing to compare with")
    parser.add_argument("--tolled", action="store_true", help="the keywords of flitgym/TolledRouting-v0")
    options = parser.parse_args(arguments)

    world, seen = options.world, {"observation": TOLLED["observation"]} if options.tolled else {}
    torch.set_num_threads(1)
    env = gymnasium.make(
        f"flitgym.env:flitgym/{'TolledRouting-v0' if options.tolled else 'PacketRouting-v1'}", overrides=world
    )
    if options.agent == "dqn":
        dqn = DQN("MlpPolicy", env, seed=options.seed)
        dqn.learn(options.decisions)
    else:
        ppo = MaskablePPO("MlpPolicy", env, n_steps=options.steps, seed=options.seed, verbose=1)
        ppo.learn(options.decisions)

    def policy(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        if options.agent == "dqn":
            return np.asarray(dqn.predict(observation, deterministic=True)[0])
        return np.asarray(ppo.predict(observation, action_masks=mask, deterministic=True)[0])

    seeds = range(101, 101 + options.networks)
    results = {
        options.agent: play(policy, overrides=world, seeds=seeds, **seen),
        options.baseline.upper().replace("_", "-"): play(options.baseline, overrides=world, seeds=seeds),
    }
    for name, row in results.items():
        print(f"{name:12s} {row['packet_latency_mean_ns']:7.0f} ns, accepted load {row['accepted_load']:.3f}")
    return results


if __name__ == "__main__":
    main()
