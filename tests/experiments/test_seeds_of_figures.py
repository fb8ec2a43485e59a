"""Curves of figures: their seeds, their intervals and the names of their patterns."""

from typing import Any

import numpy as np
import pytest
from flitgym.experiments.metrics import mean_interval
from flitgym.experiments.plotting.drawing import curve, draw_curves, select
from flitgym.experiments.plotting.players import pattern_of, player_of
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure


def row(seed: int, load: float = 0.1, accepted: float = 0.1, placement: int | None = None) -> dict[str, Any]:
    keys = {
        "traffic.name": "uniform",
        "traffic.load": load,
        "routing.name": "par",
        "workload.placement_seed": placement,
    }
    return {**keys, "workload.placement_seed": placement, "seed": seed, "accepted_load": accepted}


def test_a_curve_of_several_seeds_has_a_band() -> None:
    rows = [row(seed, load, load * (1 - seed / 100)) for seed in (1, 2, 3) for load in (0.1, 0.2)]
    ax = Figure().subplots()
    draw_curves(ax, rows, "uniform", "accepted_load")
    (band,) = (artist for artist in ax.collections if isinstance(artist, PolyCollection))
    low = [mean_interval([load * (1 - seed / 100) for seed in (1, 2, 3)]).low for load in (0.1, 0.2)]
    vertices = np.asarray(band.get_paths()[0].vertices)
    assert all(np.isclose(vertices, (load, end)).all(axis=1).any() for load, end in zip((0.1, 0.2), low, strict=True))
    alone = Figure().subplots()
    draw_curves(alone, [one for one in rows if one["seed"] == 1], "uniform", "accepted_load")
    assert not alone.collections


def test_a_swept_parameter_of_a_pattern_makes_separate_curves() -> None:
    rows = [
        row(1) | {"traffic.name": "hotspot", "traffic.fraction": part, "accepted_load": part} for part in (0.1, 0.2)
    ]
    assert [pattern_of(one) for one in rows] == ["hotspot", "hotspot, fraction=0.2"]  # 0.1 is the default
    assert curve(select(rows, "hotspot, fraction=0.2"), "accepted_load")[1] == pytest.approx([0.2])


def test_a_row_of_a_forwarding_table_names_no_routing() -> None:
    assert player_of({"engine": "dfsssp"}) == ""
    assert player_of({"engine": "dfsssp", "policy": "tables"}) == "tables"
