"""The check of the words: each rule finds its example, with its line."""

from pathlib import Path

import plain_words
import pytest
from plain_words import broken_rules, read

CLEAN = "The router sends a flit if it holds a credit."
EXAMPLES = {
    "long": "The " + "very " * plain_words.MOST_WORDS + "long sentence ends.",
    "headless": "What the router sends is a flit.",
    "person": "Each job pays the packets who wait for it.",
    "word": "The router beside the terminal sends a flit.",
}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_each_rule_flags_its_example(rule: str) -> None:
    assert broken_rules(EXAMPLES[rule]) == (rule,)
    assert broken_rules(CLEAN) == ()


def test_texts_are_found_with_their_lines(tmp_path: Path) -> None:
    hard = EXAMPLES["word"]
    pages = {
        "page.md": f"# {hard}\n\n| {hard} |\n\n```\n{hard}\n```\n\n- {CLEAN}\n- {hard}\n\n{CLEAN}\n{hard}\n",
        "module.py": f'"""{CLEAN}\n\n{hard}\n\n    {hard}\n"""\n\nX = "{hard}"\n# {CLEAN}\n# {hard}\n\n# {hard}\n',
        "core.cpp": f'// {CLEAN}\n// {hard}\n\nauto x = "{hard}";  // {hard}\n',
    }
    lines = {"page.md": [10, 12], "module.py": [3, 9, 12], "core.cpp": [1, 4]}
    for name, content in pages.items():
        page = tmp_path / name
        page.write_text(content)
        assert [sentence.line for sentence in read(page) if sentence.rules] == lines[name], name
