"""Constants and helpers that the readers and writers of text forwarding tables share."""

from __future__ import annotations

from collections.abc import Iterable

NO_PORT = 0xFFFF
NO_WAY = 255  # port number of InfiniBand that means: no route
LEVELS = 16  # service levels of InfiniBand
_SHOWN = 3  # names in a message


def whole_number(word: str) -> int:
    """Parse a whole number from 0; other words give -1."""
    return int(word) if word.isascii() and word.isdecimal() else -1


def some(names: list[str]) -> str:
    """The first names of a list, and the number of further ones."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def like(names: Iterable[str]) -> str:
    """End of a message about an unknown name: some of the valid names."""
    return f"; valid names: {some(list(names))}"
