"""Traffic between terminals: demand matrices for engines, rates of a traffic pattern, and lists of flows."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import ConfigError
from ._files import read_arrays, read_unpacked
from ._lft.text import whole_number
from ._mapping import Graph, read_matrix_market, rows_of, scipy_sparse
from ._program import Program

Flows = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]
"""Sources, destinations, weights."""

_HEADER = ["source", "destination", "weight"]


def read_flows(path: str | os.PathLike[str], graph: _core.ChannelGraph) -> Flows:
    """Read a list of flows: lines `source,destination[,weight]` below this header, terminals by name or number.

    Returns:
        Sources, destinations and weights, [flows] each. A missing weight is 1.

    Raises:
        ConfigError: The file is not such a list. The message names the line and the problem.
        OSError: The file cannot be read.
    """
    names = {name: t for t, name in enumerate(graph.terminal_names)}
    rows: list[tuple[int, int, float]] = []
    lines = csv.reader(read_unpacked(path).decode("utf-8-sig", "replace").splitlines())
    header = next(lines, [])
    if header not in (_HEADER, _HEADER[:2]):
        raise ConfigError(f"{path}, line 1: '{','.join(header)}' is not the header source,destination[,weight]")
    for number, words in enumerate(([word.strip() for word in line] for line in lines), 2):
        if not words:
            continue
        if len(words) != len(header):
            raise ConfigError(f"{path}, line {number}: {len(words)} columns; the header has {len(header)}")
        source, destination = (names.get(word, whole_number(word)) for word in words[:2])
        for word, end in zip(words, (source, destination), strict=False):
            if not 0 <= end < graph.terminals:
                raise ConfigError(
                    f"{path}, line {number}: there is no terminal '{word}'; terminals are numbered "
                    f"0 to {graph.terminals - 1}, and the first is named '{graph.terminal_names[0]}'"
                )
        try:
            rate = float(words[2]) if len(words) == 3 else 1.0
        except ValueError:
            rate = math.nan
        if not 0 <= rate < math.inf:
            raise ConfigError(f"{path}, line {number}: weight '{words[2]}'; valid are finite numbers from 0")
        rows.append((source, destination, rate))
    if not rows:
        raise ConfigError(f"{path}: the file lists no flow")
    sources, destinations, weights = zip(*rows, strict=True)
    return np.array(sources, np.uint32), np.array(destinations, np.uint32), np.array(weights, np.float64)


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
