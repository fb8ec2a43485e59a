"""Cost of decisions by an agent: decisions per CPU second, and a policy network in the core.

    python simcore/bench/decisions.py [--repeats 5]

The two sides of a ratio run in turns, so that a drift of the machine's speed does not decide the result. Scene:
1,056 terminals, router input_queued, uniform load 0.5, one network.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
from flitgym.simcore import Simulation, SimulationBatch

_WARMUP, _CYCLES = 1000, 800


def network(routing: str | dict[str, Any]) -> Simulation:
    """The network of all measurements, at cycle 0."""
    sections = {"topology": "dragonfly", "router": "input_queued", "traffic": {"name": "uniform", "load": 0.5}}
    return Simulation({**sections, "routing": routing, "seed": 1})


def inside(routing: str | dict[str, Any]) -> tuple[float, float]:
    """Measure decisions and flit-hops per CPU second of a routing in the core."""
    simulation = network(routing)
    simulation.run(_WARMUP)
    simulation.begin_window()
    made, began = simulation.decision_count, time.process_time()
    simulation.run(_CYCLES)
    seconds = time.process_time() - began
    return (simulation.decision_count - made) / seconds, simulation.statistics()["flit_hops"] / seconds


def batched() -> float:
    """Measure decisions per CPU second of a random policy in Python that works on the core's arrays."""
    batch = SimulationBatch([network({"name": "agent"})])
    random = np.random.default_rng(1)
    observation, mask = batch.observation, batch.mask
    address = observation.__array_interface__["data"][0]
    made, began = 0, 0.0
    for cycle in range(_WARMUP + _CYCLES):
        if cycle == _WARMUP:
            made, began = 0, time.process_time()
        count = batch.collect(1000)
        slots = np.count_nonzero(mask[:count], axis=1)
        batch.apply((random.random(count) * slots).astype(np.int64))
        made += count
    seconds = time.process_time() - began
    assert batch.observation.__array_interface__["data"][0] == address, "the observation array has moved"
    return made / seconds


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()

    rows: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        built_in, _ = inside("random")
        outside = batched()
        bare, _ = inside({"name": "random", "observation": "progress"})
        _, flat = inside({"name": "policy", "network": "flat", "hidden": [64, 64]})
        _, deaf = inside({"name": "policy", "network": "flat", "hidden": [64, 64], "observation": "queues+path"})
        _, slots = inside({"name": "policy", "network": "slots", "hidden": [32, 32]})
        _, ugal = inside("ugal_group")
        for key, value in {
            "random in the core, decisions/s": built_in,
            "random in the core, least observation, decisions/s": bare,
            "random in Python, batched, decisions/s": outside,
            "batched / in the core (goal 0.5)": outside / built_in,
            "batched / in the core, least observation": outside / bare,
            "UGAL, flit-hops/s": ugal,
            "MLP 64-64 on the whole row, flit-hops/s": flat,
            "UGAL / MLP 64-64 (goal at most 3)": ugal / flat,
            "UGAL / the same without what neighbours report": ugal / deaf,
            "UGAL / MLP 32-32 per slot": ugal / slots,
        }.items():
            rows.setdefault(key, []).append(value)
    medians = {key: statistics.median(values) for key, values in rows.items()}
    for key, value in medians.items():
        print(f"{key:62s} {value:14,.2f}" if value < 1000 else f"{key:62s} {value:14,.0f}")


if __name__ == "__main__":
    main()
