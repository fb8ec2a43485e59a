"""Every figure plans valid runs and is drawn from rows alone. A missing row is an error."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.configs import core_sections, has_workload
from flitgym.experiments import reproduce
from flitgym.experiments.evaluation.plan import policies_of
from flitgym.experiments.plotting.players import player_of
from flitgym.experiments.results.rows import ROWS_FILE, row, write_rows
from flitgym.experiments.running.plan import TABLES, PlannedRun
from flitgym.experiments.saturation.search import SATURATIONS
from flitgym.experiments.table_quality.one_table import KIND
from omegaconf import OmegaConf
from plans import planned

FIGURES = reproduce.available()
PLANS = [(figure, preset) for figure, presets in FIGURES.items() for preset in presets]
OF_JOBS = {
    "angara_tables",
    "first_hyperx",
    "job_policies",
    "mapping",
    "sc19_stencil",
    "speed_race",
}  # all other figures use traffic patterns with loads
OF_TABLES = {"effective_bisection"}
OF_ONE_ROUTING = {"mapping", "speed_race"}  # on each network


def takes_policies(figure: str) -> bool:
    return bool(OmegaConf.load(reproduce.FIGURES / figure / "config.yaml").get("policies", False))


MAPPING = {
    "dilation": 2.0,
    "start_dilation": 3.0,
    "worst_congestion_bytes": 4e4,
    "mapper_cpu_seconds": 0.01,
    "refine_cpu_seconds": 0.2,
}

TABLE = {
    "edge_forwarding_index": 20,
    "load_mean": 16.0,
    "load_least": 12.0,
    "load_deviation": 2.0,
    "route_cpu_seconds": 0.01,
    "ebb_mean": 0.7,
}


@cache
def quick(figure: str) -> Sequence[dict[str, Any]]:
    """Synthetic rows of a figure's quick preset."""
    return [synthetic_row(run) for run in planned(figure, "quick")]


def synthetic_row(run: PlannedRun) -> dict[str, Any]:
    """A row in the form of a run's, for a network that carries 60 % and settles after 100 us."""
    config: Any = run.plain
    common = {"config": config, "facts": {"vcs": 4}}
    if run.kind is TABLES:
        made = {**TABLE, "kind": KIND, "routed": True, "table": config["engine"]["name"], "terminals": 64, "files": {}}
        return {**row({**made, "config": config}, run.directory), "patterns.bandwidth": list(np.linspace(0.6, 0.8, 10))}
    if has_workload(run.plain):
        names = [job["name"] for job in core_sections(config)["workload"]["jobs"]]
        job = {"comm_time_mean_ns": 20e3, "comm_time_std_ns": 1e3, "finish_ns": 25e3}
        job |= {"message_latency_mean_ns": 30e3, "message_latency_p99_ns": 60e3}
        result = {"jobs": dict.fromkeys(names, job), "mapping": MAPPING, "cpu_seconds": 1.0, **common}
        result["system_throughput_gb_per_ms"] = 2.0
        result |= {"wall_seconds": 2.0, "flit_hops": 1e6, "packets_delivered": 1e5, "simulated_ns": 1e6}
        result["workload_finished"] = True
        pairs = {f"messages.{name}.gb_per_s": [[None, 2.0], [4.0, None]] for name in names}
        means = {f"messages.{name}.mean_gb_per_s": 3.0 for name in names}
        return {**row(result, run.directory), **pairs, **means}
    if run.kind is SATURATIONS:
        probes = {"probe_load": [0.58, 0.62], "probe_accepted": [0.58, 0.6], "probe_latency_ns": [1e3, 9e3]}
        made = {
            **probes,
            "kind": "saturation",
            "saturation_load": 0.58,
            "saturation_accepted": 0.58,
            "refused_load": 0.62,
        }
        return row({**made, **common}, run.directory)
    load = config["traffic"]["load"]
    latency = 600 / (1.01 - min(load / 0.6, 1))
    result = {
        "offered_load": load,
        "accepted_load": min(load, 0.6),
        "packet_latency_mean_ns": latency,
        "packet_latency_p99_ns": 2 * latency,
        "hops_mean": 3.0,
        "packets_generated": 1000,
        "packets_injected": 1000,
        "generations_missed": 0,
        **common,
    }
    time = np.arange(1, 101) * config["run"]["measure_ns"] / 100
    return {
        **row(result, run.directory),
        "series.time_ns": list(time),
        "series.packets": [10] * 100,
        "series.latency_mean_ns": list(np.where(time < 1e5, 5000.0, 700.0)),
    }


@pytest.mark.parametrize(("figure", "preset"), PLANS)
def test_runs_of_a_plan_are_all_different(figure: str, preset: str) -> None:
    runs = planned(figure, preset)
    assert runs
    assert len({run.directory for run in runs}) == len(runs)


@pytest.mark.parametrize(
    "figure", [pytest.param(name, marks=() if name == "first_look" else pytest.mark.deep) for name in FIGURES]
)
def test_figure_from_rows(figure: str, tmp_path: Path) -> None:
    folder = tmp_path / f"{figure}_quick"
    write_rows(folder / ROWS_FILE, quick(figure))
    reproduce.reproduce(reproduce.Options(figure=figure, results=str(tmp_path), redraw=True))
    names = [f"{figure}.png", f"{figure}.svg", "differences.md"]
    assert all((folder / name).stat().st_size > 500 for name in names)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, ROWS_FILE])
    states_buffers = "flits per port" in (folder / f"{figure}.svg").read_text()
    assert states_buffers == (figure not in OF_ONE_ROUTING)


