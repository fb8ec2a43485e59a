"""Every figure plans valid runs and is drawn from rows alone. A missing row is an error."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.configs import core_sections, has_workload
from flitgym.experiments.comparison.places import available, plan
from flitgym.experiments.comparison.published import differences, draw
from flitgym.experiments.evaluation.plan import policies_of
from flitgym.experiments.plotting.players import player_of
from flitgym.experiments.results.rows import ROWS_FILE, row, write_rows
from flitgym.experiments.running.plan import TABLES, PlannedRun
from flitgym.experiments.saturation.search import SATURATIONS
from flitgym.experiments.table_quality.one_table import KIND
from plans import place_of, planned, reproduced

FIGURES = available()
# Most plans have hundreds of runs.
PLANS = [
    pytest.param(figure, preset, marks=() if figure == "first_look" else pytest.mark.deep)
    for figure, presets in FIGURES.items()
    for preset in presets
]
OF_ONE_ROUTING = {"mapping"}
MAPPING = {"dilation": 2.0, "start_dilation": 3.0, "worst_congestion_bytes": 4e4, "mapper_cpu_seconds": 0.01}
MAPPING["refine_cpu_seconds"] = 0.2
TABLE = {"edge_forwarding_index": 20, "load_mean": 16.0, "load_least": 12.0, "load_deviation": 2.0}
TABLE |= {"route_cpu_seconds": 0.01, "ebb_mean": 0.7}


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
        result |= {"wall_seconds": 2.0, "flit_hops": 1e6, "packets_delivered": 1e5, "simulated_ns": 1e6}
        result |= {"workload_finished": True, "system_throughput_gb_per_ms": 2.0}
        pairs = {f"messages.{name}.gb_per_s": [[None, 2.0], [4.0, None]] for name in names}
        means = {f"messages.{name}.mean_gb_per_s": 3.0 for name in names}
        return {**row(result, run.directory), **pairs, **means}
    if run.kind is SATURATIONS:
        made = {"kind": "saturation", "saturation_load": 0.58, "saturation_accepted": 0.58, "refused_load": 0.62}
        made |= {"probe_load": [0.58, 0.62], "probe_accepted": [0.58, 0.6], "probe_latency_ns": [1e3, 9e3]}
        return row({**made, **common}, run.directory)
    load = config["traffic"]["load"]
    latency = 600 / (1.01 - min(load / 0.6, 1))
    result = {
        "offered_load": load,
        "accepted_load": min(load, 0.6),
        "hops_mean": 3.0,
        "generations_missed": 0,
        **common,
    }
    result |= {"packet_latency_mean_ns": latency, "packet_latency_p99_ns": 2 * latency}
    result |= dict.fromkeys(("packets_generated", "packets_injected"), 1000)
    time = np.arange(1, 101) * config["run"]["measure_ns"] / 100
    series = {"time_ns": time, "packets": np.full(100, 10), "latency_mean_ns": np.where(time < 1e5, 5000.0, 700.0)}
    return {**row(result, run.directory), **{f"series.{key}": values.tolist() for key, values in series.items()}}


@pytest.mark.parametrize(("figure", "preset"), PLANS)
def test_runs_of_a_plan_are_all_different(figure: str, preset: str) -> None:
    runs = planned(figure, preset)
    assert len({run.directory for run in runs}) == len(runs) > 0


@pytest.mark.parametrize(
    "figure", [pytest.param(name, marks=() if name == "first_look" else pytest.mark.deep) for name in FIGURES]
)
def test_figure_from_rows(figure: str, tmp_path: Path) -> None:
    write_rows(tmp_path / ROWS_FILE, quick(figure))
    reproduced(tmp_path, f"figure={figure}", "redraw=true")
    names = [f"{figure}.png", f"{figure}.svg", "differences.md"]
    assert all((tmp_path / name).stat().st_size > 500 for name in names)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, ROWS_FILE])
    states_buffers = "flits per port" in (tmp_path / f"{figure}.svg").read_text()
    assert states_buffers == (figure not in OF_ONE_ROUTING)


@pytest.mark.parametrize("figure", ["first_look", pytest.param("job_policies", marks=pytest.mark.deep)])
def test_a_figure_draws_further_policies_with_its_own(figure: str, tmp_path: Path) -> None:
    place = place_of(figure)
    (further,) = policies_of([{"name": "mine", "routing": "par"}])
    played = plan(place, "quick", Path("results"), further)
    rows = [*quick(figure), *({**synthetic_row(run), "policy": "mine"} for run in played)]
    draw(figure, place, rows, tmp_path, "quick")
    assert "mine" in (tmp_path / f"{figure}.svg").read_text()
    assert "mine |" in (tmp_path / "differences.md").read_text()
    script = place.script
    assert script.measured(rows) == script.measured(quick(figure))  # only the figure's own policies are measured


def labelled(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        **row,
        "player": player_of(row),
        "job": row["workload.jobs"][0]["name"] if row.get("workload.jobs") else None,
    }


CURVES = ("hpdc21_convergence", "hpdc21_load_latency", "link_failure")


@pytest.mark.parametrize(
    ("figure", "missing", "text"),
    [
        *((name, {"player": "q_adaptive", "traffic.name": "uniform"}, "uniform and routing q_ad") for name in CURVES),
        ("first_look", {"player": "minimal", "traffic.name": "uniform"}, "uniform and routing minimal"),
        ("sc19_synthetic", {"player": "dal", "traffic.name": "uniform"}, "uniform and routing dal"),
        ("source_agents", {"player": "q_adaptive"}, "network dragonfly and demand 65536 and routing q_adaptive"),
        ("sc19_stencil", {"player": "ugal", "workload.phase": "halo"}, "phase halo and routing ugal"),
        ("effective_bisection", {"study": "hyperx_672", "engine.name": "dfsssp"}, "hyperx_672 by dfsssp"),
        *(
            ("first_hyperx", {"player": "omni_war", "job": job}, f"job {job} and setup on hyperx with omni_war, linear")
            for job in ("allreduce", "halo", "mpigraph", "bisection")
        ),
        ("angara_tables", {"topology.sizes": [3, 5], "engine.name": "angara_sssp"}, r"torus \(3, 5\) and engine ang"),
        ("angara_tables", {"job": "cg", "routing.engine": "angara_sssp"}, "kind cg and engine angara_sssp"),
    ],
)
def test_a_missing_run_stops_the_figure(figure: str, missing: dict[str, Any], text: str, tmp_path: Path) -> None:
    incomplete = [one for one in quick(figure) if missing != {key: labelled(one).get(key) for key in missing}]
    assert len(incomplete) < len(quick(figure))
    with pytest.raises(ValueError, match=f"no row for .*{text}"):
        draw(figure, place_of(figure), incomplete, tmp_path, "quick")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("figure", FIGURES)
def test_every_expected_number_is_measured_and_has_a_source(figure: str) -> None:
    numbers = place_of(figure).expected()["numbers"]
    assert set(place_of(figure).script.measured(quick(figure))) >= {entry["id"] for entry in numbers}
    assert all(entry["source"] for entry in numbers)


def test_table_of_differences() -> None:
    entries = [
        {"id": "a", "what": "met", "value": 0.5, "band": [0.4, None], "source": "here"},
        {"id": "b", "what": "missed", "value": 100, "band": [None, 110], "source": "there"},
        {"id": "c", "what": "absent", "value": 1, "band": [None, None], "source": "nowhere"},
        {"id": "d", "what": "size", "value": 2, "band": {"paper": [1, 3], "other": [0, 9]}, "source": "here"},
    ]
    measured = {"a": 0.45, "b": 120.0, "c": None, "d": 7.0}
    lines = differences("figure", measured, entries).splitlines()
    assert "| met | 0.5 | 0.45 | -10.0% | yes (0.4 to any) | here |" in lines
    assert "| missed | 100 | 120 | +20.0% | **no** (any to 110) | there |" in lines
    assert "| absent | 1 | - | - | not measured (any to any) | nowhere |" in lines
    assert lines[-1] == "| size | 2 | 7 | - | only paper, other | here |"
    (line,) = differences("figure", measured, entries, "paper").splitlines()[-1:]
    assert line == "| size | 2 | 7 | +250.0% | **no** (1 to 3) | here |"


def test_one_entry_of_expected_numbers_stands_for_several() -> None:
    numbers = {entry["id"]: entry for entry in place_of("source_agents").expected()["numbers"]}
    entry = numbers["slim_fly_uniform"]
    assert (entry["value"], entry["what"]) == (0.9276, "mean latency, baseline / learned: slim_fly_uniform")
    assert entry["band"]["quick"] == pytest.approx([0.9276 * 0.95, 0.9276 * 1.05])
