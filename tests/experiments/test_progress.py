"""Long runs and sweeps announce how long they will take; short runs do not."""

from pathlib import Path

import pytest
from flitgym.experiments.running.live import Live
from flitgym.experiments.terminal import progress
from flitgym.experiments.terminal.progress import RunBar
from flitgym.simcore import Simulation


def announced(monkeypatch: pytest.MonkeyPatch, parts: list[tuple[float, float]]) -> list[float]:
    """The announced times, in s, of a run whose progress is given as (time, fraction done)."""
    said: list[float] = []
    run = RunBar(False, say=said.append)
    for now, part in parts:
        monkeypatch.setattr(progress.time, "monotonic", lambda now=now: now)
        run.report("measure", part)
    return said


def test_a_long_run_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    steady = [(0.2 * k, 0.2 * k / 600) for k in range(600)]
    (seconds,) = announced(monkeypatch, steady)
    assert seconds == pytest.approx(600)


def test_a_short_run_is_not_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert announced(monkeypatch, [(0.2 * k, 0.2 * k / 50) for k in range(250)]) == []


def test_a_run_that_slows_down_is_announced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [(0.2 * k, 0.2 * k / 100) for k in range(50)]
    slow = [(10 + 0.2 * k, 0.1 + 0.2 * k / 1000) for k in range(500)]
    first, *_, last = announced(monkeypatch, quick + slow)
    assert first == pytest.approx(100)
    assert last == pytest.approx(910, rel=0.3)


# The finished fraction of a pair on dragonfly_72 (lu and halo3d), with plateaus during which ranks compute. The run
# took 209 s.
PAIR = (
    *((0.0, 0.0), (2.4, 0.01167), (5.0, 0.02171), (10.3, 0.04316), (16.7, 0.07623), (20.0, 0.09193), (20.9, 0.09193)),
    *((22.1, 0.09836), (30.2, 0.15042), (39.7, 0.20279), (51.4, 0.26246), (59.9, 0.3148), (61.5, 0.31926)),
    *((62.6, 0.31926), (65.6, 0.33006), (73.4, 0.38463), (83.2, 0.43521), (92.9, 0.48859), (100.9, 0.53423)),
    *((104.8, 0.5466), (108.9, 0.54662), (118.0, 0.59168), (127.1, 0.63846), (138.2, 0.69706), (148.1, 0.75225)),
    *((154.4, 0.77396), (163.6, 0.81377), (172.1, 0.86236), (181.7, 0.91833), (190.4, 0.97182), (200.3, 0.999)),
)


def test_a_run_of_jobs_is_estimated_within_a_factor_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = progress.Pace()
    for now, part in PAIR:
        monkeypatch.setattr(progress.time, "monotonic", lambda now=now: now)
        left = pace.left(part)
        assert (left is None) == (part < 0.1)
        assert left is None or 209 / 3 < now + left < 209 * 3
    assert announced(monkeypatch, list(PAIR)) == [pytest.approx(209, rel=0.3)]


def test_the_lines_of_a_run_have_its_load_and_its_busiest_link(tmp_path: Path) -> None:
    """Both terminals of each router send over the link to the other router, which is the bottleneck."""
    (tmp_path / "pairs").write_text("2 3 0 1")
    topology = {"name": "graph", "links": [0, 1], "terminals_per_router": 2}
    traffic = {"name": "permutation", "file": str(tmp_path / "pairs"), "load": 0.8}
    simulation = Simulation({"topology": topology, "routing": "minimal", "traffic": traffic})
    reports: list[str] = []
    live = Live(simulation, lambda phase, part: reports.append(phase))
    simulation.run(4000)
    live.lines()
    simulation.begin_window()
    simulation.run(20000)
    state, busiest = live.lines()
    links = busiest.removeprefix("busiest links: ").split(", ")
    assert sorted(links[:2]) == ["router 0 to 1 100%", "router 1 to 0 100%"]
    loads = simulation.statistics()
    assert float(state.split()[1].rstrip(",")) == pytest.approx(loads["accepted_load"], abs=0.01)
    assert f"mean latency {loads['packet_latency_mean_ns']:,.0f} ns" in state
    live("measure", 0.5)
    assert reports == ["measure"]  # too early for new lines
