"""Small worlds shared by the tests of the environments."""

from typing import Any

import numpy as np
from flitgym.env import World
from flitgym.simcore import Simulation

# Three routers, all connected: every packet has one decision, at its source router.
TRIANGLE: dict[str, Any] = {
    "topology": {"name": "hyperx", "widths": [3], "terminals_per_router": 2},
    "router": {"name": "vc_router", "latency_from": "nic"},
    "traffic": {"name": "flows", "sources": [0, 1, 2, 4], "destinations": [2, 4, 5, 1], "load": 0.2},
}

# Two finite jobs on the smallest Dragonfly.
JOBS = World(
    {
        "topology": {
            "name": "dragonfly",
            "terminals_per_router": 1,
            "routers_per_group": 2,
            "global_ports": 1,
            "groups": 3,
        },
        "workload": {
            "jobs": [
                {"name": "first", "motif": "ur", "ranks": 3, "iterations": 2},
                {"name": "second", "motif": "ur", "ranks": 3, "iterations": 2},
            ],
            "placement": "linear",
        },
    }
)


def check_drains(simulation: Simulation) -> None:
    """No packet is lost; all packets arrive through their minimal candidates."""
    simulation.check_conservation()
    simulation.stop_sources()
    for _ in range(20_000):
        if not simulation.packets_in_network:
            break
        simulation.apply(np.zeros(simulation.collect(), np.int64))
    assert simulation.packets_in_network == 0
