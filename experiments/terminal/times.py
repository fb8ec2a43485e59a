"""Times as text."""

from math import floor, log10

_NS_PER_US, _NS_PER_MS = 1e3, 1e6


def time_text(ns: float, deviation: float | None = None, digits: int = 3) -> str:
    """A time in ms, with its standard deviation if given; below 1 ms in us with three significant digits."""
    in_ms = ns >= _NS_PER_MS
    values = [value / (_NS_PER_MS if in_ms else _NS_PER_US) for value in (ns, deviation) if value is not None]
    shown = [f"{value:,.{digits}f}" if in_ms else _significant(value) for value in values]
    return f"{' ± '.join(shown)} {'ms' if in_ms else 'us'}"


def duration_text(seconds: float) -> str:
    """A waiting time in seconds, from two minutes on in minutes, and from two hours on in hours."""
    for unit, name in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def _significant(value: float) -> str:
    return f"{value:,.{max(0, 2 - floor(log10(abs(value))))}f}" if value else "0"
