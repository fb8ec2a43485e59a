"""Patterns have the names under which they are registered."""

from typing import Any

import pytest
from flitgym.experiments.plotting.drawing import curve, select
from flitgym.experiments.plotting.patterns import pattern_of, title_of
from flitgym.simcore import registered


def row(name: str, **parameters: Any) -> dict[str, Any]:
    return {"traffic.name": name, **{f"traffic.{key}": value for key, value in parameters.items()}}


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
