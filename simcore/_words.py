"""Messages about unknown words."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ._core import ConfigError

_LONGEST = 100  # characters of a word in a message


def unknown(where: str, word: str, valid: Iterable[str], noun: str = "name") -> str:
    """The message for an unknown word, with the valid words and the nearest spelling."""
    choices = sorted(valid)
    word = shortened(word)
    several = f"{noun[:-1]}ies" if noun in ("policy", "quantity") else f"{noun}s"
    valid = f"valid {several}: {', '.join(choices)}" if choices else f"there are no {several}"
    return f"{where}: unknown {noun} '{word}'{nearest(word, choices)}; {valid}"


def refuse_unknown(where: str, words: Iterable[Any], valid: Collection[str], noun: str = "name") -> None:
    """Raise a ConfigError with the message of `unknown` if one of the words is not valid."""
    for word in words:
        if word not in valid:
            raise ConfigError(unknown(where, str(word), valid, noun))


def nearest(word: str, choices: Sequence[str]) -> str:
    """The question whether the nearest spelling was meant, for the end of a message; empty if none is near."""
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else ""


def shortened(word: str) -> str:
    """The beginning of a word that is too long for a message."""
    return word if len(word) <= _LONGEST else f"{word[:_LONGEST]}..."
