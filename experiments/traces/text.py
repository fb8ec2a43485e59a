"""The facts about a trace as lines on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..terminal.times import time_text

_UNITS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def lines_of(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values, in the order of the table."""
    operations, ideal = facts["operations"], facts["ideal_finish"]
    yield "format", facts["format"]
    yield "ranks", f"{facts['ranks']:,}"
    for kind, noun in (("calc", "computations"), ("send", "sends"), ("receive", "receives")):
        yield noun, f"{operations[kind]:,}"
    yield "bytes of messages", bytes_text(facts["message_bytes"])
    if operations["send"]:
        yield "bytes of a message (mean)", bytes_text(facts["message_bytes"] / operations["send"])
    yield "computation, sum over ranks", time_text(facts["computation_ns"])
    for name, value in facts["contents"].items():
        yield from _nested(name.replace("_", " "), value, "bytes" in name)
    free = {key: value if key.endswith("_bytes") else 0 for key, value in ideal["loggops"].items()}
    for model, end in ((free, "computation_ns"), (ideal["loggops"], "loggops_ns")):
        yield f"finish with {model_text(model)}", _time(ideal[end])
    for note in facts["notes"]:
        yield "note", note


def model_text(loggops: Mapping[str, float]) -> str:
    """The LogGOPS parameters in the order of the model's name: `LogGOPS L=2500 o=1500 ... S=65535`."""
    values = {key.split("_")[1]: value for key, value in loggops.items()}
    return "LogGOPS " + " ".join(f"{letter}={values[letter]:g}" for letter in sorted(values, key="LogGOPS".index))


def bytes_text(count: float) -> str:
    """A number of bytes, in a decimal unit as well if it is large: `4,000,000 B (4.00 MB)`."""
    exact = f"{count:,.0f} B" if count >= 10 or count == int(count) else f"{count:.1f} B"
    unit = next(((name, size) for name, size in _UNITS if count >= size), None)
    return f"{exact} ({count / unit[1]:.3g} {unit[0]})" if unit else exact


def _time(ns: float) -> str:
    return f"{ns:,.3f} ns".replace(".000 ns", " ns") + (f" ({time_text(ns)})" if ns >= 1000 else "")


def _nested(name: str, value: Any, in_bytes: bool) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _nested(f"{name}: {key}", inner, in_bytes or "bytes" in str(key))
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        yield name, str(value)
    else:
        yield name, bytes_text(value) if in_bytes else f"{value:,}"
