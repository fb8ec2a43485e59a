"""The interference study: its plan, its figures from rows alone, and its rows from the files of a run."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import flitgym.agents
import numpy as np
import pytest
from flitgym.configs import compose, core_sections
from flitgym.configs.composition import compose_root
from flitgym.experiments import reproduce
from flitgym.experiments.metrics import mean_interval
from flitgym.experiments.plotting.drawing import routings, style_of
from flitgym.experiments.results.rows import row
from flitgym.experiments.running.one_run import execute
from flitgym.experiments.running.plan import PlannedRun
from flitgym.experiments.studies.interference import mixed_jobs, plot
from flitgym.experiments.studies.interference.runs import Jobs, comm_time, over_time
from flitgym.experiments.terminal.progress import no_report
from flitgym.experiments.workload.rows import workload_row
from plans import planned

GROUPS = 5
# Communication times of the synthetic rows. A background multiplies them by 1.5.
MS = {"ugal_group": 1.3, "ugal_router": 1.2, "par": 1.1, "q_adaptive": 1.0}


@cache
def quick() -> Sequence[dict[str, Any]]:
    return [synthetic_row(run) for run in planned("interference", "quick")]


def synthetic_row(run: PlannedRun) -> dict[str, Any]:
    """A row in the form of a run's."""
    jobs = [job["name"] for job in core_sections(run.plain)["workload"]["jobs"]]
    config: Any = run.plain
    ms = MS.get(config["routing"]["name"], 1.0) * (1 if len(jobs) == 1 else 1.5)
    job = {
        "comm_time_mean_ns": ms * 1e6,
        "comm_time_std_ns": 1e5,
        "finish_ns": 2e6,
        "injection_rate_gb_per_s": 4000 / ms,
    }
    result = {
        "jobs": dict.fromkeys(jobs, job),
        "simulated_ns": 2e6,
        "cpu_seconds": 5.0,
        "system_throughput_gb_per_ms": 1 / ms,
        **{f"packet_latency_{which}_ns": 3000.0 for which in ("mean", "p95", "p99")},
        "config": config,
    }
    between = (1 - np.eye(GROUPS)).tolist()
    return {
        **row(result, run.directory),
        "time_ns": list(np.arange(1, 11) * 2e5),
        **{f"series.{name}.gb_per_ms": [1.0] * 10 for name in jobs},
        **{f"series.{name}.latency_ns": [None] * 2 + [900.0] * 8 for name in jobs},
        **{f"groups.local_{what}": [2e6] * GROUPS for what in ("stall_ns", "bytes")},
        "groups.local_links": [30.0] * GROUPS,
        **{f"groups.global_{what}": between for what in ("stall_ns", "bytes", "links")},
        "blame.jobs": jobs,
        **{f"blame.{kind}_ns_per_packet": np.full((len(jobs), len(jobs)), 20.0).tolist() for kind in ("wait", "stall")},
    }


@pytest.mark.deep
@pytest.mark.parametrize("name", plot.FIGURES)
def test_every_figure_is_drawn_from_rows(name: str) -> None:
    function, further, _ = plot.FIGURES[name]
    figure = function(Jobs(quick()), *further)
    assert all(ax.has_data() for ax in figure.axes)


def test_congestion_index() -> None:
    of_run = {
        "simulated_ns": 1000.0,
        "groups.local_links": [2, 2],
        "groups.local_bytes": [50000.0, 0.0],
        "groups.global_links": [[0, 1], [0, 0]],
        "groups.global_bytes": [[0.0, 5000.0], [0.0, 0.0]],
    }
    # A link carries 25 bytes per ns.
    np.testing.assert_allclose(mixed_jobs.index_of(of_run), [[1.0, 0.2], [np.nan, 0.0]])


def test_curves_over_time_are_averaged_to_a_readable_number_of_points() -> None:
    long: Mapping[str, Any] = {"time_ns": list(np.arange(1, 1001) * 1e4), "series.a.x": [None, 2.0] * 500}
    time, values = over_time([long], "a.x")
    assert (time.size, values.shape) == (250, (3, 250))
    np.testing.assert_allclose(values, 2.0)
    assert time[0] == pytest.approx(0.02)


def test_curves_of_several_placements() -> None:
    short: Mapping[str, Any] = {"time_ns": [1e6, 1.5e6], "series.a.x": [1.0, None], "series.b.x": [1.0, 1.0]}
    long: Mapping[str, Any] = {"time_ns": [1e6, 2e6, 3e6], "series.a.x": [3.0, 4.0, 5.0], "series.b.x": [1.0, 0, 0]}
    time, (mean, low, high) = over_time([short, long], "a.x", "b.x")
    np.testing.assert_allclose(time, [0.5, 1.5, 2.5])
    np.testing.assert_allclose(mean, [3.0, 4.0, 5.0])  # after its end, a run does not count
    np.testing.assert_allclose((low, high), [[2.0, 4.0, 5.0], [4.0, 4.0, 5.0]])


