"""The report page of jobs: a single file with all sections and the numbers of result.json."""

import base64
import copy
import json
import re
import shlex
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command, executed
from flitgym.configs import compose, config_hash
from flitgym.experiments.report.again import simulate_again
from flitgym.experiments.report.over_time import decomposition, delays, series, view
from flitgym.experiments.report.page import write_report
from flitgym.experiments.report.runs import Settings, runs_of
from flitgym.experiments.report.slowdown import matrices, slowdowns
from flitgym.experiments.results.rows import read_rows
from omegaconf import OmegaConf
from report_page import Page

Result = tuple[dict[str, Any], Path]

SMALL = ("topology=dragonfly_72", "router=sc22", "routing=par")
HALO = (*SMALL, "workload=pair", "workload.target=halo3d", "workload.target_params={bytes: 2000, iterations: 2}")
RUNS: dict[str, tuple[str, ...]] = {
    "alone": (*HALO, "workload.background=none"),
    "beside": (*HALO, "workload.background=ur", "workload.background_params.iterations=50"),
    "cut_off": (*HALO, "workload.background=lu", "workload.max_ns=3000"),
    "traffic": (*SMALL, "run.warmup_ns=200", "run.measure_ns=300"),
}
SECTIONS = ["figures", "loads", "overview", "slowdown", "blame", "curves", "network", "provenance"]
# 1 x 1 pixels.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four tiny runs and two figures. One run is unfinished, and one has no jobs."""
    folder = tmp_path_factory.mktemp("study")
    for name, overrides in RUNS.items():
        executed(folder / name, *overrides)
    (folder / "bars.png").write_bytes(PNG)
    (folder / "bars.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    (folder / "lines.png").write_bytes(PNG)
    return folder


@pytest.fixture(scope="module")
def runs(study: Path) -> dict[str, Result]:
    return {name: (json.loads((study / name / "result.json").read_text()), study / name) for name in RUNS}


@pytest.fixture(scope="module")
def page(study: Path, runs: dict[str, Any]) -> Page:
    figures = [study / "bars.png", study / "bars.svg", study / "lines.png"]
    return Page(write_report(study, "A <study>", list(runs.values()), figures).read_text())


def test_the_command_writes_one_file(command: Command, study: Path, tmp_path: Path) -> None:
    before = {path.name for path in study.iterdir()} - {"report.html"}
    done = command("report", str(study), "--output", str(tmp_path / "out" / "page.html"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "out" / "page.html")
    assert {path.name for path in study.iterdir()} - {"report.html"} == before
    found = Page((tmp_path / "out" / "page.html").read_text())
    assert {row["run"] for row in found.rows} == set(RUNS)
    assert len(found.images) == 4  # two figures of the study, and a panel per job


def test_a_folder_without_runs_is_refused_with_advice(command: Command, tmp_path: Path) -> None:
    assert "nowhere is not a folder" in command("report", "nowhere").stderr
    done = command("report", str(tmp_path))
    assert done.returncode == 2
    assert "flitgym simulate" in done.stderr
    assert not list(tmp_path.glob("**/report.html"))


def test_all_sections_exist_and_nothing_is_fetched(page: Page, runs: dict[str, Result]) -> None:
    assert page.sections == page.links == SECTIONS
    assert page.fetched == []
    for script in page.scripts:
        # The only address is the name of the SVG namespace, which a browser does not load.
        assert set(re.findall(r"https?://[^\s\"']+", script)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"@import|url\((?!#)|\bfetch\(|XMLHttpRequest|\bimport\(", script)
    for result, _ in runs.values():
        for part in (result["config_hash"], result["version"], str(result["state_hash"])):
            assert part in page.text
    assert page.text.count("Again: ") == len(RUNS)


def test_the_table_holds_the_numbers_of_the_results(page: Page, runs: dict[str, Result]) -> None:
    expected = {(name, job) for name, (result, _) in runs.items() for job in result["jobs"]} | {("traffic", "")}
    assert {(row["run"], row["job"]) for row in page.rows} == expected
    assert len(page.rows) == len(expected)
    keys = ["ranks", "bytes", "comm_time_mean_ns", "finish_ns", "packet_latency_mean_ns", "packet_latency_p99_ns"]
    for row in page.rows:
        result, _ = runs[row["run"]]
        source = result if row["job"] == "" else result["jobs"][row["job"]]
        for key in (*keys, "accepted_load", "hops_mean"):
            value = source.get(key)
            assert row[key] == ("" if value is None else str(value))
    alone, beside = (runs[name][0]["jobs"]["halo3d"]["comm_time_mean_ns"] for name in ("alone", "beside"))
    ratio = {(row["run"], row["job"]): row["slowdown"] for row in page.rows}
    assert ratio["alone", "halo3d"] == "1.0"
    assert float(ratio["beside", "halo3d"]) == beside / alone
    assert ratio["beside", "ur"] == ratio["cut_off", "halo3d"] == ""
    assert page.matrix["par"] == [beside / alone]


def test_an_unfinished_run_is_marked(page: Page) -> None:
    rows = {(row["run"], row["job"]): row for row in page.rows}
    assert rows["beside", "ur"]["state"] == rows["traffic", ""]["state"] == "finished"
    assert rows["cut_off", "lu"]["state"] == "not finished"
    assert rows["cut_off", "lu"]["comm_time_mean_ns"] == ""  # it would cover only some ranks
    assert "1 of them not finished" in page.text
    assert '<td class="open" title="no run of this pair finished">not finished</td>' in page.text
    assert "halo3d with lu · par · seed 1 · NOT FINISHED" in page.text


def test_texts_are_escaped(study: Path, runs: dict[str, Result], page: Page) -> None:
    assert "<title>A &lt;study&gt;</title>" in page.text
    evil = copy.deepcopy(runs["beside"])
    name = "</script><b>&\"'"
    evil[0]["jobs"][name] = evil[0]["jobs"].pop("ur")
    evil[0]["blame"]["jobs"] = ["halo3d", name]
    evil[0]["warnings"] = {"drift": name}
    found = Page(write_report(study, "x", [evil], [], output=study / "evil.html").read_text())
    assert name in found.data()["colours"]
    assert name in {row["job"] for row in found.rows}
    assert '<p class="warn">&lt;/script&gt;&lt;b&gt;' in found.text
    assert "<b>" not in found.text


@pytest.mark.parametrize(
    "overrides",
    [
        RUNS["cut_off"],
        RUNS["traffic"],
        ("topology=dragonfly", "topology.groups=5", "router=hpdc21", "routing=ugal_l", "traffic=adversarial", "seed=7"),
        ("topology=dragonfly_72", "routing=q_adaptive", "run.freeze_q_table=true", "failures.links=0.02"),
        ("topology=hyperx_64", "router=sc19", "routing=dqn", "traffic=urb_y", "run=settled"),
        (
            *SMALL,
            "workload=jobs",
            "workload.jobs=[{motif: ur, ranks: 8, name: 'a b,c'}, {motif: lu, terminals: [1, 2]}]",
        ),
    ],
)
def test_the_command_of_a_run_gives_its_configuration(overrides: tuple[str, ...]) -> None:
    config = compose(overrides)
    resolved: Any = OmegaConf.to_container(config, resolve=True)
    again = simulate_again(resolved)
    assert again is not None
    program, verb, *words = shlex.split(again)
    assert (program, verb) == ("flitgym", "simulate")
    assert config_hash(compose(words)) == config_hash(config)
    assert len(words) <= len(overrides) + 1


def test_curves_are_the_series(runs: dict[str, Result]) -> None:
    (run,) = runs_of([runs["beside"]])
    found = series(run)
    assert found is not None
    for job, curve in found.items():
        rows = [row for row in read_rows(run.directory / "job_series.parquet") if row["job"] == job]
        ends = np.array([row["time_ns"] for row in rows]) / 1e6
        assert set(curve["time_ms"]) <= {float(f"{end:.5g}") for end in ends}
        assert curve["time_ms"][-1] == pytest.approx(ends[-1], rel=1e-4)
        received = np.array(curve["throughput"]) * np.diff(curve["time_ms"], prepend=0) * 1e9
        assert received.sum() == pytest.approx(sum(row["bytes_received"] for row in rows), rel=1e-3)
        latency = [row["latency_mean_ns"] or 0 for row in rows]
        assert max(value or 0 for value in curve["latency_ns"]) <= max(latency) * 1.0001


def test_the_view_is_the_table_of_the_links(runs: dict[str, Result]) -> None:
    (run,) = runs_of([runs["beside"]])
    rows = read_rows(run.directory / "links.parquet")
    for merge in (1, 4):
        found = view(run, merge)
        assert found is not None
        assert len(found["end_us"]) == -(-len({row["end_ns"] for row in rows}) // merge)
        entries = len(found["network"]["ends"])
        lengths = np.diff([0, *found["end_us"]])
        used = {name: lengths @ unpack(own).reshape(-1, entries) for name, own in found["values"].items()}
        for k, (router, peer) in enumerate(found["network"]["ends"]):
            if merge > 1 and k % 7:
                continue
            # One link joins two routers of this Dragonfly.
            own = [row for row in rows if (row["router"], row["peer_router"]) == (router, peer)]
            us = np.array([(row["end_ns"] - row["begin_ns"]) / 1e3 for row in own])
            of = {
                key: [row[column] for row in own]
                for key, column in (("stalls", "stall_share"), ("queue", "queue"), ("credits", "uncredited"))
            }
            of["utilisation"] = np.minimum([row["utilisation"] for row in own], 1)
            for job in run.jobs:
                shares = [row[f"flits.{job}"] / max(row["flits"], 1) for row in own]
                of[job] = of["utilisation"] * np.array(shares)
            for name, values in of.items():
                most = found["values"][name]["most"]
                assert used[name][k] == pytest.approx(us @ np.array(values), rel=1e-3, abs=1e-4 * most * us.sum())


def unpack(packed: dict[str, Any]) -> Any:
    planes = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), np.uint8).reshape(2, -1).astype(float)
    return (planes[0] + 256 * planes[1]) / 65535 * packed["most"]


def test_parts_of_the_latency_add_up(runs: dict[str, Result]) -> None:
    result, _ = runs["beside"]
    parts = decomposition(result)
    assert parts is not None
    for job, part in parts.items():
        assert sum(part.values()) == pytest.approx(result["jobs"][job]["packet_latency_mean_ns"])
        assert min(part.values()) >= 0
    wait = result["blame"]["wait_ns_per_packet"]
    assert parts["halo3d"]["own waiting"] == wait[0][0]
    assert parts["halo3d"]["others' waiting"] == pytest.approx(wait[0][1])
    assert decomposition({**result, "blame": None}) is None
    shown = delays(result)
    assert shown is not None
    assert [bar["total"] for bar in shown["bars"]] == [f"{sum(part.values()):,.1f}" for part in parts.values()]
    texts = [[cell["text"] for cell in cells] for _, cells in shown["tables"]["Waiting"]]
    assert texts == [[f"{value:.3g}" for value in own] for own in wait]


# --- Slowdown ------------------------------------------------------------------------------------------------------


def crafted(runs: dict[str, Result], background: str, time: float, **changes: Any) -> Result:
    result = copy.deepcopy(runs["beside"][0])
    result["config"]["workload"]["background"] = background
    result["config"]["seed"] = changes.get("seed", 1)
    result["config"]["routing"]["name"] = changes.get("routing", "par")
    result["config"]["workload"]["placement"] = changes.get("placement", "random")
    for path, value in changes.get("keys", {}).items():
        section, *inner = path.split(".")
        config = result["config"][section]
        for key in inner[:-1]:
            config = config[key]
        config[inner[-1]] = value
    result["state_hash"] = changes.get("state", str(changes))
    result["workload_finished"] = changes.get("finished", True)
    result["jobs"]["halo3d"]["comm_time_mean_ns"] = time
    return result, Path("nowhere")


def found_in(made: list[Result]) -> list[dict[str, Any]]:
    """The matrices of some results."""
    runs = runs_of(made)
    return matrices(runs, Settings(runs), slowdowns(runs))


def cells_of(matrix: dict[str, Any]) -> list[list[str]]:
    return [[cell["note"] for cell in cells] for _, cells in matrix["lines"]]


def test_the_matrix_of_a_crafted_set(runs: dict[str, Result]) -> None:
    made = [
        crafted(runs, "none", 100),
        crafted(runs, "none", 200, seed=2),
        crafted(runs, "none", 50, routing="q_adaptive"),
        crafted(runs, "ur", 150),
        crafted(runs, "ur", 500, seed=2),
        crafted(runs, "ur", 999, seed=3),  # nothing alone to compare with
        crafted(runs, "lu", 120),
        crafted(runs, "lu", 1, seed=2, finished=False),
        crafted(runs, "ur", 55, routing="q_adaptive"),
        crafted(runs, "lu", 0, routing="q_adaptive", finished=False),
        crafted(runs, "ur", 55, placement="linear"),
        runs["traffic"],
    ]
    par, q_adaptive = found_in(made)
    assert (par["routing"], q_adaptive["routing"]) == ("par", "q_adaptive")
    assert par["backgrounds"] == ["ur", "lu"]
    assert cells_of(par) == [["2.0000; 2 runs, 1.500 to 2.500", "1.2000; 1 run; 1 more did not finish"]]
    assert cells_of(q_adaptive) == [["1.1000; 1 run", "no run of this pair finished"]]
    assert slowdowns(runs_of(made)) == {0: 1, 1: 1, 2: 1, 3: 1.5, 4: 2.5, 6: 1.2, 8: pytest.approx(1.1)}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("router.vcs", 5),
        ("routing.threshold", 3.0),
        ("topology.arrangement", "circulant"),
        ("workload.placement_seed", 2),
        ("run.load_q_table", "learned.npz"),
    ],
)
def test_runs_of_several_settings_are_not_averaged(
    runs: dict[str, Result], tmp_path: Path, path: str, value: Any
) -> None:
    other, told = {path: value}, f"{path}={value}"
    made = [
        crafted(runs, "none", 100),
        crafted(runs, "ur", 150),
        crafted(runs, "none", 100, keys=other),
        crafted(runs, "ur", 300, keys=other),
    ]
    found = found_in(made)
    assert sorted(cells_of(one)[0][0] for one in found) == ["1.5000; 1 run", "3.0000; 1 run"]
    assert sum(told in one["name"] for one in found) == 1
    labels = [run["label"] for run in Page(write_report(tmp_path, "x", made, []).read_text()).data()["runs"]]
    assert len(set(labels)) == len(made)
    assert sum(told in label for label in labels) == 2


