"""Metrics against hand-computed cases, and properties that hold for any input."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flitgym.experiments.metrics import (
    Interval,
    bootstrap_difference,
    bootstrap_mean,
    bootstrap_ratio,
    bootstrap_stratified,
    interquartile_mean,
    peak_throughput,
    relative_difference,
    running_median,
    saturation_load,
    settle_time,
)
from hypothesis import given
from hypothesis import strategies as st


def test_saturation_load_between_two_points() -> None:
    # The network delivers 100 % of 0.4 and 75 % of 0.6. Interpolation puts 95 % at a fifth of the distance.
    assert saturation_load([0.2, 0.4, 0.6], [0.2, 0.4, 0.45]) == pytest.approx(0.44)


def test_saturation_load_never_reached_or_from_the_start() -> None:
    assert saturation_load([0.2, 0.4], [0.2, 0.4]) is None
    assert saturation_load([0.2, 0.4], [0.1, 0.1]) == 0.2


@pytest.mark.parametrize(
    ("offered", "accepted"), [([0.2, 0.1], [0.1, 0.1]), ([0.1], [0.1, 0.2]), ([], []), ([0.0], [0.0])]
)
def test_saturation_load_refuses_invalid_curves(offered: list[float], accepted: list[float]) -> None:
    with pytest.raises(ValueError, match=r"must be|differ"):
        saturation_load(offered, accepted)


@given(st.floats(0.05, 0.9))
def test_saturation_load_of_an_ideal_network_is_a_little_above_its_capacity(capacity: float) -> None:
    offered = np.arange(1, 101) / 100
    load = saturation_load(offered, np.minimum(offered, capacity), tolerance=0.05)
    assert load == pytest.approx(capacity / 0.95, abs=0.011) if capacity / 0.95 < 1 else load is None


def test_peak_throughput() -> None:
    assert peak_throughput([0.1, 0.5, 0.4]) == 0.5


def test_settle_time_of_a_step() -> None:
    time = np.arange(1, 101) * 10.0
    value = np.where(time <= 300, 1000.0, 500.0)
    assert settle_time(time, value) == 310


def test_settle_time_of_a_flat_series_is_its_start() -> None:
    assert settle_time([1, 2, 3], [5, 5, 5]) == 1


def test_settle_time_of_a_growing_series_is_none() -> None:
    assert settle_time(np.arange(1, 101), np.exp(np.arange(100) / 10)) is None


def test_settle_time_ignores_empty_intervals() -> None:
    assert settle_time([1, 2, 3, 4], [math.nan, 5, math.nan, 5]) == 2
    assert settle_time([1, 2], [math.nan, math.nan]) is None


def test_running_median_removes_a_spike_and_keeps_a_step() -> None:
    value = np.array([1, 1, 9, 1, 1, 5, 5, 5, 5], dtype=float)
    assert running_median(value, 3).tolist() == [1, 1, 1, 1, 1, 5, 5, 5, 5]


@given(st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), min_size=1, max_size=30), st.sampled_from([1, 3, 5]))
def test_running_median_stays_within_the_values(value: list[float], width: int) -> None:
    smooth = running_median(value, width)
    finite = [x for x in value if math.isfinite(x)]
    assert smooth.size == len(value)
    for x in smooth[np.isfinite(smooth)]:
        assert min(finite) <= x <= max(finite)


def test_relative_difference() -> None:
    assert relative_difference(0.45, 0.5) == pytest.approx(-0.1)


@pytest.mark.parametrize(("runs", "coverage"), [(3, 0.75), (5, 0.85), (10, 0.90), (30, 0.94)])
def test_an_interval_has_the_documented_coverage(runs: int, coverage: float) -> None:
    samples = np.random.default_rng(1).normal(loc=5, size=(1000, runs))
    intervals = [bootstrap_mean(sample, resamples=500) for sample in samples]
    found = np.mean([low <= 5 <= high for _, low, high in intervals])
    assert found == pytest.approx(coverage, abs=0.03)


def test_a_wider_confidence_is_a_wider_interval_around_the_mean() -> None:
    sample = np.random.default_rng(2).exponential(size=20)
    narrow, wide = bootstrap_mean(sample, confidence=0.5), bootstrap_mean(sample, confidence=0.99)
    assert wide.low < narrow.low < np.mean(sample) == narrow.value < narrow.high < wide.high


def test_pairing_removes_the_common_effect_of_seeds() -> None:
    rng = np.random.default_rng(3)
    shared, own = rng.normal(100, 10, 10), rng.normal(0, 1, (2, 10))
    a, b = shared + own[0] - 5, shared + own[1]
    difference, ratio = bootstrap_difference(a, b), bootstrap_ratio(a, b)
    # The same values with shuffled seeds on one side.
    unpaired = bootstrap_difference(a, rng.permutation(b))
    assert difference.value == pytest.approx(unpaired.value) == pytest.approx(np.mean(a) - np.mean(b))
    assert difference.high - difference.low < 0.4 * (unpaired.high - unpaired.low)
    assert difference.high < 0
    assert ratio.value == pytest.approx(np.mean(a) / np.mean(b))
    assert ratio.low < ratio.value < ratio.high < 1


def test_the_bootstrap_is_reproducible() -> None:
    sample = np.arange(8.0)
    assert bootstrap_mean(sample) == bootstrap_mean(sample)
    assert bootstrap_mean(sample, resamples=100) != bootstrap_mean(sample, resamples=100, rng_seed=1)


@pytest.mark.parametrize("function", [bootstrap_difference, bootstrap_ratio])
def test_a_pair_with_a_gap_is_left_out(function: Callable[..., Interval]) -> None:
    a, b = [1.0, math.nan, 3.0, 5.0, 4.0], [2.0, 2.0, math.nan, 4.0, 9.0]
    assert function(a, b) == function([1.0, 5.0, 4.0], [2.0, 4.0, 9.0])
    assert np.isnan(function([1.0, math.nan], [math.nan, 1.0])).all()
    with pytest.raises(ValueError, match="same seeds"):
        function([1.0], [1.0, 2.0])


def test_too_few_values_give_no_interval() -> None:
    single = bootstrap_mean([7.0, math.nan])
    assert single.value == 7
    assert np.isnan(single[1:]).all()
    assert np.isnan(bootstrap_mean([math.nan, math.nan])).all()
    assert np.isnan(bootstrap_ratio([1.0, 2.0], [0.0, 0.0])).all()
    assert np.isnan(bootstrap_ratio([1.0], [2.0])[1:]).all()
    with pytest.raises(ValueError, match="confidence"):
        bootstrap_mean([1.0, 2.0], confidence=95)


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
    # and 0.7090 to 0.7114.
    interval = bootstrap_stratified(SCORES, interquartile_mean, resamples=20_000)
    assert interval.value == pytest.approx(0.5890625)
    assert interval.low == pytest.approx(0.4365, abs=0.003)
    assert interval.high == pytest.approx(0.710, abs=0.003)


def test_strata_are_resampled_independently() -> None:
    def mean(values: Any) -> Any:
        return np.mean(values, axis=-1)

    # Every resample has three zeros and three ones.
    assert bootstrap_stratified([[0, 0, 0], [1, 1, 1]], mean) == (0.5, 0.5, 0.5)
    # With two values, a quarter of all resamples take the lower value twice.
    assert bootstrap_stratified([[0, 2], [5]], mean) == pytest.approx((7 / 3, 5 / 3, 3))
    # Missing values are left out, and so are strata with only missing values.
    assert bootstrap_stratified([[0, np.nan, 2], [np.nan], [5]], mean) == pytest.approx((7 / 3, 5 / 3, 3))
    assert np.isnan(bootstrap_stratified([[np.nan]], mean)).all()
    single = bootstrap_stratified([[1], [3]], mean)
    assert single.value == 2
    assert np.isnan(single[1:]).all()
