"""A run of jobs as one row: the columns of `row`, the jobs over time, loads and stalls of every group, and blame."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results.files import RESULT_FILE, DamagedError, read_columns, read_with_care
from ..results.rows import row

_LOCAL, _GLOBAL = 1, 2  # `kind` of a channel
_NS_PER_MS = 1e6
_BYTES_PER_GB = 1e9


def workload_row(result: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """One result of a workload as one row, with all columns that the figures of a study need.

    It has these columns besides those of `row`:

    * `time_ns` (ends of the intervals), and per job `series.<job>.gb_per_ms` and `series.<job>.latency_ns`, lists;
    * `groups.local_stall_ns`, `groups.local_bytes`, `groups.local_links`: lists over the groups;
    * `groups.global_stall_ns`, `groups.global_bytes`, `groups.global_links`: [from][to] over pairs of groups;
    * `blame.jobs`, `blame.wait_ns_per_packet`, `blame.stall_ns_per_packet`: [victim][culprit].
    """
    flat = row(result, directory)
    channels = read_columns(result, directory, "channels")
    if channels is None:
        raise DamagedError(directory / RESULT_FILE, "the table of channels is missing")
    with read_with_care(directory / RESULT_FILE):
        flat |= _series(read_columns(result, directory, "job_series") or {})
        flat |= _groups(channels, result["facts"]["groups"], result["config"]["router"]["flit_bytes"])
        for key, value in (result["blame"] or {}).items():
            flat[f"blame.{key}"] = value
    return flat


def _series(series: Mapping[str, NDArray[Any]]) -> dict[str, list[float]]:
    if not series:
        return {}
    time = np.unique(series["time_ns"])
    interval_ms = np.diff(time, prepend=0) / _NS_PER_MS
    columns = {"time_ns": time.tolist()}
    for job in dict.fromkeys(series["job"]):
        own = series["job"] == job
        received = series["bytes_received"][own] / _BYTES_PER_GB
        columns[f"series.{job}.gb_per_ms"] = (received / interval_ms).tolist()
        columns[f"series.{job}.latency_ns"] = series["latency_mean_ns"][own].tolist()
    return columns


def _groups(channels: Mapping[str, NDArray[Any]], groups: int, flit_bytes: int) -> dict[str, Any]:
    columns = {}
    quantities = {
        "stall_ns": channels["stall_ns"],
        "bytes": channels["flits"] * float(flit_bytes),
        "links": np.ones(channels["flits"].size),
    }
    for kind, name in ((_LOCAL, "local"), (_GLOBAL, "global")):
        chosen = channels["kind"] == kind
        ends = (channels["group"][chosen], channels["peer_group"][chosen])
        for quantity, values in quantities.items():
            total = np.zeros((groups, groups))
            np.add.at(total, ends, values[chosen])
            columns[f"groups.{name}_{quantity}"] = (np.diagonal(total) if kind == _LOCAL else total).tolist()
    return columns
