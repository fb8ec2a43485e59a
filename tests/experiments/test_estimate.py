"""The remaining time of a sweep, estimated from finished runs and from the progress of active runs."""

import pytest
from flitgym.experiments.running.estimate import Estimate


def test_kinds_of_runs_have_separate_speeds() -> None:
    estimate = Estimate(["quick", "slow", "quick", "slow"], [1.0, 1.0, 1.0, 1.0], workers=1)
    estimate.ended(0, 1.0)
    assert estimate.left({}) == pytest.approx(3.0)  # no slow run has finished yet
    estimate.ended(1, 10.0)
    assert estimate.left({}) == pytest.approx(11.0)


def test_the_beginning_of_a_run_predicts_nothing() -> None:
    estimate = Estimate(["a", "a"], [1.0, 1.0], workers=2)
    assert estimate.left({0: (0.001, 30.0)}) is None
    estimate.ended(1, 40.0)
    assert estimate.left({0: (0.001, 30.0)}) == pytest.approx(10.0)


def test_a_run_is_not_split_between_workers() -> None:
    estimate = Estimate(["a"] * 5, [1.0, 1.0, 1.0, 1.0, 10.0], workers=2)
    estimate.ended(0, 2.0)
    assert estimate.left({}) == pytest.approx(20.0)  # the long run takes 20 s, and the short runs end during it
    estimate.ended(4, 20.0)
    assert estimate.left({}) == pytest.approx(3.0)
