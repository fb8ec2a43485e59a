"""Every relative link of the README and the pages has a target, and so has its anchor."""

import re
from pathlib import Path

import pytest
from docs_pages import DOCS, README, ROOT, pages
from flitgym.experiments.entry import VERBS

_LINK = re.compile(
    r"!?\[[^\]]*\]\((?P<target>[^)\s]+)[^)]*\)|<img [^>]*src=\"(?P<source>[^\"]+)\"|<a href=\"(?P<href>[^\"]+)\""
)


def _text(page: Path) -> str:
    """The page without code, in which brackets are not links."""
    without_fences = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`code`", without_fences)


def _anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub and MyST make them."""
    found = set()
    for line in re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL).splitlines():
        if heading := re.match(r"#{1,6} +(.*)", line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            found.add(re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", words.strip().lower())))
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    for match in _LINK.finditer(_text(page)):
        target, _, anchor = (match["target"] or match["source"] or match["href"]).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{page.relative_to(ROOT)}: {target} is not there"
        assert path.is_relative_to(ROOT), f"{page.relative_to(ROOT)}: {target} is outside of the repository"
        if anchor and path.suffix == ".md":
            assert anchor in _anchors(path), f"{page.relative_to(ROOT)}: {target} has no heading #{anchor}"


def test_every_page_is_in_a_table_of_contents() -> None:
    listed: set[Path] = set()
    for page in pages():
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
            for line in tree.splitlines():
                if line and not line.startswith(":"):
                    listed |= set(page.parent.glob(f"{line}.md"))
    missing = {page for page in pages() if page.is_relative_to(DOCS)} - listed - {DOCS / "index.md", README}
    assert not missing, f"in no table of contents: {', '.join(str(page.relative_to(ROOT)) for page in sorted(missing))}"


def test_every_verb_is_listed() -> None:
    listed = re.findall(r"\| `[^`\n]*?flitgym (\w+) ", (DOCS / "quickstart.md").read_text())
    assert {*listed} == {verb for verbs in VERBS.values() for verb in verbs}
