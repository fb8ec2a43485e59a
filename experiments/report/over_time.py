"""Parts of the latency of jobs, and series and the load of the links as data for the page's script."""

import base64
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...simcore.pictures.layout import space
from ...simcore.pictures.loads import QUANTITIES
from ..plotting.loads import run_loads
from ..results.files import read_columns
from .runs import NOTHING, Run
from .slowdown import Cell, coloured

PARTS = {
    "own waiting": "#56b4e9",
    "others' waiting": "#d55e00",
    "own stalls": "#0072b2",
    "others' stalls": "#b07d5b",
    "rest": "#d0d7de",
}  # of the latency, with the colours of their bars
_SERIES_POINTS = 400  # most points per job; longer series are merged
_STEPS = 65535  # of a 16-bit number
_MOST_BYTES = 40e6  # of all frames before compression; more are merged
_MOST_VIEWS = 40  # runs whose links are shown, because reading a table and packing it takes a second


def over_time(runs: Sequence[Run], labels: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The runs with series or links over time, with as many frames as fit into the page, and their networks.

    Of a run, `view.network` is the index of its network. Only the first `_MOST_VIEWS` runs have a view.
    """
    first = first_shown(runs) if runs else 0
    order = sorted(range(len(runs)), key=lambda i: i != first)
    viewed = [i for i in order if "links" in runs[i].result["files"]][:_MOST_VIEWS]
    whole, merge = sum(_view_bytes(runs[i]) for i in viewed), 1
    while whole / merge > _MOST_BYTES:
        merge *= 2
    found: list[dict[str, Any]] = [
        {"label": label, "series": series(run) if run.jobs else None, "view": view(run, merge) if i in viewed else None}
        for i, (run, label) in enumerate(zip(runs, labels, strict=True))
        if run.jobs or i in viewed
    ]
    networks: list[dict[str, Any]] = []
    for own in filter(None, (one["view"] for one in found)):
        if own["network"] not in networks:
            networks.append(own["network"])
        own["network"] = networks.index(own["network"])
    return found, networks


def first_shown(runs: Sequence[Run]) -> int:
    """The index of the run that the page shows first.

    Finished runs of several jobs precede others, and large delays between jobs small ones.
    """

    def order(run: Run) -> tuple[bool, bool, float]:
        parts = (decomposition(run.result) or {}).values()
        shares = [(one["others' waiting"] + one["others' stalls"]) / sum(one.values()) for one in parts]
        return run.finished and bool(run.jobs), len(run.jobs) > 1, max(shares, default=0.0)

    return max(range(len(runs)), key=lambda i: order(runs[i]))


def by_class(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The traffic classes of a result in the place of its jobs; empty without their account."""
    return {"blame": result["class_blame"], "jobs": result["classes"]} if result.get("class_blame") else {}


def delays(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parts of each job's mean latency, and the delays of each pair of jobs; None without this account."""
    blame, parts = result.get("blame"), decomposition(result)
    if not blame or parts is None:
        return None
    longest = max((sum(own.values()) for own in parts.values()), default=0.0)
    names = {"Waiting": "wait_ns_per_packet", "Stalls": "stall_ns_per_packet"}
    return {
        "bars": [
            {
                "job": job,
                "total": f"{sum(own.values()):,.1f}",
                "parts": [(name, _ns(ns), 100 * max(ns, 0.0) / longest) for name, ns in own.items()],
            }
            for job, own in parts.items()
        ],
        "jobs": blame["jobs"],
        "tables": {name: _delay_table(blame["jobs"], blame[key]) for name, key in names.items()},
    }


def _ns(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _delay_table(jobs: Sequence[str], values: Sequence[Sequence[float | None]]) -> list[tuple[str, list[Cell]]]:
    """A line per victim with a cell per culprit."""
    most = max((value for own in values for value in own if value), default=1.0)

    def cell(victim: str, culprit: str, value: float | None) -> Cell:
        if value is None:
            return {"kind": "none", "text": NOTHING, "note": f"{victim} sent no packet"}
        note = f"each packet of {victim} lost {_ns(value)} ns to {culprit}"
        return coloured("magma_r", 0.9 * value / most) | {"text": _ns(value), "note": note}

    return [(victim, list(map(partial(cell, victim), jobs, own))) for victim, own in zip(jobs, values, strict=True)]


def decomposition(result: Mapping[str, Any]) -> dict[str, dict[str, float]] | None:
    """The parts of each job's mean packet latency, in ns per packet; None if the core did not keep the account."""
    blame = result.get("blame")
    if not blame:
        return None
    parts = {}
    for i, name in enumerate(blame["jobs"]):
        mean = result["jobs"][name]["packet_latency_mean_ns"]
        wait, stall = blame["wait_ns_per_packet"][i], blame["stall_ns_per_packet"][i]
        if mean is None or None in wait or None in stall:
            continue
        one = {
            "own waiting": wait[i],
            "others' waiting": sum(wait) - wait[i],
            "own stalls": stall[i],
            "others' stalls": sum(stall) - stall[i],
        }
        parts[name] = {**one, "rest": mean - sum(one.values())}
    return parts


def series(run: Run) -> dict[str, Any] | None:
    """Throughput (GB/ms) and mean packet latency (ns) of every job in intervals that end at `time_ms`.

    None without a series.
    """
    table = read_columns(run.result, run.directory, "job_series")
    if table is None:
        return None
    out = {}
    for job in run.jobs:
        own = table["job"] == job
        end, packets, received = (table[key][own].astype(float) for key in ("time_ns", "packets", "bytes_received"))
        latency = np.nan_to_num(table["latency_mean_ns"][own].astype(float)) * packets
        # Equal numbers of neighbours are merged. The last group may be smaller.
        starts = np.arange(0, end.size, max(1, -(-end.size // _SERIES_POINTS)))
        if not starts.size:
            continue
        # The last interval may be too short for a meaningful rate, so it is merged with the previous one.
        if starts.size > 1 and end[-1] - end[starts[-1] - 1] < 0.5 * end[max(0, starts[1] - 1)]:
            starts = starts[:-1]
        ends = end[np.append(starts[1:], end.size) - 1]
        packets, received, latency = (np.add.reduceat(column, starts) for column in (packets, received, latency))
        with np.errstate(invalid="ignore", divide="ignore"):
            out[job] = {
                "time_ms": _short(ends / 1e6),
                "throughput": _short(received / np.diff(ends, prepend=0) / 1e3),
                "latency_ns": _short(latency / packets),
            }
    return out


def _short(values: NDArray[np.float64]) -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values]


def view(run: Run, merge: int = 1) -> dict[str, Any] | None:
    """The links of a run over time: the picture of its network, the times of the frames, and packed quantities.

    A packed quantity is [frame, entry]. `merge` frames become one. None without a table of the links.
    """
    loads = run_loads(run.result, run.directory)
    if loads is None:
        return None
    starts = np.arange(0, len(loads.end_ns), merge)
    durations = (loads.end_ns - loads.begin_ns)[:, None]
    lengths, layout = np.add.reduceat(durations, starts), loads.layout
    between = iter(layout.bend)
    return {
        "network": {
            "unit": loads.unit,
            "space": round(space(layout.at), 3),
            "at": layout.at.round(3).tolist(),
            "outward": layout.outward.round(3).tolist(),
            "areas": [[round(float(x), 3) for x in area] for area in layout.areas],
            "ends": loads.ends.tolist(),
            "links": loads.keys["links"].tolist(),
            "bend": [round(float(next(between)), 4) if b >= 0 and a != b else 0 for a, b in loads.ends],
            "failed": loads.failed.tolist(),
        },
        "begin_us": _short(loads.begin_ns[starts] / 1e3),
        "end_us": _short(loads.end_ns[np.append(starts[1:], len(loads.end_ns)) - 1] / 1e3),
        "values": {
            name: _pack(np.add.reduceat(values * durations, starts) / lengths) for name, values in loads.values.items()
        },
        "flows": {} if run.jobs else {k: text for k in range(len(loads.ends)) if (text := loads.fillers(k))},
    }


def _view_bytes(run: Run) -> float:
    path = run.directory / run.result["files"].get("links", "-")
    facts = pq.read_metadata(path) if path.is_file() else None
    parts = len(QUANTITIES) + len(run.jobs) + len(run.result.get("classes", ()))
    return 2.0 * facts.num_rows * parts if facts else 0.0


def _pack(values: NDArray[np.float64]) -> dict[str, Any]:
    """Numbers >= 0 as 16-bit parts of their maximum, deflated, in base64."""
    most = float(values.max(initial=0))
    steps = np.rint(values / most * _STEPS) if most else np.zeros(values.shape)
    # All low bytes precede all high bytes, because this order compresses better.
    planes = steps.astype("<u2").reshape(-1).view(np.uint8).reshape(-1, 2).T
    return {"most": most, "data": base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode()}
