"""The report page: a single file with all sections and the numbers of result.json."""

import base64
import copy
import json
import re
import shlex
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from flitgym.configs import compose, config_hash
from flitgym.experiments.report import write_report
from flitgym.experiments.report.command import report
from flitgym.experiments.report.commands import command as command_of
from flitgym.experiments.report.data import decomposition, film, matrices, series, slowdowns, together
from flitgym.experiments.report.settings import what_ran
from flitgym.experiments.results.files import write_table
from flitgym.experiments.results.rows import read_rows
from flitgym.experiments.running.one_run import execute
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.experiments.terminal.progress import no_report
from omegaconf import OmegaConf

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
VOID = {"meta", "link", "input", "img", "br"}


class Page(HTMLParser):
    """The page as parsed by a browser: balanced elements, and the content of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.rows: list[dict[str, str]] = []
        self.images: list[str] = []
        self.scripts: list[str] = []
        self.matrix: dict[str, list[str]] = {}
        self._routing = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        attributes = {key: value or "" for key, value in pairs}
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        for key in ("src", "href", "data", "srcset", "action", "poster"):
            if key in attributes and not attributes[key].startswith(("#", "data:")):
                self.fetched.append(attributes[key])
        if "data-run" in attributes:
            self.rows.append({"run": attributes["data-run"]})
        if tag == "td" and "data-key" in attributes:
            self.rows[-1][attributes["data-key"]] = attributes["data-value"]
        if "data-matrix" in attributes:
            self._routing = attributes["data-routing"]
            self.matrix[self._routing] = []
        elif tag == "td" and self._routing and "data-value" in attributes:
            self.matrix[self._routing].append(attributes["data-value"])
        if tag == "section":
            self._routing = ""
        if tag == "img":
            self.images.append(attributes["src"])

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            self.scripts.append(text)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def data(self) -> Any:
        return next(json.loads(script) for script in self.scripts if script.startswith("{"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four tiny runs and two figures. One run is unfinished, and one has no jobs."""
    folder = tmp_path_factory.mktemp("study")
    for name, overrides in RUNS.items():
        execute(compose(overrides), folder / name, no_report)
    (folder / "bars.png").write_bytes(PNG)
    (folder / "bars.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    (folder / "lines.png").write_bytes(PNG)
    return folder


@pytest.fixture(scope="module")
def runs(study: Path) -> dict[str, tuple[dict[str, Any], Path]]:
    return {name: (json.loads((study / name / "result.json").read_text()), study / name) for name in RUNS}


@pytest.fixture(scope="module")
def page(study: Path, runs: dict[str, Any]) -> Page:
    figures = [study / "bars.png", study / "bars.svg", study / "lines.png"]
    path = write_report(study, "A <study>", list(runs.values()), figures)
    assert path == study / "report.html"
    return Page(path.read_text())


def test_the_command_writes_one_file(command: Command, study: Path, tmp_path: Path) -> None:
    before = {path.name for path in study.iterdir()} - {"report.html"}
    done = command("report", str(study), "--output", str(tmp_path / "out" / "page.html"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "out" / "page.html")
    assert {path.name for path in study.iterdir()} - {"report.html"} == before
    found = Page((tmp_path / "out" / "page.html").read_text())
    assert {row["run"] for row in found.rows} == set(RUNS)
    assert len(found.images) == 2


def test_all_sections_exist_and_nothing_is_fetched(page: Page) -> None:
    assert [name for name in page.ids if name in SECTIONS] == SECTIONS
    assert len(set(page.ids)) == len(page.ids)
    assert page.fetched == []
    for script in page.scripts:
        # The only address is the name of the SVG namespace, which a browser does not load.
        assert set(re.findall(r"https?://[^\s\"']+", script)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"@import|url\((?!#)|\bfetch\(|XMLHttpRequest|\bimport\(", script)


def test_the_table_holds_the_numbers_of_the_results(page: Page, runs: dict[str, Any]) -> None:
    expected = {(name, job) for name, (result, _) in runs.items() for job in result["jobs"]} | {("traffic", "")}
    assert {(row["run"], row["job"]) for row in page.rows} == expected
    assert len(page.rows) == len(expected)
    for row in page.rows:
        result, _ = runs[row["run"]]
        source = result if row["job"] == "" else result["jobs"][row["job"]]
        for key in (
            "ranks",
            "bytes",
            "comm_time_mean_ns",
            "finish_ns",
            "packet_latency_mean_ns",
            "packet_latency_p99_ns",
            "accepted_load",
            "hops_mean",
        ):
            value = source.get(key)
            assert row[key] == ("" if value is None else str(value))
    alone, beside = (runs[name][0]["jobs"]["halo3d"]["comm_time_mean_ns"] for name in ("alone", "beside"))
    ratio = {(row["run"], row["job"]): row["slowdown"] for row in page.rows}
    assert ratio["alone", "halo3d"] == "1.0"
    assert float(ratio["beside", "halo3d"]) == beside / alone
    assert ratio["beside", "ur"] == ratio["cut_off", "halo3d"] == ""
    assert [float(value) for value in page.matrix["par"]] == [beside / alone]


def test_an_unfinished_run_is_marked(page: Page, runs: dict[str, Any], study: Path) -> None:
    states = {(row["run"], row["job"]): row["state"] for row in page.rows}
    assert states["beside", "ur"] == states["traffic", ""] == "finished"
    assert states["cut_off", "lu"] == "not finished"
    text = (study / "report.html").read_text()
    assert "1 of them not finished" in text
    assert '<td class="open" title="no run of this pair finished">not finished</td>' in text
    assert "halo3d with lu · par · seed 1 · NOT FINISHED" in text
    assert "workload.max_ns=3000" in text
    assert [run["finished"] for run in page.data()["runs"]].count(False) == 1


def test_the_title_and_names_are_text(page: Page, study: Path, runs: dict[str, Any]) -> None:
    assert "<title>A &lt;study&gt;</title>" in (study / "report.html").read_text()
    evil = copy.deepcopy(runs["beside"])
    name = "</script><b>&\"'"
    evil[0]["jobs"][name] = evil[0]["jobs"].pop("ur")
    evil[0]["blame"]["jobs"] = ["halo3d", name]
    found = Page(write_report(study, "x", [evil], [], output=study / "evil.html").read_text())
    assert name in found.data()["jobs"]
    assert name in {row["job"] for row in found.rows}


def test_provenance(page: Page, study: Path, runs: dict[str, Any]) -> None:
    text = (study / "report.html").read_text()
    for result, _ in runs.values():
        for part in (result["config_hash"], result["version"], str(result["state_hash"])):
            assert part in text
    assert text.count("<details>") == len(RUNS)


@pytest.mark.parametrize(
    "overrides",
    [
        RUNS["cut_off"],
        RUNS["traffic"],
        ("topology=hyperx_64", "router=sc19", "routing=omni_war", "workload=stencil27", "workload.placement=random"),
        ("topology=dragonfly", "topology.groups=5", "router=hpdc21", "routing=ugal_l", "traffic=adversarial", "seed=7"),
        ("topology=dragonfly_72", "routing=q_adaptive", "traffic=adversarial"),
        ("topology=dragonfly_72", "routing=q_adaptive", "run.freeze_q_table=true", "failures.links=0.02"),
        ("topology=hyperx_64", "router=sc19", "routing=dqn_priced", "traffic=urb_y", "run=settled"),
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
    program, verb, *words = shlex.split(command_of(resolved))
    assert (program, verb) == ("flitgym", "simulate")
    assert config_hash(compose(words)) == config_hash(config)
    assert len(words) <= len(overrides) + 1


def test_curves_are_the_series(runs: dict[str, Any]) -> None:
    result, folder = runs["beside"]
    found = series(result, folder)
    assert found is not None
    for job, curve in found.items():
        rows = [row for row in read_rows(folder / "job_series.parquet") if row["job"] == job]
        ends = np.array([row["time_ns"] for row in rows]) / 1e6
        assert set(curve["time_ms"]) <= {float(f"{end:.5g}") for end in ends}
        assert curve["time_ms"][-1] == pytest.approx(ends[-1], rel=1e-4)
        received = np.array(curve["throughput"]) * np.diff(curve["time_ms"], prepend=0) * 1e9
        assert received.sum() == pytest.approx(sum(row["bytes_received"] for row in rows), rel=1e-3)
        latency = [row["latency_mean_ns"] or 0 for row in rows]
        assert max(value or 0 for value in curve["latency_ns"]) <= max(latency) * 1.0001


def test_the_film_is_the_table_of_the_links(runs: dict[str, Any]) -> None:
    result, folder = runs["beside"]
    rows = read_rows(folder / "links.parquet")
    for merge in (1, 4):
        found = film(result, folder / "links.parquet", merge)
        assert found is not None
        assert len(found["end_ms"]) == -(-len({row["end_ns"] for row in rows}) // merge)
        shape = len(found["end_ms"]), len(found["bundles"])
        for job in result["jobs"]:
            sent = unpack(found["bytes"][job]).reshape(shape)
            for i, (group, peer, kind, _) in enumerate(found["bundles"]):
                own = [row for row in rows if (row["group"], row["peer_group"], row["kind"]) == (group, peer, kind)]
                flits = sum(row[f"flits.{job}"] for row in own)
                assert sent[:, i].sum() == pytest.approx(flits * 128)
        lengths = np.diff([0, *found["end_ms"]])
        used = unpack(found["utilisation"]).reshape(shape)[:, 0] @ lengths
        bundle = found["bundles"][0][:3]
        own = [row for row in rows if [row["group"], row["peer_group"], row["kind"]] == bundle]
        assert used == pytest.approx(
            sum(row["utilisation"] * (row["end_ns"] - row["begin_ns"]) / 1e6 for row in own), rel=1e-3, abs=1e-9
        )


def unpack(packed: dict[str, Any]) -> Any:
    planes = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), np.uint8).reshape(2, -1).astype(float)
    return (planes[0] + 256 * planes[1]) / 65535 * packed["most"]


def test_parts_of_the_latency_add_up(runs: dict[str, Any]) -> None:
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


def crafted(runs: dict[str, Any], background: str, time: float, **changes: Any) -> tuple[dict[str, Any], Path]:
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


def test_the_matrix_of_a_crafted_set(runs: dict[str, Any]) -> None:
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
    found = {one["routing"]: one for one in matrices(made)}
    assert list(found) == ["par", "q_adaptive"]
    assert (found["par"]["targets"], found["par"]["backgrounds"]) == (["halo3d"], ["ur", "lu"])
    ur, lu = found["par"]["cells"][0]
    assert ur == {"mean": 2.0, "least": 1.5, "most": 2.5, "runs": 2, "alike": 0, "open": 0, "together": None}
    assert lu == {"mean": 1.2, "least": 1.2, "most": 1.2, "runs": 1, "alike": 0, "open": 1, "together": None}
    ur, lu = found["q_adaptive"]["cells"][0]
    assert ur["mean"] == pytest.approx(1.1)
    assert lu == {"mean": None, "open": 1}
    assert slowdowns(made) == {0: 1, 1: 1, 2: 1, 3: 1.5, 4: 2.5, 6: 1.2, 8: pytest.approx(1.1)}


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("router.vcs", 5, "router.vcs=5"),
        ("routing.threshold", 3.0, "routing.threshold=3.0"),
        ("topology.arrangement", "circulant", "topology.arrangement=circulant"),
        ("workload.host", "loggops", "workload.host=loggops"),
        ("workload.placement_seed", 2, "workload.placement_seed=2"),
        ("workload.packet_bytes", 1024, "workload.packet_bytes=1024"),
        ("run.load_q_table", "learned.npz", "run.load_q_table=learned.npz"),
    ],
)
def test_runs_of_several_settings_are_not_averaged(
    runs: dict[str, Any], tmp_path: Path, path: str, value: Any, told: str
) -> None:
    other = {path: value}
    made = [
        crafted(runs, "none", 100),
        crafted(runs, "ur", 150),
        crafted(runs, "none", 100, keys=other),
        crafted(runs, "ur", 300, keys=other),
    ]
    found = matrices(made)
    assert sorted(one["cells"][0][0]["mean"] for one in found) == [1.5, 3.0]
    assert {one["cells"][0][0]["runs"] for one in found} == {1}
    (changed,) = (one["setting"] for one in found if told in one["setting"])
    assert [one["setting"] for one in found if one["setting"] != changed]
    listed = Page(write_report(tmp_path, "x", made, []).read_text()).data()["runs"]
    assert len({run["label"] for run in listed}) == len(made)
    assert sum(told in run["label"] for run in listed) == 2


def test_parameters_of_the_two_jobs_separate_cells(runs: dict[str, Any]) -> None:
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
    (found,) = matrices(made)
    assert found["targets"] == ["halo3d iterations=2", "halo3d iterations=9"]
    assert found["backgrounds"] == ["ur iterations=50", "ur iterations=99", "lu"]
    means = [[cell and cell["mean"] for cell in row] for row in found["cells"]]
    assert means == [[1.5, 2.0, 1.1], [1.1, None, None]]


def test_irrelevant_keys_do_not_hide_the_run_alone(runs: dict[str, Any], tmp_path: Path) -> None:
    neutral = {
        "run.warmup_ns": 1.0,
        "run.measure_ns": 1.0,
        "run.overwrite": True,
        "workload.max_ns": 1e9,
        "workload.map_interval_ns": 0.0,
        "workload.series_interval_ns": 0.0,
        "workload.ends_with": "target",
        "workload.blame": False,
    }
    made = [
        crafted(runs, "none", 100, keys=neutral),
        crafted(runs, "ur", 150),
        crafted(runs, "ur", 150, keys=neutral),  # the same seed, so not a further sample
    ]
    assert slowdowns(made) == {0: 1, 1: 1.5, 2: 1.5}
    ((cell,),) = (row for one in matrices(made) for row in one["cells"])
    assert (cell["mean"], cell["runs"], cell["alike"]) == (1.5, 1, 0)
    assert all(
        "=" not in run["label"] for run in Page(write_report(tmp_path, "x", made, []).read_text()).data()["runs"]
    )


def test_seeds_with_equal_results_count_once(runs: dict[str, Any], tmp_path: Path) -> None:
    made = [crafted(runs, "none", 100, seed=seed, state="alone") for seed in (1, 2, 3)]
    made += [crafted(runs, "ur", 150, seed=seed, state="same") for seed in (1, 2)]
    made.append(crafted(runs, "ur", 250, seed=3, state="other"))
    ((cell,),) = (row for one in matrices(made) for row in one["cells"])
    assert cell == {"mean": 2.0, "least": 1.5, "most": 2.5, "runs": 2, "alike": 1, "open": 0, "together": None}
    text = write_report(tmp_path, "x", made, []).read_text()
    assert "2 runs, 1.500 to 2.500; 1 with other seeds but an identical final state are not counted" in text
    assert "<li>3 of 6 runs repeat a run with another seed bit by bit" in text


@pytest.mark.parametrize(
    ("target", "background", "share"),
    [
        ([10, 10, 10, 10], [5, 5, 5, 5], 1.0),
        ([10, 10, 10, 30], [5, 0, 5, 0], 0.5),
        ([10, 10, 10, 31], [5, 5, 5, 0], 30 / 61),
        ([50, 10, 0, 0], [0, 1, 9, 9], 1 / 6),  # the background started late
        ([10, 10, 10, 10], [0, 0, 0, 0], 0.0),
        ([0, 0, 0, 0], [5, 0, 0, 0], None),
    ],
)
def test_a_slowdown_with_an_idle_background_is_marked(
    runs: dict[str, Any], tmp_path: Path, target: list[int], background: list[int], share: float | None
) -> None:
    result, _ = crafted(runs, "ur", 150)
    write_table(
        tmp_path / "job_series.parquet",
        {
            "job": np.repeat(["halo3d", "ur"], 4),
            "time_ns": np.tile([10.0, 20.0, 30.0, 40.0], 2),
            "bytes_received": np.array([*target, *background]),
            "packets": np.ones(8),
            "latency_mean_ns": np.ones(8),
        },
    )
    assert together(result, tmp_path) == (None if share is None else pytest.approx(share))
    made = [crafted(runs, "none", 100), (result, tmp_path)]
    text = write_report(tmp_path, "x", made, []).read_text()
    marked = share is not None and share < 0.5
    assert ("1.50†</td>" in text) == ("1.500†</td>" in text) == marked
    assert text.count("of its bytes while the background sent") == 2 * marked


def test_an_unfinished_job_has_no_communication_time(runs: dict[str, Any], study: Path) -> None:
    job = runs["cut_off"][0]["jobs"]["lu"]
    assert job["ranks_finished"] < job["ranks"]
    assert [job[f"comm_time_{which}_ns"] for which in ("mean", "std", "max")] == [None] * 3
    row = next(line for line in (study / "report.html").read_text().split("<tr") if 'data-value="lu"' in line)
    assert '<td class="number" data-key="comm_time_mean_ns" data-value="">–</td>' in row  # noqa: RUF001


def test_names_of_runs(runs: dict[str, Any]) -> None:
    assert {name: what_ran(result["config"]) for name, (result, _) in runs.items()} == {
        "alone": "halo3d alone",
        "beside": "halo3d with ur",
        "cut_off": "halo3d with lu",
        "traffic": "uniform, load 0.5",
    }


def test_a_study_without_tables_has_a_page(runs: dict[str, Any], tmp_path: Path) -> None:
    result, _ = copy.deepcopy(runs["beside"])
    found = Page(write_report(tmp_path, "bare", [(result, tmp_path / "gone")], []).read_text())
    (run,) = found.data()["runs"]
    assert run["film"] is None
    assert run["series"] is None


def test_a_missing_folder_is_refused() -> None:
    with pytest.raises(CommandError, match=r"nowhere is not a folder; .* results/<study>"):
        report(Path("nowhere"), None)


def test_a_folder_without_runs_is_refused_with_advice(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    done = command("report", str(folder))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert str(folder) in done.stderr
    assert "flitgym simulate" in done.stderr
    assert not list(tmp_path.glob("**/report.html"))


def test_warnings_of_a_result_are_shown(runs: dict[str, Any], tmp_path: Path) -> None:
    result, folder = runs["traffic"]
    warned = {**result, "warnings": {"cold_table": "it was <cold>"}}
    page = write_report(tmp_path, "study", [(warned, folder)], []).read_text()
    assert '<p class="warn">it was &lt;cold&gt;</p>' in page
