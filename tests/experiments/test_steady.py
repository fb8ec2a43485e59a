"""`run=steady`: the end of the warm-up, the coverage of the intervals, and saturation."""

import math
from typing import Any

import flitgym
import numpy as np
import pytest
from flitgym import Simulation, measure_steady
from flitgym.experiments.running.batch_means import FINE, estimate, mser5
from steady_scenes import SCENES, coverage, long_run_means

NETWORK: dict[str, Any] = {"topology": "dragonfly_72", "routing": "minimal"}


def test_mser5_removes_the_transient() -> None:
    noise = np.random.default_rng(1).normal(size=2000)
    assert 300 <= mser5(np.where(np.arange(2000) < 300, 5.0, 0.0) + noise) <= 320
    assert mser5(np.arange(2000) / 100 + noise) > 1000  # a series that only grows


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_variance_of_the_mean_of_correlated_values(correlation: float) -> None:
    """The mean of n values of an AR(1) process has the variance (1 + r) / (1 - r) / n."""
    random, count, found = np.random.default_rng(1), 20 * FINE, []
    for _ in range(100):
        values = random.normal(size=count) * math.sqrt(1 - correlation**2)
        for k in range(1, count):
            values[k] += correlation * values[k - 1]
        got = estimate(values, np.ones(count), 0.95)
        assert got is not None
        assert not got.correlated
        found.append(got.variance)
    exact = (1 + correlation) / (1 - correlation) / count
    assert exact < np.mean(found) < 1.25 * exact  # negative correlations of the batches are not corrected


@pytest.mark.deep
def test_coverage() -> None:
    scene = SCENES["one router, load 0.4"]
    got = coverage(scene, long_run_means(scene), range(1, 201))
    assert got["steady"] == 200
    assert 0.92 <= got["latency"] <= 0.98
    assert 0.92 <= got["accepted"] <= 0.98


def test_means_of_the_window_are_in_the_middle_of_the_intervals() -> None:
    simulation = Simulation({**NETWORK, "traffic": {"name": "uniform", "load": 0.2}})
    found = measure_steady(simulation, precision=0.03)
    numbers = simulation.statistics()
    assert found.steady
    assert not found.saturated
    assert found.warmup_end_ns + numbers["window_ns"] == pytest.approx(simulation.time_ns)
    for interval, key in (
        (found.latency_interval, "packet_latency_mean_ns"),
        (found.accepted_interval, "accepted_load"),
    ):
        assert interval is not None
        assert np.mean(interval) == pytest.approx(numbers[key])
        assert interval[1] - interval[0] <= 2 * 0.03 * numbers[key]


@pytest.mark.parametrize("backlog", ["kept", "lost"])
def test_a_saturated_network_is_reported_at_once(backlog: str) -> None:
    router = {"name": "vc_router", "source_backlog": backlog}
    simulation = Simulation({**NETWORK, "router": router, "traffic": {"name": "adversarial", "load": 0.5}})
    found = measure_steady(simulation)
    assert found.saturated
    assert not found.steady
    reason = "the source queues grow" if backlog == "kept" else "the sources lose"
    assert found.reason.startswith(f"saturated: {reason}")
    assert simulation.time_ns < 100_000


@pytest.mark.parametrize(("destination", "saturated"), [(60, True), (70, False)])
def test_a_few_flows_saturate_a_network(destination: int, saturated: bool) -> None:
    """40 flows have a destination each. Two more have one destination in common, or two."""
    flows = {"name": "flows", "sources": [*range(40), 40, 48], "destinations": [*range(1, 40), 0, 60, destination]}
    router = {"name": "vc_router", "source_backlog": "kept"}
    simulation = Simulation({**NETWORK, "router": router, "traffic": {**flows, "load": 0.6}})
    found = measure_steady(simulation, precision=0.05)
    assert found.saturated == saturated
    assert found.steady != saturated


def test_fields_of_a_result() -> None:
    run = {"run.measure_ns": 4_000, "run.warmup_ns": 4_000, "run.precision": 0.05}
    result = flitgym.simulate("topology=dragonfly_72", "routing=par", "traffic.load=0.3", "run=steady", **run)
    assert result["steady"]
    low, high = result["packet_latency_mean_ns_interval"]
    assert low < result["packet_latency_mean_ns"] < high
    assert result["accepted_load_interval"][0] < 0.3 < result["accepted_load_interval"][1]
    assert result["effective_samples"] > 100
    assert result["warmup_end_ns"] >= 4_000
    assert len(result.columns("series")["packets"]) > 400
