"""The input buffers of the routings that a figure compares. A routing with more VCs may have larger buffers."""

from collections.abc import Sequence
from typing import Any

from ..results.rows import PORT_BUFFER
from .drawing import Row
from .players import player_of
from .swept import value_of


def buffers_text(rows: Sequence[Row]) -> str:
    """The input buffers per port of compared routings: `equal input buffers: 256 flits per port`, or their range.

    Routings are compared if they run on the same network and router. Engines of forwarding tables count as routings.

    Args:
        rows: Rows from `read_rows` or `named`.

    Returns:
        The text is empty if no routings are compared, or if a row does not tell its buffers.
    """
    compared = [group for group in _by_network(rows).values() if len(group) > 1]
    flits = {value for group in compared for values in group.values() for value in values}
    if not flits or None in flits:
        return ""
    low, high = min(flits), max(flits)
    if low == high:
        return f"equal input buffers: {low:,} flits per port"
    span = f"{low:,} to {high:,} flits per port"
    if all(len(set().union(*group.values())) == 1 for group in compared):
        return f"equal input buffers on each network: {span}"
    return f"input buffers: {span}{', from an equal total' if _is_divided(rows) else ''}"


def _by_network(rows: Sequence[Row]) -> dict[tuple[Any, ...], dict[str, set[Any]]]:
    """The buffers of every routing, by network and router."""
    found: dict[tuple[Any, ...], dict[str, set[Any]]] = {}
    for row in rows:
        if row.get("routing.name") is not None:
            keys = sorted(key for key in row if key.startswith(("topology.", "router.")))
            network = tuple((key, value_of(row, key)) for key in keys if row[key] is not None)
            name = str(row.get("routing.engine") or row.get("routing") or player_of(row))
            found.setdefault(network, {}).setdefault(name, set()).add(row.get(PORT_BUFFER))
    return found


def _is_divided(rows: Sequence[Row]) -> bool:
    """Whether all rows divide a total among the VCs. Its remainder is unused, so buffers may differ by a few flits."""
    return all(row.get("router.buffer_total") for row in rows if row.get("routing.name") is not None)