@pytest.mark.parametrize("figure", [name for name in FIGURES if takes_policies(name)])
def test_a_figure_draws_further_policies_with_its_own(figure: str, tmp_path: Path) -> None:
    (further,) = policies_of([{"name": "mine", "routing": "par"}])
    played = reproduce.plan_of(further, figure, "quick", Path("results"), reproduce.FIGURES)
    rows = [*quick(figure), *({**synthetic_row(run), "policy": "mine"} for run in played)]
    reproduce.draw(figure, rows, tmp_path)
    assert "mine" in (tmp_path / f"{figure}.svg").read_text()
    assert "| mine |" in (tmp_path / "differences.md").read_text()
    script = __import__(f"flitgym.experiments.figures.{figure}.plot", fromlist=["plot"])
    assert script.measured(rows) == script.measured(quick(figure))  # only the figure's own policies are measured


@pytest.mark.parametrize("figure", sorted(set(FIGURES) - OF_JOBS - OF_TABLES))
def test_a_missing_curve_stops_the_figure(figure: str, tmp_path: Path) -> None:
    rows = quick(figure)
    missing = player_of(rows[-1])
    incomplete = [r for r in rows if (player_of(r), r["traffic.name"]) != (missing, "uniform")]
    with pytest.raises(ValueError, match=f"no row for pattern uniform and routing {missing}"):
        reproduce.draw(figure, incomplete, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_flow_stops_the_figure_of_sources(tmp_path: Path) -> None:
    incomplete = [r for r in quick("source_agents") if player_of(r) != "q_adaptive"]
    with pytest.raises(ValueError, match="no row for messages of 65536 bytes and routing q_adaptive on dragonfly"):
        reproduce.draw("source_agents", incomplete, tmp_path)


def test_a_missing_bar_stops_the_stencil(tmp_path: Path) -> None:
    incomplete = [r for r in quick("sc19_stencil") if (r["routing.name"], r["workload.phase"]) != ("ugal", "halo")]
    with pytest.raises(ValueError, match="no row for phase halo and routing ugal"):
        reproduce.draw("sc19_stencil", incomplete, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_table_stops_the_figure(tmp_path: Path) -> None:
    rows = quick("effective_bisection")
    incomplete = [r for r in rows if (r["study"], r.get("engine.name")) != ("hyperx_672", "dfsssp")]
    with pytest.raises(ValueError, match="no table of hyperx_672 by dfsssp"):
        reproduce.draw("effective_bisection", incomplete, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["allreduce", "halo", "mpigraph", "bisection"])
def test_a_missing_job_stops_the_first_hyperx(kind: str, tmp_path: Path) -> None:
    incomplete = [
        r
        for r in quick("first_hyperx")
        if "workload.jobs" not in r
        or (r["workload.jobs"][0]["name"], r["routing.name"]) != (kind, "omni_war")
        or r["workload.jobs"][0]["ranks"] == 7
    ]
    with pytest.raises(ValueError, match=f"no row for {kind} of .* on hyperx with omni_war, linear"):
        reproduce.draw("first_hyperx", incomplete, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_table_or_kind_stops_the_angara_tables(tmp_path: Path) -> None:
    rows = quick("angara_tables")
    tables = [r for r in rows if r.get("topology.sizes") != [3, 5] or r.get("engine.name") != "angara_genetic"]
    with pytest.raises(ValueError, match=r"no table of angara_genetic for the torus \(3, 5\)"):
        reproduce.draw("angara_tables", tables, tmp_path)
    runs = [r for r in rows if "jobs.cg.finish_ns" not in r or r["routing.engine"] != "angara_sssp"]
    with pytest.raises(ValueError, match="no row for cg under angara_sssp"):
        reproduce.draw("angara_tables", runs, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("figure", FIGURES)
def test_every_expected_number_is_measured_and_has_a_source(figure: str) -> None:
    expected = OmegaConf.load(reproduce.FIGURES / figure / "expected.yaml")
    script = __import__(f"flitgym.experiments.figures.{figure}.plot", fromlist=["plot"])
    assert set(script.measured(quick(figure))) == {entry.id for entry in expected.numbers}
    assert all(entry.source for entry in expected.numbers)


def test_table_of_differences() -> None:
    entries = [
        {"id": "a", "what": "met", "value": 0.5, "band": [0.4, None], "source": "here"},
        {"id": "b", "what": "missed", "value": 100, "band": [None, 110], "source": "there"},
        {"id": "c", "what": "absent", "value": 1, "band": [None, None], "source": "nowhere"},
    ]
    lines = reproduce.differences("figure", {"a": 0.45, "b": 120.0, "c": None}, entries).splitlines()
    assert "| met | 0.5 | 0.45 | -10.0% | yes (0.4 to any) | here |" in lines
    assert "| missed | 100 | 120 | +20.0% | **no** (any to 110) | there |" in lines
    assert "| absent | 1 | - | - | not measured (any to any) | nowhere |" in lines


def test_a_band_of_another_preset_gives_no_verdict() -> None:
    entry = {"id": "a", "what": "size", "value": 2, "band": {"paper": [1, 3], "other": [0, 9]}, "source": "here"}
    (line,) = reproduce.differences("figure", {"a": 7.0}, [entry], "quick").splitlines()[-1:]
    assert line == "| size | 2 | 7 | - | only paper, other | here |"
    (line,) = reproduce.differences("figure", {"a": 7.0}, [entry], "paper").splitlines()[-1:]
    assert line == "| size | 2 | 7 | +250.0% | **no** (1 to 3) | here |"
