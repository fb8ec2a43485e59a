"""The runs of a figure or study, planned once for all tests."""

from functools import cache
from pathlib import Path

from flitgym.configs.composition import compose_root
from flitgym.experiments import reproduce
from flitgym.experiments.comparison.places import FIGURES, STUDIES, Place, places, plan
from flitgym.experiments.running.plan import PlannedRun


def place_of(name: str) -> Place:
    return {**places(FIGURES), **places(STUDIES)}[name]


@cache
def planned(name: str, preset: str) -> tuple[PlannedRun, ...]:
    return tuple(plan(place_of(name), preset, Path("results")))


def reproduced(directory: Path, *words: str) -> list[Path]:
    """The written files of `flitgym reproduce` in a given folder."""
    return reproduce.reproduce(compose_root("reproduce", words), directory, "flitgym reproduce")
