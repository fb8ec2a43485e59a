"""Traffic between terminals: demand matrices for engines, rates of a traffic pattern, and lists of flows."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import ConfigError
from ._files import open_plain, read_arrays, read_unpacked
from ._lft.text import whole_number
from ._mapping import Graph, read_matrix_market, rows_of, scipy_sparse
from ._program import Program, _made

Flows = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]
"""Sources, destinations, weights."""

_HEADER = ["source", "destination", "weight"]
_COLUMNS = ("time_ns", "source", "destination", "bytes")
_MOST_NS, _MOST_BYTES = 1e15, 2**40


def read_flows(path: str | os.PathLike[str], graph: _core.ChannelGraph) -> Flows:
    """Read a list of flows: lines `source,destination[,weight]` below this header, terminals by name or number.

    Returns:
        Sources, destinations and weights, [flows] each. A missing weight is 1.

    Raises:
        ConfigError: The file is not such a list. The message names the line and the problem.
        OSError: The file cannot be read.
    """
    file = _csv(path)
    header = list(file.columns)
    if header not in (_HEADER, _HEADER[:2]):
        raise ConfigError(f"{path}: '{','.join(header)}' is not the header source,destination[,weight]")
    source, destination = (file.terminals(name, graph).astype(np.uint32) for name in _HEADER[:2])
    if len(header) == 2:
        return source, destination, np.ones(len(file.lines))
    return source, destination, file.numbers("weight", 0, sys.float_info.max, "a finite number from 0")


def read_demand(given: Any, graph: _core.ChannelGraph, key: str = "demand") -> _core.Demand:
    """Read the matrix, [terminals, terminals] from row to column, that an engine balances for or that traffic follows.

    Args:
        given: A file, a motif or an object. Files are lists of flows (`.csv`), arrays (`.npz`, `.npy`), SciPy sparse
            matrices (`.npz`; other formats than CSR need SciPy), Matrix Market (`.mtx`, needs SciPy) and GOAL schedules
            (`.goal`). `motif:NAME` or `motif:NAME:RANKS` is a motif with its default parameters and this number of
            ranks (default: as many as the network has terminals for). Objects are a `Program`, a SciPy sparse matrix,
            or anything that NumPy converts to an array. Rank k of a program runs on terminal k, and its entries are the
            bytes that ranks send.
        graph: The network.
        key: Key of the configuration that messages name.

    Raises:
        ConfigError: The input is not a matrix of the network's size, or has more ranks than there are terminals. An
            entry is negative or not finite; the message names row and column. The entries add up to infinity, or no
            terminal sends to another.
        OSError: The file cannot be read.
    """
    if isinstance(given, _core.Demand):
        return given
    name = str(given) if isinstance(given, str | os.PathLike) else ""
    try:
        flows = _read(key, given, graph) if name else _flows(given, graph)
        return _core.Demand(graph.terminals, *flows, name)
    except ConfigError as error:
        text = str(error).removeprefix("demand: ")
        raise error if name and text.startswith(name) else ConfigError(f"{name or key}: {text}") from error


def _read(key: str, given: str | os.PathLike[str], graph: _core.ChannelGraph) -> Flows:
    if str(given).startswith("motif:"):
        name, _, ranks = str(given).removeprefix("motif:").partition(":")
        if ranks and whole_number(ranks) < 1:
            raise ConfigError(f"{key}: '{given}': '{ranks}' is not a number of ranks")
        count = whole_number(ranks) if ranks else _core.motif_ranks(name, graph.terminals)
        return _flows(Program.motif(name, {"ranks": count}), graph)
    path = Path(given)
    match path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix:
        case ".csv":
            return read_flows(path, graph)
        case ".goal":
            return _flows(Program.goal(read_unpacked(path), str(path)), graph)
        case ".mtx":
            return _flows(read_matrix_market(path), graph)
        case ".npz" | ".npy":
            arrays = read_arrays(path, f"{path}: the file holds no arrays, or is damaged")
            if {"data", "indices", "indptr"} <= set(arrays) and arrays["format"].item() in (b"csr", "csr"):
                return _entries((arrays["indptr"], arrays["indices"], arrays["data"]), graph)
            if {"data", "shape", "format"} <= set(arrays):
                return _flows(scipy_sparse(str(path)).load_npz(path), graph)
            if len(arrays) == 1:
                return _flows(arrays.popitem()[1], graph)
            raise ConfigError(f"{path}: the file holds {', '.join(sorted(arrays))}; it must hold one array")
    raise ConfigError(f"{key}: '{path}' is neither a .csv, .npz, .npy, .mtx or .goal file nor motif:NAME")


def _flows(given: Any, graph: _core.ChannelGraph) -> Flows:
    return _entries(rows_of(given), graph, fewer=hasattr(given, "communication"))


def _entries(rows: Graph, graph: _core.ChannelGraph, fewer: bool = False) -> Flows:
    """The entries above 0 of a matrix, which has as many rows as there are terminals, or `fewer`."""
    first, peer, weight = rows
    ranks = len(first) - 1
    if ranks > graph.terminals or (ranks < graph.terminals and not fewer):
        raise ConfigError(f"a matrix of {ranks} x {ranks} for {graph.terminals} terminals")
    source = np.repeat(np.arange(ranks), np.diff(first).astype(np.int64))
    kept = weight != 0
    return source[kept].astype(np.uint32), peer[kept].astype(np.uint32), weight[kept].astype(np.float64)


def read_flow_file(path: str | os.PathLike[str], graph: _core.ChannelGraph, classes: int = 0) -> Program:
    """Read flows from a CSV (also gzipped) or Parquet file, in the order of their times.

    The columns are `time_ns`, `source`, `destination` (terminals by name or number), `bytes` and optionally
    `class`, a whole number. With `classes` traffic classes, it is the index of one of them, the last one by
    default. A trace of packets is such a file, too: each packet is a flow.

    Raises:
        ConfigError: The file holds no such flows. The message names the line (CSV) or the row (Parquet).
        OSError: The file cannot be read.
    """
    file = _parquet(path) if Path(path).suffix == ".parquet" else _csv(path)
    if missing := [name for name in _COLUMNS if name not in file.columns]:
        given = ", ".join(file.columns)
        raise ConfigError(f"{path}: the column {missing[0]} is missing; the columns are {given}")
    times = file.numbers("time_ns", 0, _MOST_NS, f"a time from 0 to {_MOST_NS:g} ns")
    back = np.append(False, np.diff(times) < 0)
    file.refuse(back, lambda k: f"the time {times[k]:g} ns is before that of the flow above, {times[k - 1]:g} ns")
    sizes = file.whole_numbers("bytes", 1, _MOST_BYTES, f"a number of bytes from 1 to {_MOST_BYTES}")
    kinds = np.full(len(times), max(0, classes - 1))
    if "class" in file.columns:
        most = classes - 1 if classes else 2**31 - 1
        fits = f"one of the {classes} traffic classes, 0 to {most}" if classes else "a class, a whole number from 0"
        kinds = file.whole_numbers("class", 0, most, fits)
    source, destination = (file.terminals(name, graph) for name in _HEADER[:2])
    same = source == destination
    file.refuse(same, lambda k: f"terminal '{file.columns['source'][k]}' sends to itself, without using the network")
    when = np.rint(times * 1000).astype(np.int64)
    return _made("_flows", graph.terminals, when, source, destination, sizes, kinds)


@dataclass(frozen=True)
class _Listed:
    """The columns of a file with a row per flow."""

    path: str | os.PathLike[str]
    columns: dict[str, list[Any]]
    unit: str  # of its places in messages
    lines: Sequence[int]  # the place of each row

    def refuse(self, wrong: NDArray[np.bool_], message: Callable[[int], str]) -> None:
        """Raise the message about the first wrong row."""
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ConfigError(f"{self.path}, {self.unit} {self.lines[k]}: {message(k)}")

    def numbers(self, name: str, least: float, most: float, fits: str) -> NDArray[np.float64]:
        """A column of numbers from `least` to `most`."""
        given = self.columns[name]
        own = np.fromiter(map(_number, given), np.float64, len(given))
        self.refuse(~((own >= least) & (own <= most)), lambda k: f"{name} '{given[k]}' is not {fits}")
        return own

    def whole_numbers(self, name: str, least: float, most: float, fits: str) -> NDArray[np.int64]:
        own = self.numbers(name, least, most, fits)
        self.refuse(own % 1 != 0, lambda k: f"{name} '{self.columns[name][k]}' is not a whole number")
        return own.astype(np.int64)

    def terminals(self, name: str, graph: _core.ChannelGraph) -> NDArray[np.int64]:
        """A column of terminals, by name or number."""
        if not self.lines:
            raise ConfigError(f"{self.path}: the file lists no flow")
        names = {name: t for t, name in enumerate(graph.terminal_names)}
        given = list(map(str, self.columns[name]))
        numbers = (names.get(word, min(whole_number(word), graph.terminals)) for word in given)
        own = np.fromiter(numbers, np.int64, len(given))
        known = f"terminals are numbered 0 to {graph.terminals - 1}, and the first is named '{graph.terminal_names[0]}'"
        wrong = (own < 0) | (own >= graph.terminals)
        self.refuse(wrong, lambda k: f"there is no terminal '{given[k]}'; {known}")
        return own


def _csv(path: str | os.PathLike[str]) -> _Listed:
    text = read_unpacked(path).decode("utf-8-sig", "replace")
    rows = enumerate(csv.reader(text.splitlines()), 1)
    lines = {k: [word.strip() for word in row] for k, row in rows if len(row) > 1 or "".join(row).strip()}
    if not lines:
        raise ConfigError(f"{path}: the file is empty")
    header = lines.pop(min(lines))
    if len(set(header)) < len(header):
        raise ConfigError(f"{path}: a column appears twice: {','.join(header)}")
    for k, line in lines.items():
        if len(line) != len(header):
            raise ConfigError(f"{path}, line {k}: {len(line)} columns; the header has {len(header)}")
    columns = {name: [line[k] for line in lines.values()] for k, name in enumerate(header)}
    return _Listed(path, columns, "line", list(lines))


def _parquet(path: str | os.PathLike[str]) -> _Listed:
    import pyarrow.parquet as pq  # takes long to import

    with open_plain(path) as file:
        try:
            table = pq.read_table(file)
        except (OSError, ValueError) as error:  # PyArrow's errors of damaged files
            raise ConfigError(f"{path}: not a Parquet file, or damaged: {str(error)[:200]}") from error
    return _Listed(path, table.to_pydict(), "row", range(1, table.num_rows + 1))


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
