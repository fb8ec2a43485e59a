"""The runs on the page, labels for their differences, and the rows of the first table."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...configs import workload_label
from ..plotting.swept import configuration, is_of_jobs, named
from ..plotting.words import value_label
from ..results.files import read_columns
from ..results.rows import flat
from ..terminal.times import time_text

NOTHING = "–"  # noqa: RUF001
_SIDES = ("target", "background")  # the jobs of a pair
# Results in the comparison of runs, in addition to the communication times of jobs.
_COMPARED = (
    *("accepted_load", "hops_mean", "nonminimal_fraction", "packets_delivered", "generations_missed"),
    *(f"packet_latency_{which}_ns" for which in ("mean", "p50", "p99", "max")),
    *("cpu_seconds", "state_hash"),
)


@dataclass(frozen=True)
class Run:
    """A run on the page.

    Args:
        result: The content of `result.json`.
        directory: The folder of the run.
        row: Its flat row, from `named`.
    """

    result: Mapping[str, Any]
    directory: Path
    row: Mapping[str, Any]

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
        workload, traffic = self.result["config"]["workload"], self.result["config"]["traffic"]
        if not is_of_jobs(self.row):
            return f"{traffic['name']}, load {traffic['load']:g}"
        if self.is_pair:
            other = "alone" if workload["background"] == "none" else f"with {workload['background']}"
            return f"{workload['target']} {other}"
        label: str = workload_label(workload)
        return label.replace("-", " ")

    @cached_property
    def together(self) -> float | None:
        """Fraction of the target's bytes received between the first and the last interval with bytes of the background.

        None without a background or without a series.
        """
        table = read_columns(self.result, self.directory, "job_series")
        if table is None or not self.is_pair or self.row["workload.background"] == "none":
            return None
        time, received = table["time_ns"], table["bytes_received"]
        target = table["job"] == self.row["workload.target"]
        # All other jobs belong to the background. Their names may be numbered.
        at = time[~target & (received > 0)]
        total = received[target].sum()
        if not total:
            return None
        inside = target & (time >= at.min()) & (time <= at.max()) if at.size else np.zeros_like(target)
        return float(received[inside].sum() / total)

    @cached_property
    def parts(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The keys that affect the result, by the job of a pair to which they belong and by their component."""
        parts: dict[tuple[Any, ...], dict[str, Any]] = {("", "router"): {"router": self.row["router"]}}
        for key, value in configuration(self.row).items():
            section, component = key.partition(".")[0], self.row.get(key.partition(".")[0])
            side = next((side for side in _SIDES if self.is_pair and key.startswith(f"workload.{side}")), "")
            if side:
                component = self.row[f"workload.{side}"]
            elif section in ("traffic", "workload"):
                component = "pair" if self.is_pair else self.what
            parts.setdefault((side, is_of_jobs(self.row), section, component), {})[key] = value
        return parts

    def setting(self, *sides: str) -> frozenset[tuple[str, Any]]:
        """All keys that affect the result, without the seed and the jobs of a pair.

        Args:
            sides: The jobs of a pair whose keys are kept, `target` or `background`.
        """
        return frozenset(
            item for group, part in self.parts.items() if group[0] in ("", *sides) for item in part.items()
        )


def runs_of(results: Sequence[tuple[Mapping[str, Any], Path]]) -> list[Run]:
    """The runs of some results and their folders."""
    rows = named(flat(result) for result, _ in results)
    return [Run(result, directory, row) for (result, directory), row in zip(results, rows, strict=True)]


class Settings:
    """Labels for the configurations of a study: the network, and the keys that differ among its runs.

    Keys are compared among runs of the same component: keys of a routing among runs with this routing, parameters of a
    target among runs with this target.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        parts: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for run in runs:
            for group, part in run.parts.items():
                parts.setdefault(group, []).append(part)
        self._differing = {
            group: sorted(key for key in set().union(*some) if len({part.get(key) for part in some}) > 1)
            for group, some in parts.items()
        }
        self._networks = {run.row["topology"] for run in runs}

    def text(self, run: Run) -> str:
        """The network, and the keys that differ without those of a pair's jobs."""
        return ", ".join([run.row["topology"], *self._words(run, "")])

    def full_text(self, run: Run) -> str:
        """The keys that differ, including those of a pair's jobs, and the network if the runs have several."""
        network = [run.row["topology"]] if len(self._networks) > 1 else []
        return ", ".join([*network, *self._words(run, "", *_SIDES)])

    def job(self, run: Run, side: str) -> str:
        """A job of a pair, and its parameters that differ."""
        prefix = f"workload.{side}_params."
        return " ".join([run.row[f"workload.{side}"], *(word.removeprefix(prefix) for word in self._words(run, side))])

    def _words(self, run: Run, *sides: str) -> list[str]:
        words = []
        for group, part in run.parts.items():
            for key in self._differing[group] if group[0] in sides else ():
                value = part.get(key, "default")
                words.append(f"{key}={value if isinstance(value, str) else json.dumps(value)}")
        return words


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
    runs: Sequence[Run], settings: Settings, several: bool, slowdowns: Mapping[int, tuple[float, str]]
) -> tuple[list[Column], list[dict[str, Any]]]:
    """The columns in which any row has a value, and the rows with their cells: a row per run or per job.

    Args:
        runs: The simulations, in the order of the page.
        settings: Labels of the configurations.
        several: Whether runs differ in more than their workload or pattern, the routing and the seed.
        slowdowns: The slowdown of the target and a note on it, by the index of the run.
    """
    lines: list[tuple[int, dict[str, Any]]] = []
    for i, run in enumerate(runs):
        state = "finished" if run.finished else "not finished"
        what = " · ".join(filter(None, [run.what, settings.full_text(run) if several else ""]))
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
                own["slowdown"], own["note"] = slowdowns[i]
            lines.append((i, own))
    columns = [
        column for column in _COLUMNS if any(values.get(column.key) not in (None, "finished") for _, values in lines)
    ]
    rows = [
        {
            "index": i,
            "folder": runs[i].directory.name,
            "state": values["state"],
            "words": f"{values['what'].split(' ')[0]} {values['routing']}".lower(),
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


def compared(runs: Sequence[Run], labels: Sequence[str]) -> list[dict[str, Any]]:
    """For each run the label, the keys of the configuration that differ among all runs, and the results."""
    configs = [{**configuration(run.row), "seed": run.row["seed"]} for run in runs]
    keys = dict.fromkeys(key for config in configs for key in config)
    differing = [key for key in keys if len({config.get(key) for config in configs}) > 1]
    return [
        {
            "label": label,
            "keys": {key: config[key] for key in differing if key in config},
            "results": {key: run.row[key] for key in run.row if _is_compared(key) and run.row[key] is not None},
        }
        for run, config, label in zip(runs, configs, labels, strict=True)
    ]


def _is_compared(key: str) -> bool:
    return key in _COMPARED or (key.startswith("jobs.") and key.endswith(("comm_time_mean_ns", "finish_ns")))
