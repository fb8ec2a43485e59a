"""Flows from a file: `traffic.file` of `traffic=flows`."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import ConfigError
from ._files import open_plain, read_unpacked
from ._lft.text import whole_number
from ._program import Program, _made

_COLUMNS = ("time_ns", "source", "destination", "bytes")
_MOST_NS, _MOST_BYTES = 1e15, 2**40
_ANY_CLASS = 2**31 - 1, "a class, a whole number from 0"


def read_flow_file(path: str | os.PathLike[str], graph: _core.ChannelGraph, classes: int = 0) -> Program:
    """Read flows from a CSV (also gzipped) or Parquet file, in the order of their times.

    The columns are `time_ns`, `source`, `destination` (terminals by name or number), `bytes` and optionally
    `class`, a whole number. With `classes` traffic classes, it is the index of one of them, the last one by
    default. A trace of packets is such a file, too: each packet is a flow.

    Raises:
        ConfigError: The file holds no such flows. The message names the line (CSV) or the row (Parquet).
        OSError: The file cannot be read.
    """
    parquet = Path(path).suffix == ".parquet"
    columns = _parquet(path) if parquet else _csv(path)
    if missing := [name for name in _COLUMNS if name not in columns]:
        given = ", ".join(columns)
        raise ConfigError(f"{path}: the column {missing[0]} is missing; the columns are {given}")

    def where(k: int) -> str:
        return f"{path}, row {k + 1}" if parquet else f"{path}, line {k + 2}"

    count = len(columns["time_ns"])
    if not count:
        raise ConfigError(f"{path}: the file lists no flow")
    names = {name: t for t, name in enumerate(graph.terminal_names)}

    def numbers(name: str, least: float, most: float, fits: str) -> NDArray[np.float64]:
        own = np.fromiter((_number(value) for value in columns[name]), np.float64, count)
        _refuse(~((own >= least) & (own <= most)), lambda k: f"{where(k)}: {name} '{columns[name][k]}' is not {fits}")
        return own

    def terminals(name: str) -> NDArray[np.int64]:
        own = np.fromiter((names.get(str(x), whole_number(str(x))) for x in columns[name]), np.int64, count)
        known = f"terminals are numbered 0 to {graph.terminals - 1}, and the first is named '{graph.terminal_names[0]}'"
        wrong = (own < 0) | (own >= graph.terminals)
        _refuse(wrong, lambda k: f"{where(k)}: there is no terminal '{columns[name][k]}'; {known}")
        return own

    times = numbers("time_ns", 0, _MOST_NS, f"a time from 0 to {_MOST_NS:g} ns")
    back = np.append(False, np.diff(times) < 0)
    _refuse(
        back, lambda k: f"{where(k)}: the time {times[k]:g} ns is before that of the flow above, {times[k - 1]:g} ns"
    )
    sizes = numbers("bytes", 1, _MOST_BYTES, f"a number of bytes from 1 to {_MOST_BYTES}")
    most, fits = (classes - 1, f"one of the {classes} traffic classes, 0 to {classes - 1}") if classes else _ANY_CLASS
    kinds = numbers("class", 0, most, fits) if "class" in columns else np.full(count, max(0, classes - 1))
    _refuse(sizes % 1 != 0, lambda k: f"{where(k)}: bytes '{columns['bytes'][k]}' is not a whole number")
    _refuse(kinds % 1 != 0, lambda k: f"{where(k)}: class '{columns['class'][k]}' is not a whole number")
    source, destination = terminals("source"), terminals("destination")
    same = source == destination
    _refuse(same, lambda k: f"{where(k)}: terminal '{columns['source'][k]}' sends to itself, without using the network")
    when = np.rint(times * 1000).astype(np.int64)
    arrays = (when, source, destination, sizes.astype(np.int64), kinds.astype(np.int64))
    return _made("_flows", graph.terminals, *arrays)


def _csv(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    lines = list(csv.reader(read_unpacked(path).decode("utf-8-sig", "replace").splitlines()))
    while lines and not lines[-1]:  # editors leave empty lines at the end
        lines.pop()
    if not lines:
        raise ConfigError(f"{path}: the file is empty")
    header = [word.strip() for word in lines[0]]
    for k, line in enumerate(lines[1:], 2):
        if len(line) != len(header):
            raise ConfigError(f"{path}, line {k}: {len(line)} columns; the header has {len(header)}")
    return {name: [line[k].strip() for line in lines[1:]] for k, name in enumerate(header)}


def _parquet(path: str | os.PathLike[str]) -> dict[str, list[Any]]:
    import pyarrow.parquet as pq  # takes long to import

    with open_plain(path) as file:
        try:
            columns: dict[str, list[Any]] = pq.read_table(file).to_pydict()
        except (OSError, ValueError) as error:  # PyArrow's errors of damaged files
            raise ConfigError(f"{path}: not a Parquet file, or damaged: {str(error)[:200]}") from error
    return columns


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _refuse(wrong: NDArray[np.bool_], message: Callable[[int], str]) -> None:
    if wrong.any():
        raise ConfigError(message(int(np.argmax(wrong))))
