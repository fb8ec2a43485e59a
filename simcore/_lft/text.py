"""Constants and words that readers and writers of forwarding tables in text share."""

from __future__ import annotations

from collections.abc import Iterable

NO_PORT = 0xFFFF
NO_WAY = 255  # in the place of a port of InfiniBand
LEVELS = 16  # service levels of InfiniBand
_MOST_DIGITS = 18
_SHOWN = 3  # names in a message


def whole_number(word: str) -> int:
    """A whole number from 0 on, and -1 for another word. One of more than 18 digits becomes 10^18, past all tables."""
    if not (word.isascii() and word.isdecimal()):
        return -1
    return int(word) if len(word) <= _MOST_DIGITS else 10**_MOST_DIGITS


def some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def like(names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the names that there are."""
    return f"; there are {some(list(names))}"
