"""Timelines as JSON of Chrome traces, for ui.perfetto.dev: packets, and the links and jobs of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..plotting.loads import run_loads
from ..results.files import read_columns
from .packet import Life, reason

Slice = dict[str, Any]

_BUSIEST = 10
_LINKS, _JOBS = 1, 2  # process ids


def of_packets(lives: Sequence[Life], routing: Mapping[str, Any]) -> list[Slice]:
    """A track per packet with the times in buffers and on channels, and an instant per decision."""
    found: list[Slice] = []
    for track, life in enumerate(lives, 1):
        found += _named(track, f"packet {life.name} to terminal {life.destination}")
        events = [event for event in life.events if event.part != "tail"]
        for event, after in pairwise(events):
            found.append(_slice(track, event.words, event.ns, after.ns - event.ns))
        for event in events:
            if event.candidates:
                parts = [(*str(one).partition(": "), one.taken) for one in event.candidates]
                args = {f"{'taken: ' if taken else ''}{name}": state for name, _, state, taken in parts}
                args["reason"] = reason(event.candidates, routing)
                found.append(_slice(track, "decision", event.ns, None, args))
    return found


def of_run(result: Mapping[str, Any], directory: Path) -> list[Slice]:
    """The jobs of a run with their throughput, and the utilisation and the queues of its ten busiest links."""
    found: list[Slice] = []
    if result["jobs"]:
        found += _named(_JOBS, "jobs")
        for thread, (name, job) in enumerate(result["jobs"].items()):
            if job["start_ns"] is None:  # it still waits for nodes
                continue
            end = job["finish_ns"] if job["finish_ns"] is not None else result["simulated_ns"]
            found.append(_slice(_JOBS, name, job["start_ns"], end - job["start_ns"], {"ranks": job["ranks"]}, thread))
    series = read_columns(result, directory, "job_series")
    for name in result["jobs"]:
        if series is None:
            break
        own = series["job"] == name
        ends, received = series["time_ns"][own], series["bytes_received"][own]
        begins = np.concatenate([[0.0], ends[:-1]])
        rates = received / np.maximum(ends - begins, 1e-9)
        found += _counter(_JOBS, f"{name} received", "GB/s", begins, rates)
    if (loads := run_loads(result, directory)) is None:
        return found
    found += _named(_LINKS, f"the {_BUSIEST} busiest links")
    for entry in np.argsort(-loads.at("utilisation", None), kind="stable")[:_BUSIEST]:
        for name, unit, factor in (("utilisation", "%", 100.0), ("queue", "flits", 1.0)):
            values = factor * loads.values[name][:, entry]
            found += _counter(_LINKS, f"{loads.words(int(entry))}: {name}", unit, loads.begin_ns, values)
    return found


def _named(process: int, name: str) -> list[Slice]:
    return [{"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}]


def _slice(
    process: int, name: str, ns: float, length: float | None, args: Mapping[str, Any] | None = None, thread: int = 0
) -> Slice:
    # The format counts in us.
    kind = {"ph": "i", "s": "t"} if length is None else {"ph": "X", "dur": round(length / 1e3, 6)}
    return {**kind, "name": name, "pid": process, "tid": thread, "ts": round(ns / 1e3, 6), "args": dict(args or {})}


def _counter(process: int, name: str, unit: str, begins: Any, values: Any) -> list[Slice]:
    return [
        {"ph": "C", "name": name, "pid": process, "ts": float(begin) / 1e3, "args": {unit: round(float(value), 4)}}
        for begin, value in zip(begins, values, strict=True)
    ]
