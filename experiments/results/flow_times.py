"""The completion times of flows: their summary in `result.json`, and the sizes by which they are compared."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def has_flows(config: Mapping[Any, Any]) -> bool:
    """Whether the traffic is flows with sizes or from a file."""
    traffic = config["traffic"]
    unused = config["workload"]["name"] != "none" or traffic["name"] != "flows"
    return not unused and bool(traffic["file"] or traffic["sizes"] != "packets")


def flow_numbers(
    table: Mapping[str, NDArray[Any]], begun: int, window_ns: float, packet_bytes: float, peak_bytes: int
) -> dict[str, Any]:
    """The field `flows` of a result.

    Args:
        table: The columns of the complete flows that count (`Simulation.flows()`).
        begun: The number of flows that count.
        window_ns: The time in which they began.
        packet_bytes: Size of a packet.
        peak_bytes: Most bytes in flight.
    """
    completion, size, packets = table["completion_ns"], table["bytes"].astype(np.float64), table["packets"]
    slowdown, count = completion / table["ideal_ns"], len(completion)
    numbers: dict[str, Any] = {"measured": begun, "unfinished": begun - count}
    if not count:
        return numbers
    numbers |= {
        "bytes_mean": float(size.mean()),
        # The bytes of this many equal flows would vary as much.
        "equal_flows": float(size.sum() ** 2 / (size @ size)),
        **{f"completion_{name}_ns": value for name, value in _spread(completion).items()},
        **{f"slowdown_{name}": value for name, value in _spread(slowdown).items()},
        "bytes_in_flight_mean": float(size @ completion / window_ns),  # Little's law
        "bytes_in_flight_max": peak_bytes,
        "late_share": float(table["late_packets"].sum() / packets.sum()),
        "reorder_distance_max": int(table["reorder_distance"].max()),
        "receiver_buffer_bytes_max": int(table["held_packets"].max() * packet_bytes),
    }
    # Two bins per decade.
    place = np.ceil(2 * np.log10(size)).astype(int)
    steps, flows = np.unique(place, return_counts=True)
    numbers["bin_bytes"] = [round(10 ** (k / 2), 1) for k in steps]
    numbers["bin_flows"] = flows.tolist()
    spreads = [_spread(slowdown[place == k]) for k in steps]
    for name in spreads[0]:
        numbers[f"bin_slowdown_{name}"] = [spread[name] for spread in spreads]
    return numbers


def _spread(values: NDArray[np.float64]) -> dict[str, float]:
    exact = {name: float(np.quantile(values, q, method="inverted_cdf")) for name, q in _QUANTILES.items()}
    return {"mean": float(values.mean()), **exact}
