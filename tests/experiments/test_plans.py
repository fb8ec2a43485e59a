"""The runs of figures and studies come from composed sections, and equal those that Hydra composes one by one."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from flitgym.configs.composition import Root
from flitgym.experiments.comparison import places as home
from flitgym.experiments.running.sweep import PlannedRun, expand
from plans import place_of

pytestmark = pytest.mark.deep

NAMES = [name for folder in (home.FIGURES, home.STUDIES) for name in home.available(folder)]
SAMPLES = 3  # number of blocks of a sweep, with one run each

Block = Mapping[str, Any]


def sweep_of(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Sequence[str], Sequence[Block], Path]:
    """The arguments of `expand` for the quick preset of a figure."""
    with monkeypatch.context() as patch:
        patch.setattr(home, "expand_with_searches", lambda *asked: asked)
        asked: Any = home.plan(place_of(name), "quick", Path("results"))
    return asked


def sampled(blocks: Sequence[Block]) -> list[Block]:
    """Some of the blocks, each with one value per axis: the k-th block takes the k-th value."""
    runs = [block for block in blocks if all(block.get("sweep", {}).values())]
    chosen = [runs[k * (len(runs) - 1) // (SAMPLES - 1)] for k in range(SAMPLES)]
    return [
        {
            **block,
            "sweep": {key: [values[k % len(values)]] for key, values in block.get("sweep", {}).items()},
            "together": [[axis[k % len(axis)]] for axis in block.get("together", ())],
        }
        for k, block in enumerate(chosen)
    ]


def described(run: PlannedRun) -> tuple[str, Path, float]:
    return json.dumps(run.plain), run.directory, run.cost


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_equals_that_of_hydra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    common, blocks, directory = sweep_of(name, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(Root, "by_hydra", None)  # a call raises an error
        whole = set(map(described, expand(common, blocks, directory)))
    monkeypatch.setattr(Root, "resolved", Root.by_hydra)
    samples = [described(run) for run in expand(common, sampled(blocks), directory)]
    assert len(samples) == SAMPLES
    assert set(samples) <= whole
