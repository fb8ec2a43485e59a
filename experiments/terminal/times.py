"""Times as people read them."""

from math import floor, log10

_NS_PER_US, _NS_PER_MS = 1e3, 1e6


def time_text(ns: float, deviation: float | None = None, digits: int = 3) -> str:
    """A time, and its deviation if there is one, in ms; below 1 ms three significant digits in us.

    Args:
        ns: The time.
        deviation: In ns too.
        digits: Behind the point, of ms.
    """
    in_ms = ns >= _NS_PER_MS
    values = [value / (_NS_PER_MS if in_ms else _NS_PER_US) for value in (ns, deviation) if value is not None]
    shown = [f"{value:,.{digits}f}" if in_ms else _significant(value) for value in values]
    return f"{' ± '.join(shown)} {'ms' if in_ms else 'us'}"


def duration_text(seconds: float) -> str:
    """A time that a person waits: seconds, minutes from two on, hours from two on."""
    for unit, name in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def _significant(value: float) -> str:
    return f"{value:,.{max(0, 2 - floor(log10(abs(value))))}f}" if value else "0"
