"""The runs on the page, labels for their differences, and the rows of the first table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ...configs import workload_label
from ..plotting.swept import configuration, is_of_jobs, named, swept, value_of
from ..plotting.words import value_label
from ..results.rows import flat
from ..terminal.times import time_text

NOTHING = "–"  # noqa: RUF001
_SIDES = ("target", "background")  # the jobs of a pair
_OF_SIDES = tuple(f"workload.{side}_params." for side in _SIDES)
# Keys that are in the name of a run, or next to it.
_SHOWN = ("routing", "topology", "traffic", "traffic.load", "workload", *(f"workload.{side}" for side in _SIDES))


@dataclass(frozen=True)
class Run:
    """A run on the page."""

    result: Mapping[str, Any]  # the content of `result.json`
    directory: Path
    row: Mapping[str, Any]  # from `named`

    @cached_property
    def jobs(self) -> Mapping[str, Any]:
        """The jobs by name; empty for a traffic pattern."""
        found: Mapping[str, Any] = self.result["jobs"]
        return found

    @cached_property
    def finished(self) -> bool:
        """Whether all jobs are done. The result of a traffic pattern is always finished."""
        return bool(self.result.get("workload_finished", True))

    @cached_property
    def is_pair(self) -> bool:
        """Whether two jobs, or one of them alone, share the network."""
        return bool(self.row["workload.name"] == "pair")

    @cached_property
    def routing(self) -> str:
        """The name of the routing in the figure of the sweep."""
        return value_label("routing", self.row["routing"])

    @cached_property
    def what(self) -> str:
        """The workload or the traffic pattern in a few words."""
        workload = self.result["config"]["workload"]
        if not is_of_jobs(self.row):
            return f"{self.row['traffic']}, load {self.row['traffic.load']:g}"
        if self.is_pair:
            other = "alone" if workload["background"] == "none" else f"with {workload['background']}"
            return f"{workload['target']} {other}"
        label: str = workload_label(workload)
        return label.replace("-", " ")

    @cached_property
    def apart(self) -> str:
        """The warning that the jobs of a pair hardly overlap in time, or nothing."""
        return str((self.result.get("warnings") or {}).get("overlap", ""))

    def setting(self, *sides: str) -> frozenset[tuple[str, Any]]:
        """All keys that affect the result, without the seed and the jobs of a pair, except those in `sides`."""
        left_out = tuple(f"workload.{side}" for side in _SIDES if self.is_pair and side not in sides)
        return frozenset(item for item in configuration(self.row).items() if not item[0].startswith(left_out))


def runs_of(results: Sequence[tuple[Mapping[str, Any], Path]]) -> list[Run]:
    """The runs of some results and their folders."""
    rows = named(flat(result) for result, _ in results)
    return [Run(result, directory, row) for (result, directory), row in zip(results, rows, strict=True)]


class Settings:
    """Labels for the configurations of a study: the network, and the keys that differ among its runs."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._keys = [key for key in swept([run.row for run in runs]) if key not in _SHOWN]
        self._networks = {run.row["topology"] for run in runs}

    def text(self, run: Run) -> str:
        """The network, and the keys that differ without those of a pair's jobs."""
        keys = (key for key in self._keys if not key.startswith(_OF_SIDES))
        return ", ".join([run.row["topology"], *_words(run, keys)])

    def full_text(self, run: Run) -> str:
        """The keys that differ, including those of a pair's jobs, and the network if the runs have several."""
        network = [run.row["topology"]] if len(self._networks) > 1 else []
        return ", ".join([*network, *_words(run, self._keys)])

    def job(self, run: Run, side: str) -> str:
        """A job of a pair, and its parameters that differ."""
        prefix = f"workload.{side}_params."
        own = _words(run, (key for key in self._keys if key.startswith(prefix)))
        return " ".join([run.row[f"workload.{side}"], *(word.removeprefix(prefix) for word in own)])


def _words(run: Run, keys: Iterable[str]) -> list[str]:
    return [f"{key}={value_of(run.row, key)}" for key in keys if run.row.get(key) is not None]


class Column(NamedTuple):
    """A column of the table: a key of a result or of a job in it, and its heading with the unit."""

    key: str
    name: str
    digits: int | None  # after the decimal point; None: the column holds text
    factor: float = 1.0  # divides a value to give it the unit


_COLUMNS = (
    Column("what", "Run", None),
    Column("routing", "Routing", None),
    Column("seed", "Seed", 0),
    Column("job", "Job", None),
    Column("ranks", "Ranks", 0),
    Column("bytes", "Sent, MB", 1, 1e6),
    Column("comm_time_mean_ns", "Comm. time", 4),
    Column("finish_ns", "Finish", 4),
    Column("slowdown", "Slowdown", 3),
    Column("offered_load", "Offered load", 3),
    Column("accepted_load", "Accepted load", 3),
    Column("packet_latency_mean_ns", "Packet latency mean, ns", 0),
    Column("packet_latency_p99_ns", "p99, ns", 0),
    Column("hops_mean", "Hops", 2),
    Column("state", "State", None),
)
_TIMES = {"comm_time_mean_ns": "comm_time_std_ns", "finish_ns": ""}  # and their deviations


def table(
    runs: Sequence[Run], settings: Settings, slowdowns: Mapping[int, float]
) -> tuple[list[Column], list[dict[str, Any]]]:
    """The columns in which any row has a value, and the rows with their cells: a row per simulation or per job.

    `settings` are the labels of the configurations; `slowdowns` has the slowdown of the target by run.
    """
    lines: list[tuple[int, dict[str, Any]]] = []
    for i, run in enumerate(runs):
        state = "finished" if run.finished else "not finished"
        what = " · ".join(filter(None, [run.what, settings.full_text(run)]))
        common: dict[str, Any] = {"what": what, "routing": run.routing, "seed": run.row["seed"], "state": state}
        if not run.jobs:
            lines.append((i, {**run.result, **common}))
        for name, job in run.jobs.items():
            own = {**common, "job": name, **job}
            if job["finish_ns"] is None:
                own |= {"state": "not finished", "comm_time_mean_ns": None}  # it would cover only some ranks
            else:
                own["state"] = "finished" if run.finished else "finished (its run did not)"
            if run.is_pair and name == run.row["workload.target"] and i in slowdowns:
                own |= {"slowdown": slowdowns[i], "note": run.apart}
            lines.append((i, own))
    columns = [
        column for column in _COLUMNS if any(values.get(column.key) not in (None, "finished") for _, values in lines)
    ]
    rows = [
        {
            "folder": runs[i].directory.name,
            "state": values["state"],
            "cells": [_cell(column, values) for column in columns],
        }
        for i, values in lines
    ]
    return columns, rows


def _cell(column: Column, values: Mapping[str, Any]) -> dict[str, Any]:
    key, value = column.key, values.get(column.key)
    note = values.get("note", "") if key == "slowdown" else ""
    style = "number" if column.digits is not None else "warn" if key == "state" and value != "finished" else ""
    if value is None:
        text = NOTHING
    elif column.digits is None:
        text = str(value)
    elif key in _TIMES:
        text = time_text(value, values.get(_TIMES[key]), column.digits)
    else:
        text = f"{value / column.factor:,.{column.digits}f}" + "†" * bool(note)
    return {"key": key, "value": "" if value is None else value, "text": text, "style": style, "note": note}
