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
    # 8 other groups * 2 slots; a row has 3 local and 2 global ports, of 4 bytes each. A threshold is a product.
    assert tables._hardware("q_adaptive") == ["1", f"{8 * 2 * 5 * 4:,}", "`dragonfly_72`"]
    # 8 inputs of the router and the packet, 7 of each of four candidates, then 32-32-1 units; a table of 9 groups
    products, weights = 8 * 32 + 4 * (7 * 32 + 32 * 32 + 32), 15 * 32 + 32 * 32 + 32 + 32 + 32 + 1
    assert tables._hardware("dqn_dragonfly") == [f"{products:,}", f"{4 * (weights + 9 * 5):,}", "`dragonfly_72`"]
    # Queue lengths are counters that every router has.
    assert tables._hardware("omni_war_tuned") == ["4", "0", "`hyperx_64`"]


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
