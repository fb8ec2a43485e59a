"""Patterns have the names under which they are registered."""

from typing import Any

import pytest
from flitgym.experiments.plotting.drawing import curve, select
from flitgym.experiments.plotting.patterns import pattern_of, title_of
from flitgym.simcore import registered


def row(name: str, **parameters: Any) -> dict[str, Any]:
    return {"traffic.name": name, **{f"traffic.{key}": value for key, value in parameters.items()}}


@pytest.mark.parametrize(
    ("pattern", "called", "title"),
    [
        (row("uniform"), "uniform", "UR"),
        (row("uniform", self=False), "uniform, self=False", "UR, self=False"),
        (row("swap2"), "swap2", "S2"),
        (row("adversarial", shift=4), "adversarial4", "ADV+4"),
        (row("adversarial"), "adversarial1", "ADV+1"),
        (row("uniform_random_bisection", dimension="y"), "uniform_random_bisection_y", "URBy"),
        (row("uniform_random_bisection", dimension="3"), "uniform_random_bisection_3", "uniform random bisection 3"),
        (row("stencil_3d"), "stencil_3d", "stencil 3d"),
        (row("permutation", permutation_seed=7), "permutation", "permutation"),
        # In a table, every row has all columns. Columns of other patterns are null or absent.
        (row("transpose", shift=None), "transpose", "transpose"),
        (row("of_an_extension"), "of_an_extension", "of an extension"),
        (row("uniform_of_an_extension"), "uniform_of_an_extension", "uniform of an extension"),
    ],
)
def test_names_and_titles(pattern: dict[str, Any], called: str, title: str) -> None:
    assert pattern_of(pattern) == called
    assert title_of(called) == title


def test_every_registered_pattern_has_its_own_title() -> None:
    patterns = {pattern_of(row(name)) for name in registered("traffic")}
    assert len({title_of(pattern) for pattern in patterns}) == len(patterns) == len(registered("traffic"))


def test_a_swept_parameter_makes_separate_curves() -> None:
    rows = [
        {**row("hotspot", fraction=part), "traffic.load": 0.5, "seed": 1, "accepted_load": 0.5 - part, "policy": "par"}
        for part in (0.1, 0.2)
    ]
    assert [pattern_of(one) for one in rows] == ["hotspot", "hotspot, fraction=0.2"]  # 0.1 is the default
    assert curve(select(rows, "hotspot, fraction=0.2"), "accepted_load")[1] == pytest.approx([0.3])
