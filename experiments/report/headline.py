"""The first table of the report, with a row per run or per job, and the numbers for the comparison of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..plotting.swept import NEUTRAL_RUN, NEUTRAL_WORKLOAD
from ..results.rows import flat
from ..terminal.times import time_text
from .data import Run, has_jobs, is_apart, is_finished, slowdowns, together
from .settings import Settings, what_ran

_APART = "†"
_NOTHING = "–"  # noqa: RUF001


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Args:
        key: The key of a result, or of a job in it.
        name: The heading, with the unit.
        digits: Digits after the decimal point; None: the column holds text.
        factor: Divides a value to give it the unit.
    """

    key: str
    name: str
    digits: int | None
    factor: float = 1.0


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

# Results in the comparison of runs, in addition to the communication times of jobs.
_COMPARED = (
    *("accepted_load", "hops_mean", "nonminimal_fraction", "packets_delivered", "generations_missed"),
    *(f"packet_latency_{which}_ns" for which in ("mean", "p50", "p99", "max")),
    *("cpu_seconds", "state_hash"),
)
_NOT_COMPARED = {f"run.{key}" for key in NEUTRAL_RUN} | {f"workload.{key}" for key in NEUTRAL_WORKLOAD}


def table(
    runs: Sequence[Run], names: Sequence[str], settings: Settings, several: bool
) -> tuple[list[Column], list[dict[str, Any]]]:
    """The columns in which any row has a value, and the rows with their cells.

    Args:
        runs: The simulations, in the order of the page.
        names: The name of each run's routing.
        settings: Labels of the configurations.
        several: Whether runs differ in more than their workload or pattern, the routing and the seed.
    """
    ratio = slowdowns(runs)
    lines: list[tuple[int, Path, dict[str, Any]]] = []
    for i, (result, directory) in enumerate(runs):
        config = result["config"]
        common: dict[str, Any] = {
            "what": " · ".join(filter(None, [what_ran(config), settings.full_text(config) if several else ""])),
            "routing": names[i],
            "seed": config["seed"],
            "state": "finished" if is_finished(result) else "not finished",
        }
        if not has_jobs(result):
            lines.append((i, directory, {**result, **common}))
        for name, job in result["jobs"].items():
            state = "finished" if job["finish_ns"] is not None else "not finished"
            if job["finish_ns"] is not None and not is_finished(result):
                state = "finished (its run did not)"
            own: dict[str, Any] = {"job": name, **job, "state": state}
            if job["finish_ns"] is None:
                own["comm_time_mean_ns"] = None  # it would cover only some ranks
            if name == config["workload"].get("target") and i in ratio:
                own |= {"slowdown": ratio[i], "together": together(result, directory)}
            lines.append((i, directory, {**common, **own}))
    columns = [
        column
        for column in _COLUMNS
        if any(values.get(column.key) is not None for _, _, values in lines)
        and (column.key != "state" or any(values["state"] != "finished" for _, _, values in lines))
    ]
    rows = [
        {
            "index": i,
            "folder": directory.name,
            "state": values["state"],
            "words": f"{values['what'].split(' ')[0]} {values['routing']}".lower(),
            "cells": [_cell(column, values) for column in columns],
        }
        for i, directory, values in lines
    ]
    return columns, rows


def _cell(column: Column, values: Mapping[str, Any]) -> dict[str, Any]:
    key, value, note = column.key, values.get(column.key), ""
    if column.digits is None:
        text = _NOTHING if value is None else str(value)
        warn = "warn" if key == "state" and value != "finished" else ""
        return {"key": key, "value": "" if value is None else value, "text": text, "style": warn, "note": ""}
    if value is None:
        text = _NOTHING
    elif key in _TIMES:
        text = time_text(value, values.get(_TIMES[key]), column.digits)
    else:
        text = f"{value / column.factor:,.{column.digits}f}"
    if key == "slowdown" and value is not None and is_apart(values["together"]):
        text, note = text + _APART, apart_note(values["together"])
    return {"key": key, "value": "" if value is None else value, "text": text, "style": "number", "note": note}


def apart_note(share: float) -> str:
    """The reason why a slowdown is not meaningful."""
    return f"the target received only {share:.0%} of its bytes while the background sent"


def compared(runs: Sequence[Run], labels: Sequence[str]) -> list[dict[str, Any]]:
    """For each run the label, the keys of the configuration that differ among all runs, and the results."""
    rows = [flat(result) for result, _ in runs]
    keys = [
        key
        for key in dict.fromkeys(key for result, _ in runs for key in flat({"config": result["config"]}))
        if key not in _NOT_COMPARED and len({str(row.get(key)) for row in rows}) > 1
    ]
    return [
        {
            "label": label,
            "keys": {key: row[key] for key in keys if row.get(key) is not None},
            "results": {key: row[key] for key in row if _is_compared(key) and row[key] is not None},
        }
        for row, label in zip(rows, labels, strict=True)
    ]


def _is_compared(key: str) -> bool:
    return key in _COMPARED or (key.startswith("jobs.") and key.endswith(("comm_time_mean_ns", "finish_ns")))
