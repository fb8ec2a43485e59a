"""The report of a sweep of traffic: curves and the table of runs, without empty sections."""

import base64
import copy
import html
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from conftest import executed
from flitgym.experiments.conclusion.conclude import conclude
from flitgym.experiments.report.pictures import curves
from flitgym.experiments.report.runs import runs_of
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
                words = ("topology=dragonfly_72", *words, "run.warmup_ns=1000", "run.measure_ns=2000")
                executed(folder / f"{routing}_{load}_{seed}", *words)
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


def test_the_rows_are_the_results(page: Page, results: list[tuple[dict[str, Any], Path]]) -> None:
    known = {folder.name: result for result, folder in results}
    assert {row["run"] for row in page.rows} == set(known)
    keys = ["offered_load", "accepted_load", "packet_latency_mean_ns", "packet_latency_p99_ns", "hops_mean"]
    for row in page.rows:
        assert list(row) == ["run", "what", "routing", "seed", *keys]
        assert [float(row[key]) for key in keys] == [known[row["run"]][key] for key in keys]
        assert row["routing"] == ("ugal_l" if row["run"].startswith("ugal_l") else "minimal")


def test_the_panels_are_those_of_the_sweep(page: Page) -> None:
    """The tests of the sweep's figure check the points."""
    names = [html.unescape(name) for name in re.findall(r'<img alt="(.*?)"', page.text)]
    assert [name.partition(" against ")[0].partition(" (")[0] for name in names] == [
        "legend",
        "mean packet latency",
        "p99 packet latency",
        "accepted load",
        "mean hops per packet",
    ]
    legend = base64.b64decode(page.images[0].removeprefix("data:image/svg+xml;base64,")).decode()
    assert ET.fromstring(legend) is not None
    for name in (*ROUTINGS, "95 % interval, 2 seeds", "hollow: saturated"):
        assert f">{name}</text>" in legend


def test_a_run_that_shows_how_a_network_settles_belongs_to_no_load(results: list[tuple[dict[str, Any], Path]]) -> None:
    settling = copy.deepcopy(results)
    for result, _ in settling:
        result["config"]["run"] |= {"warmup_ns": 0, "series_interval_ns": 5000}
    assert list(curves(runs_of(settling))) == []


# --- In a browser --------------------------------------------------------------------------------------------------

_BEFORE = "<script>window.failed = []; addEventListener('error', event => failed.push(event.message));</script>"
_CLICKS = """
<script>
const filter = document.getElementById("headline-filter"), result = {failed};
filter.value = "ugal";
filter.dispatchEvent(new Event("input"));
result.count = document.getElementById("headline-count").textContent;
filter.value = "";
document.querySelectorAll("#headline th button")[4].click();
document.querySelectorAll("#headline th button")[4].click();
const cells = [...document.querySelectorAll("#headline [data-key=accepted_load]")];
result.accepted = cells.map(cell => Number(cell.dataset.value));
document.title = JSON.stringify(result);
</script>
"""


def browser() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


in_browser = pytest.mark.skipif(browser() is None, reason=f"there is no browser here ({', '.join(BROWSERS)})")


def played(report: Path, script: str, folder: Path, width: int = 1280) -> dict[str, Any]:
    """The result of a script at the end of the page, in a browser without a network."""
    text = report.read_text().replace("<style>", f"{_BEFORE}<style>", 1).replace("</body>", f"{script}</body>")
    (folder / "clicked.html").write_text(text)
    words = [
        *(str(browser()), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"),
        *("--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'user'}"),
        f"--window-size={width},900",
        *("--dump-dom", (folder / "clicked.html").as_uri()),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    result: dict[str, Any] = json.loads(html.unescape(title[1]))
    assert result.pop("failed") == []
    return result


@in_browser
def test_the_page_works_in_a_browser_without_a_network(study: Path, page: Page, tmp_path: Path) -> None:
    result = played(study / "report.html", _CLICKS, tmp_path)
    assert result["count"] == "6 of 12 rows"
    assert result["accepted"] == sorted((float(row["accepted_load"]) for row in page.rows), reverse=True)


_JOBS = """
<script>
const count = selector => document.querySelectorAll(selector).length, set = (id, value, kind) => {
  document.getElementById(id).value = value;
  document.getElementById(id).dispatchEvent(new Event(kind));
};
document.body.style.width = "WIDTHpx";  // a window of Chromium has at least 500
document.body.style.minHeight = "9999px";  // the canvas stays in its place when curves come or go
dispatchEvent(new Event("resize"));
setTimeout(() => set("view-beside", "0", "change"), 500);
setTimeout(() => {
  const busiest = [...document.querySelectorAll(".hot tbody tr")];
  const found = {lines: count("#curve-view path[stroke]"), panes: count("canvas"), busiest: busiest.length};
  set("view-quantity", "utilisation", "input");
  document.querySelector(".hot tbody button").click();
  const curves = count("#view-curves svg[role]");
  const canvas = document.querySelector("canvas"), brush = canvas.getContext("2d");
  const pixels = brush.getImageData(0, 0, canvas.width, canvas.height).data;
  const inked = pixels.reduce((sum, value, i) => sum + (i % 4 === 3 && value > 0), 0) / pixels.length * 4;
  const chosen = () => document.querySelector("#view-curves h3")?.textContent ?? "";
  const first = chosen(), kinds = new Set(), box = canvas.getBoundingClientRect();
  for (let x = box.left; x < box.right; x += 27)
    for (let y = box.top; y < box.bottom; y += 9) {
      const at = {clientX: x, clientY: y, bubbles: true};
      canvas.dispatchEvent(new PointerEvent("pointerdown", at));
      canvas.dispatchEvent(new MouseEvent("click", at));
      kinds.add(chosen().replace(/\\d+/g, "#"));
    }
  const flowing = [...document.querySelectorAll("main *")].filter(element => !element.closest(".scroll, svg"));
  const wide = flowing.filter(one => one.getBoundingClientRect().right > WIDTH).map(one => one.outerHTML);
  document.title = JSON.stringify({failed, ...found, first: document.querySelector(".hot tbody tr").innerText,
    curves, chosen: first, kinds: [...kinds].sort(), inked: inked > 0.05, wide});
}, 1500);
</script>
"""


@in_browser
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_of_jobs_works_in_a_browser(tmp_path: Path, width: int) -> None:
    words = ("topology=dragonfly_72", "router=sc22", "routing=par", "workload=pair", "workload.target=halo3d")
    params = ("workload.target_params={bytes: 2000, iterations: 2}", "workload.background_params.iterations=5")
    for background in ("none", "ur"):
        executed(tmp_path / background, *words, *params, f"workload.background={background}")
    found = played(conclude(tmp_path)[-1], _JOBS.replace("WIDTH", str(width)), tmp_path, max(width + 20, 500))
    link, value, filled = found.pop("first").split("\t")
    assert link == found.pop("chosen")
    assert 0 < float(value.removesuffix(" %")) <= 100
    assert "halo3d" in filled or "ur" in filled
    assert found.pop("kinds") == ["", "router # → #", "router #, the mean over its # links"]
    # A sample and two lines for each of two jobs, two pictures with the busiest links, and four curves of a link.
    assert found == {"lines": 6, "panes": 2, "busiest": 20, "curves": 4, "inked": True, "wide": []}