def test_parameters_of_the_two_jobs_separate_cells(runs: dict[str, Result]) -> None:
    long = {"workload.target_params": {"bytes": 2000, "iterations": 9}}
    much = {"workload.background_params": {"iterations": 99}}
    made = [
        crafted(runs, "none", 100),
        crafted(runs, "none", 1000, keys=long),
        crafted(runs, "ur", 150),
        crafted(runs, "ur", 200, keys=much),
        crafted(runs, "ur", 1100, keys=long),
        crafted(runs, "lu", 110, keys={"workload.background_params": {}}),
    ]
    (found,) = found_in(made)
    assert [target for target, _ in found["lines"]] == ["halo3d iterations=2", "halo3d iterations=9"]
    assert found["backgrounds"] == ["ur iterations=50", "ur iterations=99", "lu"]
    means = [[cell.get("value") for cell in cells] for _, cells in found["lines"]]
    assert means == [[1.5, 2.0, 1.1], [1.1, None, None]]


def test_irrelevant_keys_do_not_hide_the_run_alone(runs: dict[str, Result], tmp_path: Path) -> None:
    neutral = {
        **{"run.warmup_ns": 1.0, "run.measure_ns": 1.0, "run.overwrite": True, "workload.max_ns": 1e9},
        **{"workload.map_interval_ns": 0.0, "workload.series_interval_ns": 0.0, "workload.ends_with": "target"},
    }
    made = [
        crafted(runs, "none", 100, keys=neutral),
        crafted(runs, "ur", 150),
        crafted(runs, "ur", 150, keys=neutral),  # the same seed, so not a further sample
    ]
    assert list(slowdowns(runs_of(made)).values()) == [1, 1.5, 1.5]
    (found,) = found_in(made)
    assert cells_of(found) == [["1.5000; 1 run"]]
    labels = [run["label"] for run in Page(write_report(tmp_path, "x", made, []).read_text()).data()["runs"]]
    assert not any("=" in label for label in labels)


