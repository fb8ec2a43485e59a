"""The report of a sweep of traffic: curves and a comparison of runs, without empty sections."""

import copy
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from flitgym.configs import compose
from flitgym.experiments.conclusion.conclude import conclude
from flitgym.experiments.metrics import mean_interval
from flitgym.experiments.report import write_report
from flitgym.experiments.report.headline import compared
from flitgym.experiments.report.loads import curves
from flitgym.experiments.running.one_run import execute
from flitgym.experiments.terminal.progress import no_report
from flitgym.simcore._window import is_saturated

ROUTINGS, LOADS, SEEDS = ("minimal", "ugal_l"), (0.1, 0.3, 0.5), (1, 2)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CONTROLS = ("select", "input", "button")
# Sections that need jobs or forwarding tables.
OF_JOBS = {"slowdown", "blame", "curves", "network", "tables"}


class Page(HTMLParser):
    """The sections of a page with their text and controls, and the rows of its first table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {}
        self.links: list[str] = []
        self.headings: list[str] = []
        self.rows: list[dict[str, str]] = []
        self.ids: set[str] = set()
        self.controls: dict[str, list[str]] = {}
        self._section = self._tag = ""
        self.feed(text)

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        attributes = {key: value or "" for key, value in pairs}
        self._tag = tag
        self.ids |= {attributes["id"]} if "id" in attributes else set()
        if tag == "section":
            self._section = attributes["id"]
            self.sections[self._section] = ""
            self.controls[self._section] = []
        if tag == "a" and attributes["href"].startswith("#"):
            self.links.append(attributes["href"][1:])
        if tag in CONTROLS and self._section:
            self.controls[self._section].append(attributes.get("id", ""))
        if "data-run" in attributes:
            self.rows.append({"run": attributes["data-run"]})
        if tag == "td" and "data-key" in attributes:
            self.rows[-1][attributes["data-key"]] = attributes["data-value"]

    def handle_data(self, text: str) -> None:
        if self._section:
            self.sections[self._section] += text
        if self._tag == "th" and self._section == "overview" and text.strip():
            self.headings.append(text.strip())

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""
        if tag == "section":
            self._section = ""


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
def runs(study: Path) -> list[tuple[dict[str, Any], Path]]:
    return [(json.loads(path.read_text()), path.parent) for path in sorted(study.glob("*/result.json"))]


@pytest.fixture(scope="module")
def page(study: Path) -> Page:
    return Page((study / "report.html").read_text())


def test_the_curves_come_first_and_once_and_nothing_is_empty(page: Page) -> None:
    assert list(page.sections) == ["loads", "overview", "provenance"]  # sweep.png has the same curves
    assert page.links == list(page.sections)
    assert not OF_JOBS & page.ids
    assert page.controls == {"loads": [], "overview": ["headline-filter"], "provenance": []}
    assert page.headings == [
        "Run",
        "Routing",
        "Seed",
        "Offered load",
        "Accepted load",
        "Packet latency mean, ns",
        "p99, ns",
        "Hops",
    ]


def test_the_rows_are_the_results(page: Page, runs: list[tuple[dict[str, Any], Path]]) -> None:
    known = {folder.name: result for result, folder in runs}
    assert {row["run"] for row in page.rows} == set(known)
    for row in page.rows:
        for key in ("offered_load", "accepted_load", "packet_latency_mean_ns", "packet_latency_p99_ns", "hops_mean"):
            assert float(row[key]) == known[row["run"]][key]
        assert row["routing"] == ("ugal_l" if row["run"].startswith("ugal_l") else "minimal")


def test_the_curves_are_the_means_of_the_results(runs: list[tuple[dict[str, Any], Path]]) -> None:
    ((block),) = curves(runs)
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
                own = [result for result, folder in runs if folder.name.startswith(f"{routing}_{point['x']}_")]
                values = [result[key] for result in own]
                assert point["mean"] == pytest.approx(sum(values) / 2)
                _, low, high = mean_interval(values)
                assert (point["low"], point["high"]) == ((low, high) if values[0] != values[1] else (None, None))
                assert [runs[i][0] for i in point["runs"]] == own
                assert point["saturated"] == is_saturated(own)
    assert any(point["saturated"] for point in accepted["lines"][0]["points"])


def test_a_run_that_shows_how_a_network_settles_belongs_to_no_load(runs: list[tuple[dict[str, Any], Path]]) -> None:
    settling = copy.deepcopy(runs)
    for result, _ in settling:
        result["config"]["run"] |= {"warmup_ns": 0, "series_interval_ns": 5000}
    assert curves(settling) == []


def test_runs_are_compared_by_the_keys_that_differ(runs: list[tuple[dict[str, Any], Path]]) -> None:
    found = compared(runs, [folder.name for _, folder in runs])
    assert set().union(*(one["keys"] for one in found)) >= {"routing.name", "traffic.load", "seed"}
    assert not {key for one in found for key in one["keys"]} & {"topology.groups", "run.threads", "plot.format"}
    for one, (result, _) in zip(found, runs, strict=True):
        assert one["results"]["accepted_load"] == result["accepted_load"]
        assert one["results"]["state_hash"] == result["state_hash"]


def test_text_of_a_result_is_escaped(runs: list[tuple[dict[str, Any], Path]], tmp_path: Path) -> None:
    evil = copy.deepcopy(runs[:2])
    evil[0][0]["warnings"] = {"drift": "</script><b>x"}
    evil[0][0]["config"]["traffic"]["name"] = "<i>uniform"
    text = write_report(tmp_path, "a & b", evil, []).read_text()
    assert "<b>x" not in text
    assert "<i>" not in text
    assert "<title>a &amp; b</title>" in text
    assert html.escape("</script><b>x") in text


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


def opened(path: Path, folder: Path) -> str:
    """The page after a browser without a network has run its scripts."""
    program = browser()
    assert program is not None
    alone = [
        "--proxy-server=127.0.0.1:9",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'user'}",
    ]
    words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", *alone]
    done = subprocess.run(
        [*words, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


@pytest.mark.skipif(browser() is None, reason=f"there is no browser here ({', '.join(BROWSERS)})")
def test_the_page_works_in_a_browser_without_a_network(study: Path, tmp_path: Path) -> None:
    text = (study / "report.html").read_text()
    clicked = text.replace("<style>", f"{_BEFORE}<style>", 1).replace("</body>", f"{_CLICKS}</body>")
    (tmp_path / "clicked.html").write_text(clicked)
    title = re.search(r"<title>(.*?)</title>", opened(tmp_path / "clicked.html", tmp_path), re.DOTALL)
    assert title is not None
    result = json.loads(html.unescape(title[1]))
    assert result["failed"] == []
    assert result["boxes"] == 12
    assert result["before"]
    assert result["head"] == ["", "adversarial, load 0.1 · minimal · seed 1", "adversarial, load 0.1 · ugal_l · seed 2"]
    lines = {line[0]: line[1:] for line in result["lines"]}
    assert lines["seed"] == ["1", "2"]
    assert lines["routing.name"] == ["minimal", "ugal_group"]
    assert "traffic.load" not in lines  # it has the same value in the chosen runs
    known = [json.loads((study / f"{name}_0.1_{seed}" / "result.json").read_text()) for name, seed in
             (("minimal", 1), ("ugal_l", 2))]  # fmt: skip
    first, second = (one["packet_latency_mean_ns"] for one in known)
    told = re.fullmatch(r"([\d.,]+) \(\+([\d.]+) %\)", lines["packet_latency_mean_ns"][1])
    assert told is not None
    assert float(told[1].replace(",", "")) == pytest.approx(second, rel=1e-4)
    assert float(told[2]) == pytest.approx(100 * (second / first - 1), rel=1e-2)
    assert result["chosen"] == 8  # a point on each of two lines in four panels
    assert result["faded"] == 0
    assert result["after"]
    assert result["byPoint"] == 2
    assert result["lines_drawn"] == 8
    assert result["lines_left"] == 4
    assert result["count"] == "6 of 12 rows"


_JOBS = """
<script>
setTimeout(() => {
  const count = selector => document.querySelectorAll(selector).length;
  document.title = JSON.stringify({failed, bars: count("#blame-view svg rect"), lines: count("#curve-view path"),
    film: count("#film-view [data-bundle]"), boxes: count("#headline input"), hidden: count("[data-script][hidden]")});
}, 1000);
</script>
"""


@pytest.mark.skipif(browser() is None, reason=f"there is no browser here ({', '.join(BROWSERS)})")
def test_the_page_of_jobs_works_in_a_browser(tmp_path: Path) -> None:
    words = ("topology=dragonfly_72", "router=sc22", "routing=par", "workload=pair", "workload.target=halo3d")
    params = ("workload.target_params={bytes: 2000, iterations: 2}", "workload.background_params.iterations=5")
    for background in ("none", "ur"):
        execute(compose((*words, *params, f"workload.background={background}")), tmp_path / background, no_report)
    report = conclude(tmp_path)[-1]
    text = report.read_text().replace("<style>", f"{_BEFORE}<style>", 1).replace("</body>", f"{_JOBS}</body>")
    (tmp_path / "clicked.html").write_text(text)
    title = re.search(r"<title>(.*?)</title>", opened(tmp_path / "clicked.html", tmp_path), re.DOTALL)
    assert title is not None
    result = json.loads(html.unescape(title[1]))
    assert result["failed"] == []
    assert result["hidden"] == 0
    assert min(result[key] for key in ("bars", "lines", "film", "boxes")) > 0
