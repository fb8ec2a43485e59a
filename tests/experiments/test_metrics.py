"""Metrics against hand-computed cases, and properties that hold for any input."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flitgym.experiments.metrics import (
    Interval,
    bootstrap_stratified,
    crossed_interval,
    difference_interval,
    interquartile_mean,
    mean_interval,
    paired_test,
    ratio_interval,
    running_median,
    saturation_load,
    settle_time,
    student,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats


def test_saturation_load_between_two_points() -> None:
    # The network delivers 100 % of 0.4 and 75 % of 0.6. Interpolation puts 95 % at a fifth of the distance.
    assert saturation_load([0.2, 0.4, 0.6], [0.2, 0.4, 0.45]) == pytest.approx(0.44)


def test_saturation_load_never_reached_or_from_the_start() -> None:
    assert saturation_load([0.2, 0.4], [0.2, 0.4]) is None
    assert saturation_load([0.2, 0.4], [0.1, 0.1]) == 0.2


@given(st.floats(0.05, 0.9))
def test_saturation_load_of_an_ideal_network_is_a_little_above_its_capacity(capacity: float) -> None:
    offered = np.arange(1, 101) / 100
    load = saturation_load(offered, np.minimum(offered, capacity))
    assert load == pytest.approx(capacity / 0.95, abs=0.011) if capacity / 0.95 < 1 else load is None


def test_settle_time() -> None:
    time = np.arange(1, 101) * 10.0
    assert settle_time(time, np.where(time <= 300, 1000.0, 500.0)) == 310  # a step
    assert settle_time([1, 2, 3], [5, 5, 5]) == 1
    assert settle_time(time, np.exp(time / 100)) is None  # it only grows
    # Intervals without a measurement are ignored.
    assert settle_time([1, 2, 3, 4], [math.nan, 5, math.nan, 5]) == 2
    assert settle_time([1, 2], [math.nan, math.nan]) is None


def test_running_median_removes_a_spike_and_keeps_a_step() -> None:
    value = np.array([1, 1, 9, 1, 1, 5, 5, 5, 5], dtype=float)
    assert running_median(value, 3).tolist() == [1, 1, 1, 1, 1, 5, 5, 5, 5]


# --- Intervals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probability", "freedom", "tabulated"),
    [
        *((0.975, 1, 12.7062), (0.975, 2, 4.3027), (0.975, 4, 2.7764), (0.95, 9, 1.8331)),
        *((0.975, 39, 2.0227), (0.995, 39, 2.7079)),
    ],
)
def test_quantiles_of_student(probability: float, freedom: int, tabulated: float) -> None:
    assert student(probability, freedom) == pytest.approx(tabulated, abs=1e-4)


def test_the_interval_of_three_values() -> None:
    # Mean 2 and standard deviation 1: the half width is 4.3027 / sqrt(3).
    assert mean_interval([1, 2, 3]) == pytest.approx((2, 2 - 2.4842, 2 + 2.4842), abs=1e-4)
    assert difference_interval([5, 7, 9], [4, 5, 6]) == mean_interval([1, 2, 3])
    # The residuals values - 2 reference are -1, 0, 1; the mean of the reference is 2.
    assert ratio_interval([1, 4, 7], [1, 2, 3]) == pytest.approx((2, 2 - 1.2421, 2 + 1.2421), abs=1e-4)
    assert crossed_interval([[1, 2, 3]]) == crossed_interval([[1], [2], [3]]) == mean_interval([1, 2, 3])


def _normal(rng: np.random.Generator, *shape: int) -> Any:
    return rng.normal(5, 1, shape)


def _skewed(rng: np.random.Generator, *shape: int) -> Any:
    return rng.lognormal(0, 0.3, shape) / np.exp(0.045) * 5  # the mean is 5


# The table of docs/evaluation.md. Chance moves a coverage of 2,000 intervals by 0.5 % (one standard deviation).
@pytest.mark.parametrize("draw", [_normal, _skewed])
@pytest.mark.parametrize("runs", [2, 3, 5, 10])
def test_the_coverage_of_intervals_over_seeds(draw: Callable[..., Any], runs: int) -> None:
    rng = np.random.default_rng(1)
    covered = np.zeros(3)
    for _ in range(2000):
        common, other = draw(rng, 2, runs)  # of the seeds, on both sides, and of the other policy
        own = draw(rng, runs)
        found = [
            (mean_interval(own), 5),
            (difference_interval(common + other, common), 5),
            (ratio_interval(common * own, common * other), 1),
        ]
        covered += [low <= true <= high for (_, low, high), true in found]
    assert np.all(covered / 2000 > 0.925)
    assert np.all(covered / 2000 < 0.965)


@pytest.mark.parametrize("shape", [(1, 3), (3, 3), (5, 3)])
@pytest.mark.parametrize("effects", [(1, 1, 1), (1, 0, 0.5), (0, 1, 0.5), (0, 0, 1)])
def test_the_coverage_over_trainings_and_placements(shape: tuple[int, int], effects: tuple[float, ...]) -> None:
    rng, covered = np.random.default_rng(2), 0
    of_rows, of_columns, single = effects
    for _ in range(1000):
        values = rng.normal(0, single, shape) + rng.normal(0, of_columns, (1, shape[1]))
        if shape[0] > 1:
            values = values + rng.normal(0, of_rows, (shape[0], 1))
        _, low, high = crossed_interval(values)
        covered += low <= 0 <= high
    assert 930 <= covered <= 999


@pytest.mark.parametrize(("tasks", "runs"), [(4, 3), (24, 2), (24, 3)])
def test_the_coverage_of_a_score(tasks: int, runs: int) -> None:
    rng, means = np.random.default_rng(3), np.random.default_rng(4).normal(0.5, 0.5, (tasks, 1))

    def scores() -> Any:
        return means + rng.normal(0, 0.3, (tasks, runs))

    true = np.mean([interquartile_mean(scores().ravel()) for _ in range(4000)])
    intervals = [bootstrap_stratified(list(scores()), interquartile_mean, resamples=300) for _ in range(300)]
    covered = np.mean([low <= true <= high for _, low, high in intervals])
    assert 0.9 <= covered <= 0.97  # a percentile bootstrap without correction has 0.79 to 0.89


def test_pairing_removes_the_common_effect_of_seeds() -> None:
    rng = np.random.default_rng(3)
    shared, own = rng.normal(100, 10, 10), rng.normal(0, 1, (2, 10))
    a, b = shared + own[0] - 5, shared + own[1]
    difference, ratio = difference_interval(a, b), ratio_interval(a, b)
    # The same values with shuffled seeds on one side.
    unpaired = difference_interval(a, rng.permutation(b))
    assert difference.value == pytest.approx(unpaired.value) == pytest.approx(np.mean(a) - np.mean(b))
    assert difference.high - difference.low < 0.4 * (unpaired.high - unpaired.low)
    assert difference.high < 0
    assert ratio.value == pytest.approx(np.mean(a) / np.mean(b))
    assert ratio.low < ratio.value < ratio.high < 1


@pytest.mark.parametrize("function", [difference_interval, ratio_interval])
def test_a_pair_with_a_gap_is_left_out(function: Callable[..., Interval]) -> None:
    a, b = [1.0, math.nan, 3.0, 5.0, 4.0], [2.0, 2.0, math.nan, 4.0, 9.0]
    assert function(a, b) == function([1.0, 5.0, 4.0], [2.0, 4.0, 9.0])
    assert np.isnan(function([1.0, math.nan], [math.nan, 1.0])).all()
    with pytest.raises(ValueError, match="same seeds"):
        function([1.0], [1.0, 2.0])


@pytest.mark.parametrize(
    "interval",
    [
        mean_interval([7.0, math.nan]),
        mean_interval([7.0, 7.0, 7.0]),
        difference_interval([9.5, 9.5], [2.5, 2.5]),
        ratio_interval([0.7, 0.7, 0.7], [0.1, 0.1, 0.1]),
        ratio_interval([7.0], [1.0]),
        crossed_interval([[7.0]]),
        crossed_interval([[7.0, 7.0], [7.0, 7.0]]),
        bootstrap_stratified([[7.0, 7.0], [7.0]], interquartile_mean),
    ],
)
def test_equal_runs_give_no_interval(interval: Interval) -> None:
    assert interval.value == pytest.approx(7)
    assert np.isnan(interval[1:]).all()


def test_no_value_gives_no_mean() -> None:
    assert np.isnan(mean_interval([math.nan, math.nan])).all()
    assert np.isnan(ratio_interval([1.0, 2.0], [0.0, 0.0])).all()
    with pytest.raises(ValueError, match="confidence"):
        mean_interval([1.0, 2.0], confidence=95)
    with pytest.raises(ValueError, match="two-dimensional"):
        crossed_interval([1.0, 2.0])


def test_the_interquartile_mean_cuts_a_quarter_at_each_end() -> None:
    assert interquartile_mean([8, 1, 2, 3, 4, 5, 6, 1_000]) == 4.5
    # Fewer than four values lose none, and fractions of a quarter are rounded down.
    assert interquartile_mean([1, 2, 9]) == 4
    assert interquartile_mean([5, 1, 2, 3, 1_000]) == pytest.approx(10 / 3)
    assert interquartile_mean([[1, 2, 3, 4], [0, 0, 0, 8]]).tolist() == [2.5, 0]


# Scores of six tasks in five runs.
SCORES = (
    (0.408, -0.404, -0.056, 0.192, -0.037),
    (-0.278, 0.884, 0.666, 0.9, 1.27),
    (-1.582, -2.865, -3.055, -1.976, -0.065),
    (0.443, 0.832, 0.461, 0.655, 0.473),
    (0.764, 0.968, 1.045, 1.064, 0.827),
    (2.569, 2.295, 2.523, 1.99, 5.005),
)


def test_the_stratified_bootstrap_agrees_with_rliable() -> None:
    # rliable 1.2.0: get_interval_estimates of aggregate_iqm with 20,000 resamples and three seeds gave 0.4362 to 0.4371
    # and 0.7090 to 0.7114. Ours is wider by sqrt(5 / 4) and by a factor of Student's t with 24 degrees of freedom.
    value, low, high = bootstrap_stratified(SCORES, interquartile_mean, resamples=20_000)
    wider = math.sqrt(5 / 4) * student(0.975, 24) / 1.95996
    assert value == pytest.approx(0.5890625)
    assert value + (low - value) / wider == pytest.approx(0.4365, abs=0.003)
    assert value + (high - value) / wider == pytest.approx(0.710, abs=0.003)


def test_strata_are_resampled_independently() -> None:
    def mean(values: Any) -> Any:
        return np.mean(values, axis=-1)

    # With two values, a quarter of all resamples take the lower value twice, so the ends are 5/3 and 3. One degree of
    # freedom makes the interval wider by sqrt(2) and by Student's t.
    half = 2 / 3 * math.sqrt(2) * student(0.975, 1) / 1.95996
    assert bootstrap_stratified([[0, 2], [5]], mean) == pytest.approx((7 / 3, 7 / 3 - half, 7 / 3 + half), rel=1e-4)
    # Every resample has three zeros and three ones: nothing varies.
    assert np.isnan(bootstrap_stratified([[0, 0, 0], [1, 1, 1]], mean)[1:]).all()
    # Missing values are left out, and so are strata with only missing values.
    gaps = bootstrap_stratified([[0, np.nan, 2], [np.nan], [5]], mean)
    assert gaps == pytest.approx((7 / 3, 7 / 3 - half, 7 / 3 + half), rel=1e-4)
    assert np.isnan(bootstrap_stratified([[np.nan]], mean)).all()


def test_the_paired_test_is_that_of_scipy_and_agrees_with_the_interval() -> None:
    rng = np.random.default_rng(2)
    for size in (2, 3, 6, 21):
        reference = rng.normal(500, 50, size)
        values = reference + rng.normal(1, 2, size)
        found, expected = paired_test(values, reference), stats.ttest_rel(values, reference)
        assert (found.t, found.p) == pytest.approx((expected.statistic, expected.pvalue))
        assert found.freedom == size - 1
        interval = difference_interval(values, reference)
        assert (found.p < 0.05) == (not interval.low <= 0 <= interval.high)
    assert np.isnan(paired_test([3.0, 4.0], [1.0, 2.0]).p)  # equal differences show no variation