def test_seeds_with_equal_results_count_once(runs: dict[str, Result], tmp_path: Path) -> None:
    made = [crafted(runs, "none", 100, seed=seed, state="alone") for seed in (1, 2, 3)]
    made += [crafted(runs, "ur", 150, seed=seed, state="same") for seed in (1, 2)]
    made.append(crafted(runs, "ur", 250, seed=3, state="other"))
    alike = "1 with other seeds but an identical final state are not counted"
    assert cells_of(found_in(made)[0]) == [[f"2.0000; 2 runs, 1.500 to 2.500; {alike}"]]
    text = write_report(tmp_path, "x", made, []).read_text()
    assert "<li>3 of 6 runs repeat a run with another seed bit by bit" in text


def test_a_slowdown_with_an_idle_background_is_marked(runs: dict[str, Result], tmp_path: Path) -> None:
    made = [crafted(runs, "none", 100), crafted(runs, "ur", 150)]
    for warnings in ({}, {"overlap": "ur hardly runs"}):
        made[1][0]["warnings"] = warnings
        text = write_report(tmp_path, "x", made, []).read_text()
        assert ("1.50†</td>" in text) == ("1.500†</td>" in text) == bool(warnings)


def test_a_study_without_tables_has_a_page(runs: dict[str, Result], tmp_path: Path) -> None:
    found = Page(write_report(tmp_path, "bare", [(runs["beside"][0], tmp_path / "gone")], []).read_text())
    (run,) = found.data()["runs"]
    assert run["view"] is None
    assert run["series"] is None
