"""Finds sentences of documents, docstrings and comments that are hard to read: `make lint` lists them.

    python tests/project/plain_words.py            # all files that git tracks: at most LIMIT in each area
    python tests/project/plain_words.py FILE ...   # these files, without a limit

A sentence is flagged if a rule of RULES matches it, or if it has more than MOST_WORDS words. CONTRIBUTING.md explains
the rules.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

LIMIT = 0.04  # the largest part of flagged sentences in an area
# Names and paths of the areas. A file belongs to the first area with a matching pattern.
AREAS = {"documents": r"\.md$|^docs/", "core": r"^simcore/", "Python": ""}
MOST_WORDS = 28
RULES = {
    "headless": re.compile(
        r"(What|Whoever|Who|Whose|Those|That of|Such|Of|Beside|Behind|Wherever|Without what)\b"  # no noun comes first
    ),
    "person": re.compile(
        r".*?\b(nobody|somebody|someone|anybody|no one|whoever"
        r"|(routing|agent|policy|policie|job|packet|router|run|network|other)s? who|those who)\b",
        re.IGNORECASE,
    ),
    "word": re.compile(
        r".*?\b(anew|beside|at hand|to and fro|once more|such that|whether or no|no part of|in the place of|is had"
        r"|of its own accord|one's own|by itself alone|what is due|goes on where|(is|are) told"
        r"|comes? to (its|their|the same)|stands? (there|here|beside|behind|for itself)"
        r"|what (they|it) (comes?|amounts?))\b",
        re.IGNORECASE,
    ),
}

Text = tuple[int, str]  # the line where it begins, and a paragraph or a comment as one line
Sentence = tuple[str, tuple[str, ...]]  # with its place, and the rules that it breaks


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text. Code, links and abbreviations are replaced; fewer than four words are no sentence."""
    text = re.sub(r"`[^`]*`", "X", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\b(e\.g|i\.e|et al|vs|cf|Fig|Eq|approx|resp)\.", r"\1", text)
    for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z(])", text.strip()):
        if len(re.findall(r"[A-Za-z]{2,}", sentence)) >= 4:
            yield sentence.strip()


def broken_rules(sentence: str) -> tuple[str, ...]:
    """The names of the rules that a sentence breaks."""
    long = ("long",) if len(sentence.split()) > MOST_WORDS else ()
    return long + tuple(name for name, rule in RULES.items() if rule.match(sentence))


def markdown(source: str) -> Iterator[Text]:
    """The paragraphs and list items of a page, without code, headings, tables, images and HTML."""
    code, begin = False, 0
    paragraph: list[str] = []
    for number, line in enumerate([*source.splitlines(), ""], 1):
        words = line.strip()
        fence = words.startswith(("```", "~~~"))
        code ^= fence
        shown = not (fence or code or line.startswith("    ") or words.startswith(("#", "<", "!", "|")))
        item = re.match(r"([*-]|\d+\.)\s+", words) if shown else None
        if paragraph and (item or not shown or not words):
            yield begin, " ".join(paragraph)
            paragraph = []
        if shown and words:
            begin = begin if paragraph else number
            paragraph.append(words[item.end() :] if item else words)


def python(source: str) -> Iterator[Text]:
    """The paragraphs of docstrings, without indented code, and the comments of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            line = node.body[0].lineno if node.body else 0
            for paragraph in re.split(r"\n[^\S\n]*\n", ast.get_docstring(node) or ""):
                if not re.search(r"^ {4}", paragraph, re.MULTILINE):
                    yield line, " ".join(paragraph.split())
                line += paragraph.count("\n") + 2
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = ((t.start[0], t.string.lstrip("# ").strip()) for t in tokens if t.type == tokenize.COMMENT)
    yield from joined(comments)


def cpp(source: str) -> Iterator[Text]:
    """The comments of a C++ file; `://` belongs to an address."""
    found = ((number, re.search(r"(?<!:)//(.*)", line)) for number, line in enumerate(source.splitlines(), 1))
    yield from joined((number, comment[1].strip()) for number, comment in found if comment)


def joined(comments: Iterable[Text]) -> Iterator[Text]:
    """Comments on consecutive lines as one text."""
    for _, block in groupby(enumerate(comments), lambda found: found[1][0] - found[0]):
        lines = [comment for _, comment in block]
        yield lines[0][0], " ".join(text for _, text in lines)


READERS: dict[str, Callable[[str], Iterator[Text]]] = {".md": markdown, ".py": python, ".cpp": cpp, ".hpp": cpp}


def read(path: Path) -> list[Sentence]:
    """All sentences of a file."""
    texts = READERS[path.suffix](path.read_text())
    found = ((line, s, broken_rules(s)) for line, text in texts for s in sentences(text))
    return [(f"{path.as_posix()}:{line}: {' and '.join(rules)}: {s}", rules) for line, s, rules in found]


def main(names: list[str]) -> int:
    """Check the given files, or all files in git by area. Returns 1 if a sentence or an area fails."""
    if names:
        flagged = [sentence for name in names for sentence, rules in read(Path(name)) if rules]
        print(*flagged, sep="\n", end="\n" if flagged else "")
        return bool(flagged)
    patterns = [f"*{suffix}" for suffix in READERS]
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], check=True, capture_output=True, text=True)
    areas: dict[str, list[Sentence]] = {area: [] for area in AREAS}
    for path in (path for path in map(Path, listed.stdout.split("\0")[:-1]) if path.exists()):
        area = next(area for area, pattern in AREAS.items() if re.search(pattern, path.as_posix()))
        areas[area] += read(path)
    over = False
    for area, found in areas.items():
        flagged = [sentence for sentence, rules in found if rules]
        share = len(flagged) / max(len(found), 1)
        if share > LIMIT:
            over = True
            print(*flagged, sep="\n")
        print(f"{area}: {len(flagged)} of {len(found)} sentences flagged, {share:.1%} (limit {LIMIT:.0%})")
    return over


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
