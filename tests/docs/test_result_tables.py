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
    # 12 other groups * 3 slots; a row has 3 local and 3 global ports, of 4 bytes each
    assert tables._hardware("q_adaptive") == ["0", "6", f"{12 * 3 * 6 * 4:,}", "`dragonfly_156`"]
    # eight slots, 15-32-32-1 units, and a table of 13 groups and 6 ports
    products, biases = 15 * 32 + 32 * 32 + 32, 32 + 32 + 1
    size = 4 * (products + biases + 13 * 6)
    assert tables._hardware("dqn_dragonfly") == [f"{8 * products:,}", "6", f"{size:,}", "`dragonfly_156`"]


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
