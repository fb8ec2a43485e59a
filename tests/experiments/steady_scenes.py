"""How often the intervals of `measure_steady` contain the long-run mean, on small networks.

`make coverage` runs 1,000 seeds of every scene and prints the table of `docs/steady.md`.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flitgym import Simulation, measure_steady

LONG_NS = 200_000.0  # of each run for the long-run mean
LONG_RUNS = 4
SEEDS = 1000
WINDOW_NS = 2_000.0  # the shortest window; the latency is about 30 ns


@dataclass(frozen=True)
class Scene:
    """A small network, and the precision of its runs."""

    network: dict[str, Any]
    precision: float = 0.02

    def simulation(self, seed: int, folder: Path) -> Simulation:
        topology = dict(self.network["topology"])
        if "terminals" in topology:
            count = topology.pop("terminals")
            file = folder / f"one_router_{count}.csv"
            file.write_text("a,b,a_type,b_type\n" + "".join(f"s0,h{k},switch,host\n" for k in range(count)))
            topology["file"] = str(file)
        return Simulation({**self.network, "topology": topology, "seed": seed})


def _torus(load: float, **router: Any) -> dict[str, Any]:
    return {
        "topology": {"name": "torus", "sizes": [4, 4]},
        "router": {"name": "vc_router", "source_backlog": "kept", **router},
        "routing": "dimension_order",
        "traffic": {"name": "uniform", "load": load},
    }


def _one_router(load: float) -> dict[str, Any]:
    return _torus(load) | {"topology": {"name": "graph", "terminals": 8}, "routing": "minimal"}


SCENES = {
    "torus 4x4, load 0.5": Scene(_torus(0.5)),
    "torus 4x4, load 0.7": Scene(_torus(0.7)),
    "one router, load 0.4": Scene(_one_router(0.4)),
    "one router, load 0.5": Scene(_one_router(0.5)),
}


def long_run_means(scene: Scene) -> tuple[float, float]:
    """Mean packet latency in ns and accepted load of long runs with other seeds."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(LONG_RUNS):
            simulation = scene.simulation(1_000_000 + seed, Path(folder))
            simulation.run_ns(50_000)
            simulation.begin_window()
            simulation.run_ns(LONG_NS)
            numbers = simulation.statistics()
            found.append((numbers["packet_latency_mean_ns"], numbers["accepted_load"]))
    latency, accepted = np.mean(found, axis=0)
    return float(latency), float(accepted)


def coverage(scene: Scene, means: tuple[float, float], seeds: Sequence[int]) -> dict[str, float]:
    """The share of the intervals that contain the mean: of latency and accepted load, of the steady runs."""
    hits, steady, times = np.zeros(2), 0, []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            simulation = scene.simulation(seed, Path(folder))
            found = measure_steady(simulation, scene.precision, window_ns=WINDOW_NS)
            if not found.steady or found.latency_interval is None or found.accepted_interval is None:
                continue
            steady += 1
            times.append(simulation.time_ns)
            for k, (low, high) in enumerate((found.latency_interval, found.accepted_interval)):
                hits[k] += low <= means[k] <= high
    shares = hits / steady
    return {"steady": steady, "latency": shares[0], "accepted": shares[1], "time_ns": float(np.median(times))}


if __name__ == "__main__":
    print("network, mean latency in ns, coverage of the latency, of the accepted load, steady runs, median time in ns")
    for name, scene in SCENES.items():
        means = long_run_means(scene)
        got = coverage(scene, means, range(1, SEEDS + 1))
        print(
            f"{name}, {means[0]:.2f}, {got['latency']:.1%}, {got['accepted']:.1%}, {got['steady']}, "
            f"{got['time_ns']:,.0f}",
            flush=True,
        )
