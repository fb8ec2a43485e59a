"""Long runs and sweeps announce how long they will take; short runs do not."""

import math

import pytest
from flitgym.configs import compose
from flitgym.experiments.simulate import forecast
from flitgym.experiments.terminal import progress
from flitgym.experiments.terminal.progress import Forecast, no_report
from flitgym.experiments.terminal.times import duration_text
from flitgym.experiments.training import progress as training_progress


def announced(monkeypatch: pytest.MonkeyPatch, parts: list[tuple[float, float]]) -> list[float]:
    """The announced times, in s, of a run whose progress is given as (time, fraction done)."""
    said: list[float] = []
    run = Forecast(no_report, said.append)
    for now, part in parts:
        monkeypatch.setattr(progress.time, "monotonic", lambda now=now: now)
        run("measure", part)
    return said


def test_a_long_run_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    steady = [(0.2 * k, 0.2 * k / 600) for k in range(600)]
    (seconds,) = announced(monkeypatch, steady)
    assert seconds == pytest.approx(600)


def test_a_short_run_is_not_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert announced(monkeypatch, [(0.2 * k, 0.2 * k / 50) for k in range(250)]) == []
    assert announced(monkeypatch, [(0.0, 0.0), (2.0, 0.001)]) == []


def test_a_run_that_slows_down_is_announced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [(0.2 * k, 0.2 * k / 100) for k in range(50)]
    slow = [(10 + 0.2 * k, 0.1 + 0.2 * k / 1000) for k in range(500)]
    first, *_, last = announced(monkeypatch, quick + slow)
    assert first == pytest.approx(100)
    assert last == pytest.approx(910, rel=0.3)


def test_a_long_call_does_not_divide_by_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    assert announced(monkeypatch, [(0.0, 0.0), (9.0, 0.0), (9.0, 0.0), (18.0, 0.5)]) == []


def test_the_keys_that_shorten_a_run_are_named_with_their_present_values() -> None:
    text = forecast(compose(["topology=hyperx_4096", "routing=omni_war", "router=sc19"]), 620.0)
    for part in ("about 10 min", "run.warmup_ns (now 20,000)", "run.measure_ns (now 20,000)", "topology"):
        assert part in text
    # A key that is already at its limit or not used is no advice.
    assert "workload.scale (now 0.1)" in forecast(compose(["workload=pair", "workload.scale=0.1"]), 620.0)
    assert "scale" not in forecast(compose(["workload=jobs", "workload.jobs=[{motif: ur, ranks: 4}]"]), 620.0)


def test_durations_are_readable() -> None:
    assert [duration_text(seconds) for seconds in (59, 119, 120, 3600, 7200, 1e5)] == [
        *("59 s", "119 s", "2 min", "60 min", "2 h", "28 h")
    ]


@pytest.mark.parametrize(
    ("done", "metrics", "said"),
    [
        (1, {"loss": math.nan, "decisions": 3.0}, "x: round 1 of 3, about 2 min left\n"),
        (2, {"reward": -0.5, "loss": 0.25}, "x: round 2 of 3, reward -0.500, loss 0.2500, about 30 s left\n"),
        (3, {"reward": -0.5}, "x: round 3 of 3, reward -0.500\n"),
        (3, {}, "x: round 3 of 3\n"),
    ],
)
def test_the_line_of_a_training(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], done: int, metrics: dict[str, float], said: str
) -> None:
    times = iter((0.0, 0.0, 60.0, 60.0))
    monkeypatch.setattr(training_progress.time, "monotonic", lambda: next(times))
    training_progress.TrainProgress("x", 3, 0).update(done, metrics)
    assert capsys.readouterr().err == said
