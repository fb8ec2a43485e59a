"""Traffic and links that change: the times of the changes in a result, the recovery after them, and messages."""

from typing import Any

import flitgym
import numpy as np
import pytest
from flitgym.experiments.benchmarks.measures import measures, recoveries
from flitgym.simcore import Simulation

NETWORK = ("topology=dragonfly_72", "router=input_queued", "routing=minimal", "traffic.load=0.2")
WINDOW = ("run.warmup_ns=200", "run.measure_ns=800", "run.series_interval_ns=20")


def test_recovery_is_measured_after_every_change() -> None:
    time = np.arange(1.0, 101.0) * 10
    latency = np.full(100, 100.0)
    latency[20:25] = 900  # 50 ns after a change at 200 ns
    latency[40:] = 300  # the level after a change at 400 ns
    latency[70:90] = np.tile([500, 500, 300, 300], 5)  # never settles after a change at 700 ns
    latency[90:] = 100
    changes = [100.0, 200.0, 400.0, 700.0, 900.0, 960.0]
    # The change at 100 ns comes before the measurement. After 900 and 960 ns there are fewer than eight intervals.
    assert recoveries(time, latency, changes, 200.0) == pytest.approx([60, 10, 200])
    assert recoveries(time, latency, changes, 401.0) == pytest.approx([10, 200])
    assert recoveries(time, latency, [], 0.0) == []


def test_an_interval_belongs_to_the_longer_part() -> None:
    time = np.arange(1.0, 41.0) * 10
    latency = np.where(time <= 200, 100.0, 400.0)
    latency[20] = 9000
    # A change at 196 ns leaves the interval up to 200 ns to the time before. The first interval after it has 9,000 ns.
    assert recoveries(time, latency, [196.0], 0.0) == pytest.approx([24])


def test_a_result_lists_its_changes() -> None:
    phases = "uniform duration_ns=300; adversarial load=0.1 duration_ns=200"
    result = flitgym.simulate(
        *NETWORK, "traffic=phases", f'traffic.phases="{phases}"', *WINDOW, "failures.events=[0.05@120-150/400*2]"
    )
    assert result["changes_ns"] == [120, 150, 300, 500, 520, 550, 800, 1000]
    columns = result.columns("series")
    row: dict[str, Any] = {
        "accepted_load": 0.2,
        "changes_ns": result["changes_ns"],
        "run.warmup_ns": 200,
        **{f"series.{key}": columns[key] for key in ("time_ns", "latency_mean_ns", "packets")},
    }
    found = recoveries(np.array(columns["time_ns"]), np.array(columns["latency_mean_ns"]), result["changes_ns"], 200)
    assert len(found) == 3  # after 300, 550 and 800 ns; 500 and 520 ns have fewer than eight intervals
    assert measures("changing", row)["recovery_ns"] == pytest.approx(np.mean(found))
    # Bursts of single terminals are no changes of the whole traffic, so there is no recovery.
    bursts = flitgym.simulate(*NETWORK, "traffic=on_off", "traffic.burst_ns=50", *WINDOW)
    assert bursts["changes_ns"] == []
    assert "recovery_ns" not in measures("changing", row | {"changes_ns": []})
    assert bursts["offered_load"] == pytest.approx(0.2)
    assert 0.1 < bursts["accepted_load"] < 0.3


def test_a_restored_simulation_continues_within_a_phase() -> None:
    traffic = {"name": "moving_adversary", "load": 0.2, "period_ns": 150.0}
    config = {"topology": "dragonfly", "router": {"name": "vc_router"}, "routing": "minimal", "traffic": traffic}
    whole, part = Simulation(config), Simulation(config)
    whole.run(1000)
    part.run(400)
    other = Simulation(config)
    other.restore(part.snapshot())
    other.run(600)
    assert other.state_hash() == whole.state_hash()
    assert other.changes_ns() == whole.changes_ns()
