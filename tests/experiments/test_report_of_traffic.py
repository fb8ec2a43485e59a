"""The report of a sweep of traffic: curves and a comparison of runs, without empty sections."""

import copy
import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from flitgym.configs import compose
from flitgym.experiments.conclusion.conclude import conclude
from flitgym.experiments.metrics import mean_interval
from flitgym.experiments.report.loads import curves
from flitgym.experiments.report.runs import compared, runs_of
from flitgym.experiments.running.one_run import execute
from flitgym.experiments.terminal.progress import no_report
from flitgym.simcore._window import is_saturated
from report_page import Page

ROUTINGS, LOADS, SEEDS = ("minimal", "ugal_l"), (0.1, 0.3, 0.5), (1, 2)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve tiny runs: two routings, three loads, two seeds."""
    folder = tmp_path_factory.mktemp("traffic")
    for routing in ROUTINGS:
        for load in LOADS:
            for seed in SEEDS:
                words = (f"routing={routing}", f"traffic.load={load}", f"seed={seed}", "traffic=adversarial")
                config = compose(("topology=dragonfly_72", *words, "run.warmup_ns=1000", "run.measure_ns=2000"))
                execute(config, folder / f"{routing}_{load}_{seed}", no_report)
    conclude(folder)
    return folder


@pytest.fixture(scope="module")
def results(study: Path) -> list[tuple[dict[str, Any], Path]]:
    return [(json.loads(path.read_text()), path.parent) for path in sorted(study.glob("*/result.json"))]


@pytest.fixture(scope="module")
def page(study: Path) -> Page:
    return Page((study / "report.html").read_text())


def test_the_curves_come_first_and_once_and_nothing_is_empty(page: Page) -> None:
    assert page.sections == page.links == ["loads", "overview", "provenance"]  # sweep.png has the same curves
    assert page.controls == {"loads": [], "overview": ["headline-filter"], "provenance": []}


def test_the_rows_are_the_results(page: Page, results: list[tuple[dict[str, Any], Path]]) -> None:
    known = {folder.name: result for result, folder in results}
    assert {row["run"] for row in page.rows} == set(known)
    keys = ["offered_load", "accepted_load", "packet_latency_mean_ns", "packet_latency_p99_ns", "hops_mean"]
    for row in page.rows:
        assert list(row) == ["run", "what", "routing", "seed", *keys]
        assert [float(row[key]) for key in keys] == [known[row["run"]][key] for key in keys]
        assert row["routing"] == ("ugal_l" if row["run"].startswith("ugal_l") else "minimal")


def test_the_curves_are_the_means_of_the_results(results: list[tuple[dict[str, Any], Path]]) -> None:
    (block,) = curves(runs_of(results))
    latency, _, accepted, _ = block["panels"]
    assert [panel["y"].split(" (")[0] for panel in block["panels"]] == [
        "mean packet latency",
        "p99 packet latency",
        "accepted load",
        "mean hops per packet",
    ]
    for panel, key in ((latency, "packet_latency_mean_ns"), (accepted, "accepted_load")):
        assert [line["label"] for line in panel["lines"]] == ["minimal", "ugal_l"]
        for line, routing in zip(panel["lines"], ROUTINGS, strict=True):
            assert [point["x"] for point in line["points"]] == list(LOADS)
            for point in line["points"]:
                own = [result for result, folder in results if folder.name.startswith(f"{routing}_{point['x']}_")]
                values = [result[key] for result in own]
                assert point["mean"] == pytest.approx(sum(values) / 2)
                _, low, high = mean_interval(values)
                assert (point["low"], point["high"]) == ((low, high) if values[0] != values[1] else (None, None))
                assert [results[i][0] for i in point["runs"]] == own
                assert point["saturated"] == is_saturated(own)
    assert any(point["saturated"] for point in accepted["lines"][0]["points"])


def test_a_run_that_shows_how_a_network_settles_belongs_to_no_load(results: list[tuple[dict[str, Any], Path]]) -> None:
    settling = copy.deepcopy(results)
    for result, _ in settling:
        result["config"]["run"] |= {"warmup_ns": 0, "series_interval_ns": 5000}
    assert curves(runs_of(settling)) == []


def test_runs_are_compared_by_the_keys_that_differ(results: list[tuple[dict[str, Any], Path]]) -> None:
    found = compared(runs_of(results), [folder.name for _, folder in results])
    assert set().union(*(one["keys"] for one in found)) >= {"routing.name", "traffic.load", "seed"}
    assert not {key for one in found for key in one["keys"]} & {"topology.groups", "run.threads", "plot.format"}
    for one, (result, _) in zip(found, results, strict=True):
        assert one["results"]["accepted_load"] == result["accepted_load"]
        assert one["results"]["state_hash"] == result["state_hash"]


# --- In a browser --------------------------------------------------------------------------------------------------

_BEFORE = "<script>window.failed = []; addEventListener('error', event => failed.push(event.message));</script>"
_CLICKS = """
<script>
const result = {};
const boxes = [...document.querySelectorAll("#headline input[type=checkbox]")];
const click = element => element.dispatchEvent(new MouseEvent("click", {bubbles: true}));
result.boxes = boxes.length;
result.before = document.getElementById("compare") === null;
boxes[0].click();
boxes[3].click();
result.head = [...document.querySelectorAll("#compare thead th")].map(cell => cell.textContent);
const cells = row => [...row.cells].map(cell => cell.textContent);
result.lines = [...document.querySelectorAll("#compare tbody tr")].map(cells);
result.chosen = document.querySelectorAll("#loads .chosen").length;
result.faded = document.querySelectorAll("#loads g[opacity='0.25']").length;
document.getElementById("compare-clear").click();
result.after = document.getElementById("compare") === null && !boxes.some(box => box.checked);
click(document.querySelector("#loads .reach"));
result.byPoint = boxes.filter(box => box.checked).length;
result.lines_drawn = document.querySelectorAll("#loads [data-line]").length;
document.querySelector("#loads .legend button").click();
result.lines_left = document.querySelectorAll("#loads [data-line]").length;
const filter = document.getElementById("headline-filter");
filter.value = "ugal";
filter.dispatchEvent(new Event("input"));
result.count = document.getElementById("headline-count").textContent;
result.failed = failed;
document.title = JSON.stringify(result);
</script>
"""


def browser() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


in_browser = pytest.mark.skipif(browser() is None, reason=f"there is no browser here ({', '.join(BROWSERS)})")


def played(report: Path, script: str, folder: Path) -> dict[str, Any]:
    """The result of a script at the end of the page, in a browser without a network."""
    text = report.read_text().replace("<style>", f"{_BEFORE}<style>", 1).replace("</body>", f"{script}</body>")
    (folder / "clicked.html").write_text(text)
    words = [
        *(str(browser()), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"),
        *("--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'user'}"),
        *("--dump-dom", (folder / "clicked.html").as_uri()),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    result: dict[str, Any] = json.loads(html.unescape(title[1]))
    assert result.pop("failed") == []
    return result


@in_browser
def test_the_page_works_in_a_browser_without_a_network(study: Path, tmp_path: Path) -> None:
    result = played(study / "report.html", _CLICKS, tmp_path)
    lines = {line[0]: line[1:] for line in result.pop("lines")}
    assert result == {
        "boxes": 12,
        "before": True,
        "head": ["", "adversarial, load 0.1 · minimal · seed 1", "adversarial, load 0.1 · ugal_l · seed 2"],
        "chosen": 8,  # a point on each of two lines in four panels
        "faded": 0,
        "after": True,
        "byPoint": 2,
        "lines_drawn": 8,
        "lines_left": 4,
        "count": "6 of 12 rows",
    }
    assert lines["seed"] == ["1", "2"]
    assert lines["routing.name"] == ["minimal", "ugal_group"]
    assert "traffic.load" not in lines  # it has the same value in the chosen runs
    known = [json.loads((study / run / "result.json").read_text()) for run in ("minimal_0.1_1", "ugal_l_0.1_2")]
    first, second = (one["packet_latency_mean_ns"] for one in known)
    told = re.fullmatch(r"([\d.,]+) \(\+([\d.]+) %\)", lines["packet_latency_mean_ns"][1])
    assert told is not None
    assert float(told[1].replace(",", "")) == pytest.approx(second, rel=1e-4)
    assert float(told[2]) == pytest.approx(100 * (second / first - 1), rel=1e-2)


_JOBS = """
<script>
setTimeout(() => {
  const count = selector => document.querySelectorAll(selector).length;
  document.title = JSON.stringify({failed, bars: count("#blame-view svg rect"), lines: count("#curve-view path"),
    film: count("#film-view [data-bundle]"), boxes: count("#headline input"), hidden: count("[data-script][hidden]")});
}, 1000);
</script>
"""


@in_browser
def test_the_page_of_jobs_works_in_a_browser(tmp_path: Path) -> None:
    words = ("topology=dragonfly_72", "router=sc22", "routing=par", "workload=pair", "workload.target=halo3d")
    params = ("workload.target_params={bytes: 2000, iterations: 2}", "workload.background_params.iterations=5")
    for background in ("none", "ur"):
        execute(compose((*words, *params, f"workload.background={background}")), tmp_path / background, no_report)
    result = played(conclude(tmp_path)[-1], _JOBS, tmp_path)
    assert result.pop("hidden") == 0
    assert min(result.values()) > 0
