"""Every figure states its number of seeds and its intervals."""

from typing import Any

import numpy as np
import pytest
from flitgym.experiments.metrics import mean_interval
from flitgym.experiments.plotting.drawing import draw_curves
from flitgym.experiments.plotting.seeds import state_seeds
from flitgym.experiments.results.copies import count_text
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


def note(rows: list[dict[str, Any]], over_seeds: str = "", other: str = "", of_one_seed: str = "") -> str:
    figure = Figure()
    state_seeds(figure, rows, over_seeds, other, of_one_seed)
    return figure.get_supxlabel()


def test_the_note_of_a_figure() -> None:
    assert note([row(1)], "bands: 95 %") == "1 seed; no intervals"
    assert note([row(1), row(2)], "bands: 95 %") == "means over 2 seeds; bands: 95 %"
    assert note([row(1), row(2)]) == "means over 2 seeds; no intervals"
    assert note([row(1)], other="bars: ranks") == "1 seed; bars: ranks"
    assert note([row(1)], "over seeds", of_one_seed="over ranks") == "1 seed; over ranks"
    assert note([row(1), row(2)], "over seeds", of_one_seed="over ranks") == "means over 2 seeds; over seeds"
    placed = [row(1, placement=k) for k in range(3)]
    assert note(placed, "95 % over placements") == "means over 1 seed, 3 placements; 95 % over placements"
    # At load 0.2 all runs are copies. An equal state at another load is none.
    copies = [row(seed, 0.2) | {"state_hash": 7} for seed in (1, 2, 3)]
    assert note(copies, "bands: 95 %") == "1 seed; no intervals"
    assert note([*copies, row(3) | {"state_hash": 7}, row(4), row(5)]) == "means over 1 to 4 seeds; no intervals"
    assert note([{"engine.name": "dfsssp"}]) == ""  # a forwarding table has no seed


@pytest.mark.parametrize(
    ("counts", "text"), [([1], "1 seed"), ([3, 3], "3 seeds"), ([2, 3], "2 to 3 seeds"), ([1, 2], "1 to 2 seeds")]
)
def test_counts(counts: list[int], text: str) -> None:
    assert count_text(counts) == text


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
