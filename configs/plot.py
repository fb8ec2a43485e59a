"""The section `plot`: the formats of a sweep's picture."""

from collections.abc import Sequence
from typing import Any

from ..simcore import ConfigError
from ..simcore._words import refuse_unknown

PLOT_FORMATS = ("png", "svg", "pdf")


def plot_formats(given: Any, key: str = "plot.format") -> tuple[str, ...]:
    """The formats in words joined by commas or in a list, each once; empty for `[]`, `none` or null."""
    words = given.split(",") if isinstance(given, str) else given
    if words is None or words == ["none"]:
        return ()
    if not isinstance(words, Sequence):
        raise ConfigError(f"{key}: {given!r} is not a list of formats; valid formats: {', '.join(PLOT_FORMATS)}")
    refuse_unknown(key, words, PLOT_FORMATS, "format")
    return tuple(dict.fromkeys(words))
