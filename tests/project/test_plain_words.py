"""The check of the words: each rule finds its example, and the list of accepted sentences is short and in use."""

from pathlib import Path

import plain_words
import pytest
from plain_words import ACCEPTED, accepted, broken_rules, read, sentences, tracked

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


def test_sentences_end_at_a_mark_before_a_capital_letter() -> None:
    text = "One two three, e.g. four. five six: Seven `eight. Nine` ten [eleven](a.b) twelve? Too short."
    assert list(sentences(text)) == ["One two three, e.g four. five six:", "Seven X ten eleven twelve?"]


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


def test_accepted_sentences_are_few_and_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert len(ACCEPTED.read_text().splitlines()) < 40
    flagged = {sentence.text for path in tracked() for sentence in read(path) if sentence.rules}
    assert accepted() <= flagged, f"no such flagged sentence: {accepted() - flagged}"
