"""The time that a sweep has left: from the runs that ended, and from the parts of those under way."""

import pytest
from flitgym.experiments.running.estimate import Estimate


def test_nothing_is_said_before_anything_is_known() -> None:
    estimate = Estimate(["a", "a"], [1.0, 1.0], workers=2)
    assert estimate.left({}) is None
    assert estimate.left({0: (0.0, 0.0)}) is None


def test_runs_that_are_alike_go_by_their_cost() -> None:
    estimate = Estimate(["a"] * 4, [1.0, 2.0, 4.0, 8.0], workers=1)
    estimate.ended(0, 3.0)
    assert estimate.left({}) == pytest.approx(3.0 * (2 + 4 + 8))


def test_other_runs_have_a_speed_of_their_own() -> None:
    estimate = Estimate(["quick", "slow", "quick", "slow"], [1.0, 1.0, 1.0, 1.0], workers=1)
    estimate.ended(0, 1.0)
    assert estimate.left({}) == pytest.approx(3.0)  # of slow runs nothing is known yet
    estimate.ended(1, 10.0)
    assert estimate.left({}) == pytest.approx(11.0)


def test_a_run_under_way_says_the_most_about_its_rest() -> None:
    estimate = Estimate(["a", "a"], [1.0, 1.0], workers=2)
    # A quarter took 5 s, so that the rest takes 15 s; the other run takes 20 s at this speed.
    assert estimate.left({0: (0.25, 5.0)}) == pytest.approx(20.0)
    assert estimate.left({0: (0.25, 5.0), 1: (0.5, 10.0)}) == pytest.approx(15.0)


def test_workers_share_the_rest_but_no_run_is_cut() -> None:
    estimate = Estimate(["a"] * 5, [1.0, 1.0, 1.0, 1.0, 10.0], workers=2)
    estimate.ended(0, 2.0)
    assert estimate.left({}) == pytest.approx(20.0)  # the long run, beside which the short ones end
    estimate.ended(4, 20.0)
    assert estimate.left({}) == pytest.approx(3.0)


def test_a_run_of_no_cost_takes_time_for_its_files() -> None:
    estimate = Estimate(["a"] * 101, [1.0, *[0.0] * 100], workers=1)
    estimate.ended(0, 2.0)
    assert estimate.left({}) == pytest.approx(5.0)


def test_the_picture_is_part_of_the_time_left() -> None:
    estimate = Estimate(["a", "a"], [1.0, 1.0], workers=1, after=2.0)
    estimate.ended(0, 3.0)
    assert estimate.left({}) == pytest.approx(5.0)
