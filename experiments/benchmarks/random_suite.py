"""Draws the suite `random`: `python -m flitgym.experiments.benchmarks.random_suite`.

The seed is fixed, so the command writes the same table again. For each task it draws a family of networks, the sizes, a
router, the packet length and a pattern. A task for which a reference does not run is drawn again. The load is a drawn
part of the saturation load, between 0.3 and 0.95. The saturation load is the highest load that a reference accepts when
every terminal offers 1 flit per cycle.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...env.experience.world import World
from ...simcore import ConfigError
from ..terminal.tables import write_csv
from .suite import SUITES

SEED = 30
TASKS = 40
PART = (0.3, 0.95)  # of the saturation load
REFERENCES = ("q_adaptive", "minimal", "ugal")  # they run on every family below
TERMINALS = (48, 400)
KEPT = ["router.latency_from=generation", "router.source_backlog=kept"]
# Warm-up and window in ns by router. The tables of Q-adaptive settle within the warm-up.
WINDOWS = {"hpdc21": (200000, 20000), "sc22": (60000, 10000), "sc19": (12000, 4000), "input_queued": (12000, 4000)}
EVERYWHERE = ("uniform", "permutation", "bit_complement", "random_bisection", "random_neighbors", "mixed")
FIXED = {"permutation": "permutation_seed", "random_bisection": "bisection_seed"}  # the same in all runs of a task
PATTERNS = {
    "dragonfly": ("adversarial",),
    "hyperx": ("tornado", "swap2", "dimension_complement_reverse"),
    "torus": ("tornado", "transpose"),
    "mesh": ("tornado", "transpose"),
    "random_regular": (),
    "slim_fly": (),
    "fat_tree": (),
}


def _sizes(family: str, random: np.random.Generator) -> dict[str, Any]:
    def whole(low: int, high: int) -> int:
        return int(random.integers(low, high + 1))

    if family == "dragonfly":
        p, a, h = whole(2, 4), whole(3, 8), whole(1, 3)
        return {"terminals_per_router": p, "routers_per_group": a, "global_ports": h, "groups": whole(4, a * h + 1)}
    if family == "hyperx":
        return {"widths": [whole(3, 8) for _ in range(whole(2, 3))], "terminals_per_router": whole(2, 5)}
    if family in ("torus", "mesh"):
        return {"sizes": [whole(3, 9) for _ in range(whole(2, 3))], "terminals_per_router": whole(1, 2)}
    if family == "random_regular":
        graph = {"routers": 2 * whole(12, 75), "degree": whole(4, 7), "terminals_per_router": whole(2, 4)}
        return {**graph, "graph_seed": whole(1, 1000)}
    if family == "slim_fly":
        return {"q": (5, 7)[whole(0, 1)], "terminals_per_router": whole(2, 4)}
    down, up = whole(3, 6), whole(2, 5)
    return {"children": [down, whole(3, 6), whole(2, 5)], "parents": [1, up, up]}


def _drawn(random: np.random.Generator) -> tuple[str, list[str], str, str, dict[str, Any]]:
    """The family, the overrides of a network, its router, a pattern and its parameters."""

    def one(words: Sequence[Any]) -> Any:
        return words[int(random.integers(len(words)))]

    family = one(list(PATTERNS))
    sizes = [f"topology.{key}={str(value).replace(' ', '')}" for key, value in _sizes(family, random).items()]
    router = one(list(WINDOWS))
    pattern = one(EVERYWHERE + PATTERNS[family])
    params = {"packet_flits": one((1, 4))}
    if pattern == "adversarial":
        params["shift"] = one((1, 2, 3, 4))
    if pattern in FIXED:
        params[FIXED[pattern]] = 1
    return family, [f"topology={family}", *sizes, f"router={router}"], router, pattern, params


def _saturation(overrides: list[str], pattern: str, params: Mapping[str, Any], router: str) -> float | None:
    """The highest load that a reference accepts; None if the task is outside the bounds or a reference does not run."""
    traffic = [f"traffic={pattern}", "traffic.load=1", *(f"traffic.{key}={value}" for key, value in params.items())]
    warm_up, window = WINDOWS[router]
    accepted = []
    with suppress(ConfigError):
        world = World.composed([*overrides, *KEPT, *traffic])
        for reference in REFERENCES:
            simulation = world.simulation(reference, 1)
            if not TERMINALS[0] <= simulation.facts()["terminals"] <= TERMINALS[1]:
                return None
            simulation.run(simulation.cycles(warm_up / 2))
            simulation.begin_window()
            simulation.run(simulation.cycles(window))
            simulation.end_window()
            accepted.append(simulation.statistics()["accepted_load"])
        return max(accepted)
    return None


def main() -> None:
    """Write the table of tasks."""
    random = np.random.default_rng(SEED)
    lines: list[dict[str, Any]] = []
    while len(lines) < TASKS:
        family, overrides, router, pattern, params = _drawn(random)
        part = float(random.uniform(*PART))
        saturation = _saturation(overrides, pattern, params, router)
        if saturation is None:
            continue
        warm_up, window = WINDOWS[router]
        line = {
            "network": f"{family}_{len(lines) + 1:02d}",
            "overrides": " ".join([*overrides, f"run.warmup_ns={warm_up}", f"run.measure_ns={window}"]),
            "pattern": pattern,
            "params": " ".join(f"{key}={value}" for key, value in params.items()),
            "load": round(max(part * saturation, 0.01), 3),
        }
        lines.append(line)
        print(f"{line['network']}: {pattern} at {line['load']} of {saturation:.3f}")
    write_csv(SUITES / "random_tasks.csv", lines)


if __name__ == "__main__":
    main()
