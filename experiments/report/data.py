"""The content of the page as plain data, from results and their tables."""

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..plotting.drawing import STYLES
from ..plotting.players import player
from ..plotting.swept import named
from ..plotting.words import value_label
from ..results.rows import flat
from .settings import Settings, alone_key, setting_key

Run = tuple[Mapping[str, Any], Path]

_SERIES_POINTS = 400  # most points per job; longer series are merged
_STEPS = 65535  # of a 16-bit number in a film
_MAP_BYTES = 40e6  # of all films before compression; frames of larger films are merged

# Fraction of its bytes that a target must receive while the background sends, for a meaningful slowdown.
_LEAST_TOGETHER = 0.5


def picture(path: Path, name: str) -> dict[str, str]:
    """A PNG or SVG file for the page. An SVG in an image element has its own ids, separate from other figures."""
    kind = "svg+xml" if path.suffix == ".svg" else "png"
    return {"name": name, "uri": f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"}


def has_jobs(result: Mapping[str, Any]) -> bool:
    """Whether a run is of jobs and not of a traffic pattern."""
    return bool(result.get("jobs"))


def is_finished(result: Mapping[str, Any]) -> bool:
    """Whether all jobs of a run are done. The result of a traffic pattern is always finished."""
    return bool(result.get("workload_finished", True))


def routing_names(runs: Sequence[Run]) -> list[str]:
    """The name of each run's routing in the figure of the sweep."""
    return [value_label("routing", row["routing"]) for row in named(flat(result) for result, _ in runs)]


def routing_order(names: Sequence[str]) -> list[str]:
    """Distinct routings. Routings in `STYLES` come first, in the order there."""
    return [name for name in STYLES if name in names] + sorted(set(names) - set(STYLES))


# --- Slowdown ------------------------------------------------------------------------------------------------------


def slowdowns(runs: Sequence[Run]) -> dict[int, float]:
    """Communication time of a pair's target over that of the target alone, by the index of the run.

    Both runs must be finished and differ only in the background. Keys for the end of a run and its files are ignored.
    """
    alone: dict[str, float] = {}
    for result, _ in runs:
        if _is_pair(result) and is_finished(result) and result["config"]["workload"]["background"] == "none":
            alone[alone_key(result["config"])] = _target_time(result)
    found = {}
    for i, (result, _) in enumerate(runs):
        if _is_pair(result) and is_finished(result):
            base = alone.get(alone_key(result["config"]))
            if base:
                found[i] = _target_time(result) / base
    return found


def together(result: Mapping[str, Any], directory: Path) -> float | None:
    """Fraction of the target's bytes received between the first and the last interval with bytes of the background.

    None without a background or without a series.
    """
    path = _series_file(result, directory)
    workload = result["config"]["workload"]
    if path is None or workload["background"] == "none":
        return None
    columns = _columns(path)
    job, time, received = (columns[key].to_numpy(zero_copy_only=False) for key in ("job", "time_ns", "bytes_received"))
    target = job == workload["target"]
    # All other jobs belong to the background. Their names may be numbered.
    at = time[~target & (received > 0)]
    total = received[target].sum()
    if not total:
        return None
    if not at.size:
        return 0.0
    return float(received[target & (time >= at.min()) & (time <= at.max())].sum() / total)


def is_apart(share: float | None) -> bool:
    """Whether a target received most of its bytes while the background did not run, from the result of `together`."""
    return share is not None and share < _LEAST_TOGETHER


def matrices(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Slowdown of every target (row) with every background (column), one matrix per setting and routing.

    A cell is None without a run that can be compared. Otherwise it has:

    * `mean`, `least`, `most`: over seeds; `mean` is None if no run is finished.
    * `runs`: the number of seeds.
    * `alike`: further seeds whose final state equals one of these. They are not counted.
    * `together`: the mean of the values of `together`.
    * `open`: the number of unfinished seeds.
    """
    settings = Settings([result["config"] for result, _ in runs])
    ratio = slowdowns(runs)
    cells: dict[tuple[str, str, str], dict[tuple[str, str], list[_Sample]]] = {}
    for i, (result, directory) in enumerate(runs):
        config = result["config"]
        if not _is_pair(result) or config["workload"]["background"] == "none":
            continue
        value = ratio.get(i) if is_finished(result) else None
        if value is None and is_finished(result):
            continue
        key = settings.text(config), player(config["routing"]), setting_key(config)
        pair = settings.target(config), settings.background(config)
        sample = _Sample(config["seed"], result.get("state_hash"), value, together(result, directory))
        cells.setdefault(key, {}).setdefault(pair, []).append(sample)
    out = []
    order = routing_order([routing for _, routing, _ in cells])
    for key in sorted(cells, key=lambda key: (key[0], order.index(key[1]), key[2])):
        found = cells[key]
        targets, backgrounds = (list(dict.fromkeys(pair[side] for pair in found)) for side in (0, 1))
        out.append(
            {
                "setting": key[0],
                "routing": key[1],
                "targets": targets,
                "backgrounds": backgrounds,
                "cells": [[_cell(found.get((t, b))) for b in backgrounds] for t in targets],
            }
        )
    return out


@dataclass
class _Sample:
    """The numbers of one run for a cell."""

    seed: int
    state: Any  # hash of the final state
    slowdown: float | None  # None: the run is not finished
    together: float | None


def _cell(samples: list[_Sample] | None) -> dict[str, Any] | None:
    if samples is None:
        return None
    finished = [sample for sample in samples if sample.slowdown is not None]
    # One run per seed, because runs of one seed in a cell differ only in keys that do not affect results.
    seeds = {sample.seed: sample for sample in reversed(finished)}
    left_open = len({sample.seed for sample in samples} - set(seeds))
    if not seeds:
        return {"mean": None, "open": left_open}
    distinct = {
        sample.state if sample.state is not None else ("seed", sample.seed): sample for sample in seeds.values()
    }
    known = [sample.slowdown for sample in distinct.values() if sample.slowdown is not None]
    shares = [sample.together for sample in distinct.values() if sample.together is not None]
    return {
        "mean": sum(known) / len(known),
        "least": min(known),
        "most": max(known),
        "runs": len(known),
        "alike": len(seeds) - len(known),
        "open": left_open,
        "together": sum(shares) / len(shares) if shares else None,
    }


def _is_pair(result: Mapping[str, Any]) -> bool:
    return has_jobs(result) and result["config"]["workload"]["name"] == "pair"


def _target_time(result: Mapping[str, Any]) -> float:
    return float(result["jobs"][result["config"]["workload"]["target"]]["comm_time_mean_ns"])


# --- Latency -------------------------------------------------------------------------------------------------------


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


# --- Over time -----------------------------------------------------------------------------------------------------


def series(result: Mapping[str, Any], directory: Path) -> dict[str, Any] | None:
    """Throughput (GB/ms) and mean packet latency (ns) of every job in intervals that end at `time_ms`.

    None without a series.
    """
    path = _series_file(result, directory)
    if path is None:
        return None
    table = {name: column.to_numpy(zero_copy_only=False) for name, column in _columns(path).items()}
    out = {}
    for job in result["jobs"]:
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


def _series_file(result: Mapping[str, Any], directory: Path) -> Path | None:
    name = result.get("files", {}).get("job_series")
    return directory / name if name and (directory / name).is_file() else None


def _short(values: NDArray[np.float64]) -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values]


def _columns(path: Path) -> dict[str, Any]:
    table = pq.read_table(path)
    return {name: table[name] for name in table.column_names}


# --- Film ----------------------------------------------------------------------------------------------------------


def films(runs: Sequence[Run]) -> list[dict[str, Any] | None]:
    """The load of the links over time for every run, in as many frames as fit into the page; None without a table."""
    paths = [_links_file(run) for run in runs]
    whole = sum(_film_bytes(path) for path in paths if path)
    merge = 1
    while whole / merge > _MAP_BYTES:
        merge *= 2
    return [film(result, path, merge) if path else None for (result, _), path in zip(runs, paths, strict=True)]


def film(result: Mapping[str, Any], path: Path, merge: int = 1) -> dict[str, Any] | None:
    """One run's film: bundles of links, times of the frames, and arrays [frame, bundle] of 16-bit numbers.

    Args:
        result: Names the jobs and the bytes of a flit.
        path: The file `links.parquet`.
        merge: Number of frames that are merged into one.
    """
    table = {name: column.to_numpy() for name, column in _columns(path).items()}
    rows = table["group"].size
    if not rows:
        return None
    bundles = int(np.argmax(table["begin_ns"] > table["begin_ns"][0])) or rows
    begins, ends = (table[key].reshape(-1, bundles)[:, 0] for key in ("begin_ns", "end_ns"))
    starts = np.arange(0, begins.size, merge)
    lengths = ends - begins
    merged = np.add.reduceat(lengths, starts)

    def frames(name: str, weighted: bool) -> NDArray[np.float64]:
        values = table[name].reshape(-1, bundles).astype(float)
        if weighted:
            return np.asarray(np.add.reduceat(values * lengths[:, None], starts) / merged[:, None])
        return np.asarray(np.add.reduceat(values, starts))

    flit_bytes = result["config"]["router"]["flit_bytes"]
    jobs = [job for job in result["jobs"] if f"flits.{job}" in table]
    arrays = {"utilisation": _pack(frames("utilisation", True)), "stall": _pack(frames("stall_share", True))}
    # One step is one flit, unless a frame has more flits than there are steps.
    least = _STEPS * flit_bytes
    by_job = {job: _pack(frames(f"flits.{job}", False) * flit_bytes, least) for job in jobs}
    return {
        "groups": result["facts"]["groups"],
        "topology": result["config"]["topology"]["name"],
        "bundles": [
            [int(value) for value in row]
            for row in zip(*(table[key][:bundles] for key in ("group", "peer_group", "kind", "links")), strict=True)
        ],
        "begin_ms": _short(begins[starts] / 1e6),
        "end_ms": _short(ends[np.append(starts[1:], begins.size) - 1] / 1e6),
        "merged": merge,
        **arrays,
        "bytes": by_job or {"all jobs": _pack(frames("flits", False) * flit_bytes, least)},
    }


def _pack(values: NDArray[np.float64], least: float = 0) -> dict[str, Any]:
    """Numbers >= 0 as 16-bit parts of their maximum, or of `least` if that is more, deflated, in base64."""
    most = float(values.max(initial=least))
    steps = np.rint(values / most * _STEPS) if most else np.zeros(values.shape)
    # All low bytes precede all high bytes, because this order compresses better.
    planes = steps.astype("<u2").reshape(-1).view(np.uint8).reshape(-1, 2).T
    return {"most": most, "data": base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode()}


def _links_file(run: Run) -> Path | None:
    result, directory = run
    name = result.get("files", {}).get("links")
    return directory / name if name and (directory / name).is_file() else None


def _film_bytes(path: Path) -> float:
    facts = pq.read_metadata(path)
    arrays = 2 + sum(name.startswith("flits.") for name in facts.schema.names)
    return float(facts.num_rows * arrays * 2)
