"""The pages of the documentation and the README, and the code blocks in them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_INDENTED = re.compile(r"(?:^\n|\A)(?P<text>(?:^ {4}\S[^\n]*\n(?:^ {4}[^\n]*\n)*))", re.MULTILINE)
# A note in the line above a block, invisible on the page.
_NOTE = re.compile(r"<!-- (?P<what>skip|given|prints|continues):? ?(?P<text>.*?)\s*-->\n\Z", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A code block, and the note above it.

    `<!-- skip: reason -->` says why the block is not run. `<!-- given: code -->` holds code that must run first. `<!--
    continues -->` means that the block continues the previous block in its language. `<!-- prints -->` means that the
    block shows the output of the previous one.
    """

    page: Path
    line: int
    language: str
    text: str
    note: str = ""
    note_text: str = ""

    @property
    def name(self) -> str:
        """Page and line, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """The README and every page of docs/; the Markdown files of examples are not pages."""
    return [README, *sorted(path for path in DOCS.rglob("*.md") if not {"examples", "example_plugin"} & {*path.parts})]


def blocks(page: Path) -> Iterator[Block]:
    """All code blocks of a page in order. An indented block counts as shell."""
    text = page.read_text()
    found: list[tuple[int, Block]] = []
    rest = text
    for match in _FENCE.finditer(text):
        above = _NOTE.search(text, 0, match.start())
        indent = len(match["indent"])
        body = "".join(line[indent:] for line in match["text"].splitlines(keepends=True))
        note = (above["what"], above["text"]) if above else ("", "")
        found.append(
            (match.start(), Block(page, text.count("\n", 0, match.start()) + 1, match["language"], body, *note))
        )
        rest = rest[: match.start()] + re.sub(r"[^\n]", "x", match[0]) + rest[match.end() :]
    for match in _INDENTED.finditer(rest):
        body = re.sub(r"^ {4}", "", match["text"], flags=re.MULTILINE)
        found.append((match.start(), Block(page, rest.count("\n", 0, match.start("text")) + 1, "bash", body)))
    return (block for _, block in sorted(found, key=lambda pair: pair[0]))


def pages_that_run() -> list[Path]:
    """Pages whose blocks run as shown. The pages of extending and tutorials have tests of their own."""
    apart = (DOCS / "extending", DOCS / "tutorials")
    return [page for page in pages() if not any(page.is_relative_to(folder) for folder in apart)]


def blocks_in(language: str) -> list[Block]:
    """The blocks in a language on all pages."""
    return [block for page in pages_that_run() for block in blocks(page) if block.language == language]


def commands(block: Block) -> list[list[str]]:
    """The commands of a shell block, split into words; comments are left out."""
    found, begun = [], ""
    lines = re.sub(r"\\\n\s*", " ", block.text).splitlines()
    # a transcript: commands start with "$ ", the other lines are output
    if any(line.startswith("$ ") for line in lines):
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for line in lines:
        begun += line
        try:
            words = shlex.split(begun, comments=True)
        except ValueError:  # a quotation continues in the next line
            begun += "\n"
            continue
        begun = ""
        if words:
            found.append(words)
    assert not begun, f"{block.name}: a quotation is not closed"
    return found
