"""Decisions per CPU second of the Python environments with their default world, if all actions are slot 0.

    python simcore/bench/environments.py [--repeats 5] [--decisions 20000]

An episode is one decision, so `PacketRouting-v1` has a call of `reset` after each step. The best repeat counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import gymnasium
import numpy as np
from flitgym.env import PacketBatch


def single() -> Callable[[], int]:
    """A step of `PacketRouting-v1` and the next reset."""
    env = gymnasium.make("flitgym/PacketRouting-v1")
    env.reset(seed=1)

    def step() -> int:
        env.step(0)
        env.reset()
        return 1

    return step


def vector(networks: int) -> Callable[[], int]:
    """A step of `gymnasium.make_vec` in which every network decides."""
    env = gymnasium.make_vec("flitgym/PacketRouting-v1", num_envs=networks, autoreset_mode="SameStep")
    env.reset(seed=1)
    actions = np.zeros(networks, np.int64)

    def step() -> int:
        env.step(actions)
        return networks

    return step


def batch(networks: int) -> Callable[[], int]:
    """A cycle of every network of a `PacketBatch`."""
    rows = PacketBatch(networks)
    rows.reset(seed=1)

    def step() -> int:
        count = rows.collect()
        rows.apply(np.zeros(count, np.int64))
        return count

    return step


def rate(step: Callable[[], int], decisions: int) -> float:
    """Measure decisions per CPU second."""
    made, began = 0, time.process_time()
    while made < decisions:
        made += step()
    return made / (time.process_time() - began)


def main() -> None:
    """Measure and print; the environments run in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--decisions", type=int, default=20_000, help="per repeat")
    options = parser.parse_args()

    steps = {"PacketRouting-v1": single()}
    steps |= {f"make_vec, {networks} networks": vector(networks) for networks in (8, 32)}
    steps |= {f"PacketBatch, {networks} network{'s' * (networks > 1)}": batch(networks) for networks in (1, 8)}
    best = dict.fromkeys(steps, 0.0)
    for _ in range(options.repeats):
        for name, step in steps.items():
            best[name] = max(best[name], rate(step, options.decisions))
    for name, value in best.items():
        print(f"{name:30s} {value:9,.0f} decisions per CPU second, {1e6 / value:5.2f} us each")


if __name__ == "__main__":
    main()
