"""Messages about unknown words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 100  # characters of a word in a message


def unknown(where: str, word: str, valid: Iterable[str], noun: str = "name") -> str:
    """The message for an unknown word, with the valid words and the nearest spelling."""
    choices = sorted(valid)
    word = shortened(word)
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    several = f"{noun[:-1]}ies" if noun in ("policy", "quantity") else f"{noun}s"
    valid = f"valid {several}: {', '.join(choices)}" if choices else f"there are no {several}"
    return f"{where}: unknown {noun} '{word}'{hint}; {valid}"


def shortened(word: str) -> str:
    """The beginning of a word that is too long for a message."""
    return word if len(word) <= _LONGEST else f"{word[:_LONGEST]}..."
