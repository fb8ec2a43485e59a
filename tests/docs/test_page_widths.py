"""No page is wider than its window, and no table is wider than its page, in a headless Chromium."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import DOCS
from page_widths import chromium, measure

pytestmark = pytest.mark.deep

# The pages with the widest tables, and one with the longest words. The build excludes all other pages.
PAGES = ("agents/index", "benchmarks/index", "environments", "reference/routings", "reproducing", "index")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "furo", "myst_parser", "sphinx_copybutton"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} of the extra [docs] is not installed")
    if chromium() is None:
        pytest.skip("there is no Chromium")
    folder = tmp_path_factory.mktemp("pages")
    others = [
        str(page.relative_to(DOCS))
        for page in DOCS.rglob("*.md")
        if str(page.relative_to(DOCS).with_suffix("")) not in PAGES
    ]
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-d", str(folder / "cache")]
    command += ["-D", f"exclude_patterns={','.join(others)}", str(DOCS), str(folder / "html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.parametrize(("width", "tables_fit"), [(1400, True), (1000, True), (400, False)])
def test_pages_fit_their_window(built: Path, width: int, tables_fit: bool) -> None:
    """On a phone, a table of many columns scrolls in its own box, and the page around it does not scroll."""
    found = measure(built, [f"{page}.html" for page in PAGES], width, chromium() or "")
    assert [row["page"] for row in found] == [f"{page}.html" for page in PAGES]
    assert sum(int(str(row["tables"])) for row in found) > 20
    assert {row["page"]: row["over"] for row in found if int(str(row["over"])) > 0} == {}
    if tables_fit:
        assert {str(row["page"]): row["wide"] for row in found if row["wide"]} == {}
