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
from ._files import read_plain, read_unpacked
from ._lft.text import whole_number
from ._mapping import read_matrix_market
from ._npz import read_arrays
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
    for number, words in enumerate(_lines(Path(path)), 1):
        if number == 1:
            if words not in (_HEADER, _HEADER[:2]):
                raise ConfigError(f"{path}, line 1: '{','.join(words)}' is not the header source,destination[,weight]")
            width = len(words)
        elif words:
            if len(words) != width:
                raise ConfigError(f"{path}, line {number}: {len(words)} columns; the header has {width}")
            ends = [names.get(word, whole_number(word)) for word in words[:2]]
            for word, end in zip(words, ends, strict=False):
                if not 0 <= end < graph.terminals:
                    raise ConfigError(
                        f"{path}, line {number}: there is no terminal '{word}'; terminals are numbered "
                        f"0 to {graph.terminals - 1}, and the first is named '{graph.terminal_names[0]}'"
                    )
            try:
                rate = float(words[2]) if width == 3 else 1.0
            except ValueError:
                raise ConfigError(f"{path}, line {number}: weight '{words[2]}' is not a number") from None
            if not 0 <= rate < math.inf:
                raise ConfigError(f"{path}, line {number}: weight {rate}; valid are finite numbers from 0")
            rows.append((*ends, rate))  # type: ignore[arg-type]
    if not rows:
        raise ConfigError(f"{path}: the file lists no flow")
    source, destination, weight = zip(*rows, strict=True)
    return np.array(source, np.uint32), np.array(destination, np.uint32), np.array(weight, np.float64)


def read_demand(given: Any, graph: _core.ChannelGraph, key: str = "demand") -> _core.Demand:
    """Read the matrix, [terminals, terminals] from row to column, that an engine balances for or that traffic follows.

    Args:
        given: A file, a motif or an object. Files are lists of flows (`.csv`), arrays or SciPy sparse matrices (`.npz`,
            `.npy`), Matrix Market (`.mtx`, needs SciPy) and GOAL schedules (`.goal`). `motif:NAME` or
            `motif:NAME:RANKS` is a motif with its default parameters and this number of ranks (default: as many as the
            network has terminals for). Objects are a `Program`, a SciPy sparse matrix, or anything that NumPy converts
            to an array. Rank k of a program runs on terminal k, and its entries are the bytes that ranks send.
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
    if isinstance(given, str) and given.startswith("motif:"):
        flows = _of_ranks(given, _motif(key, given, graph), graph)
    elif isinstance(given, str | os.PathLike):
        flows = _from_file(key, Path(given), graph)
    elif hasattr(given, "communication"):
        flows = _of_ranks(key, given, graph)
    elif hasattr(given, "tocoo"):
        entries = given.tocoo()
        flows = _entries(key, graph, entries.shape, entries.row, entries.col, entries.data)
    else:
        flows = _entries(key, graph, *_of_matrix(key, np.asarray(given)))
    name = str(given) if isinstance(given, str | os.PathLike) else ""
    try:
        return _core.Demand(graph.terminals, *flows, name)
    except ConfigError as error:
        raise ConfigError(f"{name or key}: {str(error).removeprefix('demand: ')}") from error


def _from_file(key: str, path: Path, graph: _core.ChannelGraph) -> Flows:
    ending = path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
    if ending == ".csv":
        return read_flows(path, graph)
    if ending in (".npz", ".npy"):
        return _entries(path, graph, *_from_numpy(path))
    if ending == ".mtx":
        return _entries(path, graph, *_from_matrix_market(path))
    if ending == ".goal":
        return _of_ranks(path, Program.goal(read_plain(path), str(path)), graph)
    raise ConfigError(f"{key}: '{path}' is neither a .csv, .npz, .npy, .mtx or .goal file nor motif:NAME")


def _motif(key: str, given: str, graph: _core.ChannelGraph) -> Program:
    name, _, ranks = given.removeprefix("motif:").partition(":")
    if ranks and whole_number(ranks) < 1:
        raise ConfigError(f"{key}: '{given}': '{ranks}' is not a number of ranks")
    return Program.motif(name, {"ranks": whole_number(ranks) if ranks else _core.motif_ranks(name, graph.terminals)})


def _of_ranks(where: Any, program: Program, graph: _core.ChannelGraph) -> Flows:
    first, peer, size = program.communication()
    ranks = len(first) - 1
    if ranks > graph.terminals:
        raise ConfigError(f"{where}: {ranks} ranks for {graph.terminals} terminals")
    square = (graph.terminals, graph.terminals)
    messages: NDArray[np.int64] = np.diff(first).astype(np.int64)
    return _entries(where, graph, square, np.repeat(np.arange(ranks), messages), peer, size)


def _entries(where: Any, graph: _core.ChannelGraph, shape: tuple[int, ...], *entries: NDArray[Any]) -> Flows:
    if shape != (graph.terminals, graph.terminals):
        size = " x ".join(map(str, shape)) or "a number"
        raise ConfigError(f"{where}: a matrix of {size} for {graph.terminals} terminals")
    source, destination, weight = entries
    if weight.dtype.kind not in "biuf":
        raise ConfigError(f"{where}: its entries are {weight.dtype}; valid are real numbers")
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if wrong.size:
        k = wrong[0]
        raise ConfigError(
            f"{where}: row {source[k]}, column {destination[k]} is {weight[k]}; valid are finite numbers from 0"
        )
    kept = weight != 0
    return source[kept].astype(np.uint32), destination[kept].astype(np.uint32), weight[kept].astype(np.float64)


def _from_numpy(path: Path) -> tuple[Any, ...]:
    arrays = read_arrays(path, f"{path}: the file holds no arrays, or is damaged")
    if {"data", "indices", "indptr", "shape", "format"} <= set(arrays):
        # scipy.sparse.save_npz writes these arrays for CSR and CSC matrices.
        kind = arrays["format"].item()
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if kind in ("csr", "csc"):
            lines = np.repeat(np.arange(arrays["indptr"].size - 1), np.diff(arrays["indptr"]))
            ends = (lines, arrays["indices"]) if kind == "csr" else (arrays["indices"], lines)
            return tuple(int(n) for n in arrays["shape"]), *ends, arrays["data"]
        raise ConfigError(f"{path}: a sparse matrix of format {kind}; valid are csr and csc")
    if len(arrays) != 1:
        raise ConfigError(f"{path}: the file holds {', '.join(sorted(arrays)) or 'nothing'}; it must hold one array")
    (matrix,) = arrays.values()
    return _of_matrix(path, matrix)


def _of_matrix(where: Any, matrix: NDArray[Any]) -> tuple[Any, ...]:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ConfigError(f"{where}: an array of {matrix.dtype} and shape {matrix.shape} is not a matrix of numbers")
    source, destination = np.nonzero(matrix)
    return matrix.shape, source, destination, matrix[source, destination]


def _from_matrix_market(path: Path) -> tuple[Any, ...]:
    entries = read_matrix_market(path).tocoo()
    if entries.data.dtype.kind not in "biuf":
        raise ConfigError(f"{path}: its entries are not real numbers")
    return entries.shape, entries.row, entries.col, entries.data


def _lines(path: Path) -> list[list[str]]:
    try:
        text = read_unpacked(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the file is not text, or is damaged: {error}") from error
    return [[word.strip() for word in row] for row in csv.reader(text.splitlines())]
