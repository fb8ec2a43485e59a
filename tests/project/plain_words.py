"""Finds sentences of documents, docstrings and comments that are hard to read: `make lint` lists them.

    python tests/project/plain_words.py            # all files that git tracks, with the limits of AREAS
    python tests/project/plain_words.py FILE ...   # these files, without a limit

A sentence is flagged if a rule of RULES matches it, or if it has more than MOST_WORDS words. The file
accepted_sentences.txt lists flagged sentences that are right. CONTRIBUTING.md explains the rules.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# The largest part of flagged sentences in an area. A file belongs to the first area with a matching pattern.
AREAS = (
    ("documents", r"\.md$|^docs/", 0.04),
    ("core", r"^simcore/", 0.04),
    ("Python", "", 0.04),  # all other files
)
MOST_WORDS = 28
ACCEPTED = Path(__file__).with_name("accepted_sentences.txt")
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


@dataclass(frozen=True)
class Sentence:
    """A sentence in a file, and the rules that it breaks."""

    path: str
    line: int
    text: str
    rules: tuple[str, ...]


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
    begin, last = 0, -1
    parts: list[str] = []
    for number, comment in comments:
        if parts and number != last + 1:
            yield begin, " ".join(parts)
            parts = []
        begin = begin if parts else number
        parts.append(comment)
        last = number
    if parts:
        yield begin, " ".join(parts)


READERS: dict[str, Callable[[str], Iterator[Text]]] = {".md": markdown, ".py": python, ".cpp": cpp, ".hpp": cpp}


def read(path: Path) -> list[Sentence]:
    """All sentences of a file."""
    texts = READERS[path.suffix](path.read_text())
    return [Sentence(path.as_posix(), line, s, broken_rules(s)) for line, text in texts for s in sentences(text)]


def accepted() -> set[str]:
    """The sentences of accepted_sentences.txt. Empty lines and lines with `#` are comments."""
    lines = ACCEPTED.read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def area_of(path: str) -> int:
    """The index of the area of a path."""
    return next(index for index, (_, pattern, _) in enumerate(AREAS) if re.search(pattern, path))


def report(flagged: Sequence[Sentence]) -> None:
    """Print each sentence with its place and its rules."""
    for sentence in flagged:
        print(f"{sentence.path}:{sentence.line}: {' and '.join(sentence.rules)}: {sentence.text}")


def tracked() -> list[Path]:
    """The files in git that have a reader."""
    patterns = [f"*{suffix}" for suffix in READERS]
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], check=True, capture_output=True, text=True)
    return [path for path in map(Path, listed.stdout.split("\0")[:-1]) if path.exists()]


def main(names: list[str]) -> int:
    """Check the given files, or all files by area. Returns 1 if a sentence or an area fails."""
    right = accepted()
    found = [sentence for path in (list(map(Path, names)) or tracked()) for sentence in read(path)]
    flagged = [sentence for sentence in found if sentence.rules and sentence.text not in right]
    if names:
        report(flagged)
        return bool(flagged)
    total, hard = (Counter(area_of(sentence.path) for sentence in some) for some in (found, flagged))
    over = {index for index, (_, _, limit) in enumerate(AREAS) if hard[index] > limit * total[index]}
    report([sentence for sentence in flagged if area_of(sentence.path) in over])
    for index, (name, _, limit) in enumerate(AREAS):
        share = hard[index] / max(total[index], 1)
        print(f"{name}: {hard[index]} of {total[index]} sentences flagged, {share:.1%} (limit {limit:.0%})")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
