"""Learns from the true objective alone, `control="all"`, by the cross-entropy method on the returns of whole episodes.

    python docs/examples/evolution.py [--rounds 15] [--seed 1] [--save evolution.safetensors]

The reward of a step is that of the whole network, so a gradient per decision drowns in the delays of all other packets.
This client varies the policy instead of its actions. The score of a slot is a weighted sum of its features. All
candidates of a round play the same network. The script exports the mean weights, and prints the mean packet latency of
this policy in the core and that of UGAL-L.
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
from flitgym.env import export, play
from numpy.typing import NDArray

WORLD = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.4"]
SEEN = {"observation": "progress+queues+path", "slots": 8, "slots_by": "estimate"}
CANDIDATES, ELITE, SMOOTHING, LEAST_SPREAD = 16, 4, 0.7, 0.1


def play_episode(env: gymnasium.Env, weights: NDArray[np.float64], general: int, seed: int) -> float:
    """The return of an episode, minus the sum of all delays in us, with the best slot in every decision."""
    row, info = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        scores = row[general:].reshape(-1, len(weights)) @ weights
        scores[~info["action_mask"]] = -np.inf
        row, reward, terminated, truncated, info = env.step(int(scores.argmax()))
        total, over = total + float(reward), terminated or truncated
    return total


def main() -> None:
    """Search, export, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--networks", type=int, default=3, help="networks of the measurement")
    parser.add_argument("--save", default="evolution.safetensors", help="file of the policy")
    options = parser.parse_args()

    env = gymnasium.make(
        "flitgym.env:flitgym/PacketRouting-v1", control="all", episode_ns=8_000, overrides=WORLD, **SEEN
    )
    seam, random = env.unwrapped.seam, np.random.default_rng(options.seed)
    general, features = len(seam["general"]), len(seam["per_slot"])
    mean, spread = np.zeros(features), np.ones(features)
    for number in range(options.rounds):
        drawn = mean + spread * random.standard_normal((CANDIDATES, features))
        returns = np.array([play_episode(env, one, general, 1000 * options.seed + number) for one in drawn])
        elite = drawn[returns.argsort()[-ELITE:]]
        mean = (1 - SMOOTHING) * mean + SMOOTHING * elite.mean(axis=0)
        spread = np.maximum((1 - SMOOTHING) * spread + SMOOTHING * elite.std(axis=0), LEAST_SPREAD)
        print(f"round {number + 1}: returns {returns.max():.0f} (best) and {np.median(returns):.0f} (median)")

    export([(np.concatenate([np.zeros(general), mean])[None], np.zeros(1))], env, options.save)
    seeds = range(101, 101 + options.networks)
    for name, policy in (("CEM", options.save), ("UGAL-L", "ugal_l")):
        result = play(policy, overrides=WORLD, seeds=seeds)
        print(f"{name:8s} {result['packet_latency_mean_ns']:7.0f} ns, accepted load {result['accepted_load']:.3f}")


if __name__ == "__main__":
    main()