@pytest.mark.deep
def test_intervals_are_over_placements() -> None:
    rows = [dict(row) for row in quick()]
    for one in rows:
        one["jobs.lu.comm_time_mean_ns"] = 1e6 * one["workload.placement_seed"]
    jobs = Jobs(rows)
    runs = jobs.pair("lu", "dl", "par")
    assert comm_time(runs, "lu") == mean_interval([1.0, 12.0, 13.0])
    # Both runs of a ratio have the same placement.
    np.testing.assert_equal(jobs.slowdown("lu", "dl", "par"), (1.0, np.nan, np.nan))
    alone = comm_time(runs[:1], "lu")  # one standard deviation over the ranks, 0.1 ms
    assert alone == pytest.approx((1.0, 0.95, 1.05))


def test_row_of_a_run(tmp_path: Path) -> None:
    config = compose(
        [
            *("topology=dragonfly_72", "router=sc22", "routing=par", "workload=pair", "workload.ends_with=target"),
            *("workload.target=fft3d", "workload.target_params={n: 24, iterations: 1}"),
            *("workload.background=halo3d", "workload.background_params={bytes: 20000, iterations: 10000}"),
        ]
    )
    result = execute(config, tmp_path, no_report)
    # The run ends with its target, even if the background is unfinished.
    assert result["workload_finished"] is True
    assert result["stuck"] is None
    assert result["jobs"]["halo3d"]["ranks_finished"] == 0
    flat = workload_row(result, tmp_path)
    interval_ms = np.diff(flat["time_ns"], prepend=0) / 1e6
    for name, job in result["jobs"].items():
        received = np.sum(np.array(flat[f"series.{name}.gb_per_ms"]) * interval_ms)
        # The series also counts headers and bytes still on their way to a rank.
        assert job["bytes_received"] / 1e9 <= received < 1.05 * job["bytes_received"] / 1e9
    assert flat["blame.jobs"] == ["fft3d", "halo3d"]
    # 9 groups of 4 routers, one link per pair of groups.
    assert flat["groups.local_links"] == [12.0] * 9
    np.testing.assert_array_equal(flat["groups.global_links"], 1 - np.eye(9))
    assert np.sum(flat["groups.global_bytes"]) > 0


@pytest.mark.deep
def test_policies_extend_the_routings_of_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = Path(flitgym.agents.__file__).parent / "policies" / "dqn_dragonfly.safetensors"
    mine = tmp_path / "mine" / "policy.safetensors"
    mine.parent.mkdir()
    mine.write_bytes(shipped.read_bytes())
    slow = {"name": "slow tables", "routing": "q_adaptive", "params": {"alpha": 0.05}}
    config = compose_root("reproduce", ["study=interference"])
    config.routings = [str(mine), slow]
    ran: list[PlannedRun] = []

    def run(runs: Sequence[PlannedRun], *_: Any, **__: Any) -> list[PlannedRun]:
        ran.extend(runs)
        return ran

    drawn: list[Sequence[Mapping[str, Any]]] = []
    monkeypatch.setattr(reproduce, "run_all", run)
    monkeypatch.setattr(reproduce, "workload_row", lambda run, directory: synthetic_row(run))
    monkeypatch.setattr(reproduce, "draw", lambda name, place, rows, *_: drawn.append(rows) or [])
    monkeypatch.setattr("flitgym.experiments.report.page.write_report", lambda directory, *_, **__: directory)
    reproduce.reproduce(config, tmp_path, "flitgym reproduce")
    rows = drawn[0]
    assert len(rows) == 240 + 2 * 60 == len({run.directory for run in ran})
    assert routings(rows) == [*MS, "mine", "slow tables"]
    jobs = Jobs(rows)
    assert jobs.mixed("slow tables")[0]["routing.alpha"] == 0.05
    assert jobs.pair("lu", "halo3d", "mine")[0]["routing.path"] == str(mine)
    for name in ("fig04_pair_communication_times", "fig08_pair_slowdowns", "fig12_mixed_congestion_index"):
        assert plot.FIGURES[name][0](jobs)
    assert len({style_of(name).color for name in ("mine", "slow tables")}) == 2
    # Only the study's own routings are compared with the paper.
    assert plot.measured(rows) == plot.measured([row for row in rows if row["policy"] in MS])
    assert "| mine |" in plot.summary(rows)
