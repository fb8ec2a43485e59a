"""The runs of a figure, planned once for all tests."""

from functools import cache
from pathlib import Path

from flitgym.experiments import reproduce
from flitgym.experiments.running.sweep import PlannedRun


@cache
def planned(figure: str, preset: str) -> tuple[PlannedRun, ...]:
    return tuple(reproduce.plan(figure, preset, Path("results")))
