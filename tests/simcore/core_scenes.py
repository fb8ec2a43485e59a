"""Configurations shared by the core's Python tests. Router presets come from the YAML files of the package."""

import csv
from pathlib import Path
from typing import Any

import pytest
from flitgym.simcore import Simulation
from flitgym.simcore._presets import section

Section = dict[str, Any]
DATA = Path(__file__).parent / "data"


def peer_rows(name: str) -> list[dict[str, str]]:
    """Rows of a table in data/, without comments."""
    with (DATA / name).open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def peer_points(name: str, load: str, *curve: str) -> list[Any]:
    """The rows of a table in data/ as parameters. All but the middle row of each curve are deep tests.

    Args:
        name: The file.
        load: The column along a curve.
        curve: The columns that identify a curve.
    """
    curves: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in peer_rows(name):
        curves.setdefault(tuple(row[key] for key in curve), []).append(row)
    return [
        pytest.param(row, id="-".join([*key, row[load]]), marks=() if k == len(rows) // 2 else pytest.mark.deep)
        for key, rows in curves.items()
        for k, row in enumerate(rows)
    ]


def router(preset: str, **changes: Any) -> Section:
    """A preset of configs/router as a section of the core's configuration."""
    return {**section("router", preset), **changes}


def dragonfly(p: int, a: int, h: int, g: int, **more: Any) -> Section:
    """The section of a Dragonfly."""
    return {
        "name": "dragonfly",
        "terminals_per_router": p,
        "routers_per_group": a,
        "global_ports": h,
        "groups": g,
        **more,
    }


SMALL = dragonfly(2, 4, 2, 9)  # 72 terminals
SYSTEM = dragonfly(4, 8, 4, 33)  # 1,056 terminals


def config(
    routing: str | Section = "minimal", traffic: str | Section | None = "uniform", **sections: Any
) -> dict[str, Any]:
    """A complete configuration: 72 terminals, hpdc21 and seed 1 unless `sections` differ."""
    own = {"topology": SMALL, "router": router("hpdc21"), "routing": routing, "traffic": traffic, "seed": 1}
    return {**own, **sections}


def traffic(name: str, load: float, **more: Any) -> Section:
    """The section of a traffic pattern."""
    return {"name": name, "load": load, **more}


def booksim2_traffic(name: str, load: float, **more: Any) -> Section:
    """A traffic pattern with BookSim2's sources: one Bernoulli trial per flit time."""
    return traffic(name, load, injection="bernoulli_flit", **more)


def measure(sim: Simulation, warmup_ns: float, measure_ns: float) -> dict[str, float]:
    """Statistics of a window after a warm-up."""
    sim.run_ns(warmup_ns)
    sim.begin_window()
    sim.run_ns(measure_ns)
    sim.end_window()
    return sim.statistics()
