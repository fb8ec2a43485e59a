"""Tables of results agree with the recorded results. Every agent has a page, and every suite a table."""

import importlib
import re
import sys
from pathlib import Path

import pytest
from docs_pages import DOCS, ROOT
from flitgym.agents import trainable
from flitgym.experiments.benchmarks.suite import available

sys.path.insert(0, str(DOCS / "_ext"))
tables = importlib.import_module("result_tables")

AGENTS = DOCS / "agents"


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_are_up_to_date(page: Path) -> None:
    text = page.read_text()
    assert text == tables.written(text), f"{page.relative_to(ROOT)}: make reference"


def test_costs_of_the_leaderboard_by_hand() -> None:
    # 18 other groups * 3 slots; a row has 6 local and 2 global ports, of 4 bytes each
    assert tables._hardware("q_adaptive") == ["0", "8", f"{18 * 3 * 8 * 4:,}", "`dragonfly_342`"]
    # two slots, 15-16-16-1 units
    products, biases = 15 * 16 + 16 * 16 + 16, 16 + 16 + 1
    assert tables._hardware("ugal_ml") == [f"{2 * products:,}", "0", f"{4 * (products + biases):,}", "`dragonfly_342`"]


def test_every_agent_has_a_row_and_a_page() -> None:
    text = (AGENTS / "index.md").read_text()
    for name in trainable():
        row = re.search(rf"^\| \[[^]]*`{name}`[^]]*\]\((\w+\.md)[#\w-]*\) \|", text, re.MULTILINE)
        assert row, f"docs/agents/index.md: {name}"
        assert f"`agent={name}`" in (AGENTS / row[1]).read_text(), f"docs/agents/{row[1]}: {name}"


def test_every_suite_has_a_table() -> None:
    text = (DOCS / "benchmarks" / "index.md").read_text()
    for name in available():
        assert f"<!-- table: scores suite={name} " in text, f"docs/benchmarks/index.md: {name}"
