"""A routing in NumPy: draw `choices` minimal ports at random, and take the port with the shortest queue.

python two_choices.py [--loads 0.3 0.5 0.7] [--ns 5000]
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from flitgym.env import play
from numpy.typing import NDArray

WORLD = ["topology=fat_tree_64", "router=input_queued", "traffic=bit_complement"]
SEEN: dict[str, Any] = {"relation": "minimal", "observation": "queues", "slots": 4}
Rule = Callable[[NDArray[np.float32], NDArray[np.bool_]], NDArray[np.int64]]


def fewest_of(choices: int, seed: int = 1) -> Rule:
    """A rule: observation [n, width], mask [n, slots] -> chosen slots [n]."""
    rng = np.random.default_rng(seed)

    def rule(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        rows = np.arange(len(mask))[:, None]
        load = observation.reshape(len(mask), mask.shape[1], 2)[:, :, 0]  # queues.link
        drawn = rng.integers(0, mask.sum(1)[:, None], (len(mask), choices))  # candidates fill the first slots
        best = load[rows, drawn].argmin(1)
        slots: NDArray[np.int64] = drawn[rows[:, 0], best]
        return slots

    return rule


def main() -> None:
    """Print accepted load and mean latency with one and with two choices, at several loads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.3, 0.5, 0.7])
    parser.add_argument("--ns", type=float, default=5000, help="warm-up and measurement window in ns")
    given = parser.parse_args()
    for choices in (1, 2):
        for load in given.loads:
            world = [*WORLD, f"traffic.load={load}"]
            got = play(fewest_of(choices), overrides=world, seeds=[1], warmup_ns=given.ns, measure_ns=given.ns, **SEEN)
            accepted, latency = got["accepted_load"], got["packet_latency_mean_ns"]
            print(f"{choices} drawn, load {load}: accepted {accepted:.3f}, mean latency {latency:,.0f} ns", flush=True)


if __name__ == "__main__":
    main()
