"""Who sends how much to whom, from files: a matrix that engines balance for, or flows whose congestion is asked."""

from __future__ import annotations

import csv
import gzip
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import ConfigError
from ._mapping import read_matrix_market

Flows = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]
"""Sources, destinations, weights."""

_HEADER = ["source", "destination", "weight"]


def read_flows(path: str | os.PathLike[str], graph: _core.ChannelGraph) -> Flows:
    """A list of flows, `source,destination[,weight]` per line with this header; terminals by name or by number.

    Raises:
        ConfigError: names the line and what is wrong.
        OSError: it cannot be read.
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
            ends = [names.get(word, _number(word)) for word in words[:2]]
            for word, end in zip(words, ends, strict=False):
                if not 0 <= end < graph.terminals:
                    raise ConfigError(
                        f"{path}, line {number}: there is no terminal '{word}'; they are numbered 0 to "
                        f"{graph.terminals - 1}, the first is called '{graph.terminal_names[0]}'"
                    )
            try:
                rows.append((*ends, float(words[2]) if width == 3 else 1.0))  # type: ignore[arg-type]
            except ValueError:
                raise ConfigError(f"{path}, line {number}: weight '{words[2]}' is no number") from None
    if not rows:
        raise ConfigError(f"{path}: no flow in it")
    source, destination, weight = zip(*rows, strict=True)
    return np.array(source, np.uint32), np.array(destination, np.uint32), np.array(weight, np.float64)


def read_demand(name: str | os.PathLike[str], graph: _core.ChannelGraph) -> _core.Demand:
    """The matrix, [terminals, terminals] from row to column, that an engine is to balance for.

    Args:
        name: A file: a list of flows (`.csv`), an array or a SciPy sparse matrix (`.npz`, `.npy`), or Matrix Market
            (`.mtx`, which needs SciPy); or `motif:NAME`, what the ranks of a motif send in all, rank k on terminal k.
        graph: The network.

    Raises:
        ConfigError: it is none, or of another size; no such motif.
        OSError: it cannot be read.
    """
    if str(name).startswith("motif:"):
        return _core.Demand(graph.terminals, *_of_motif(str(name).removeprefix("motif:"), graph))
    path = Path(name)
    ending = path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
    if ending == ".csv":
        flows = read_flows(path, graph)
    elif ending in (".npz", ".npy"):
        flows = _entries(path, graph, *_from_numpy(path))
    elif ending == ".mtx":
        flows = _entries(path, graph, *_from_matrix_market(path))
    else:
        raise ConfigError(f"demand: '{name}' is no .csv, .npz, .npy or .mtx, nor motif:NAME")
    return _core.Demand(graph.terminals, *flows)


def _entries(path: Path, graph: _core.ChannelGraph, shape: tuple[int, ...], *entries: NDArray[Any]) -> Flows:
    if shape != (graph.terminals, graph.terminals):
        size = " x ".join(map(str, shape)) or "a number"
        raise ConfigError(f"{path}: a matrix of {size} for {graph.terminals} terminals")
    source, destination, weight = entries
    kept = weight != 0
    return source[kept].astype(np.uint32), destination[kept].astype(np.uint32), weight[kept].astype(np.float64)


def _from_numpy(path: Path) -> tuple[Any, ...]:
    try:
        loaded = np.load(path, allow_pickle=False)
        arrays: dict[str, NDArray[Any]] = {"matrix": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{path}: it holds no arrays, or is damaged: {error}") from error
    if {"data", "indices", "indptr", "shape", "format"} <= set(arrays):
        # What scipy.sparse.save_npz writes of a matrix by rows or by columns.
        kind = arrays["format"].item()
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if kind in ("csr", "csc"):
            lines = np.repeat(np.arange(arrays["indptr"].size - 1), np.diff(arrays["indptr"]))
            ends = (lines, arrays["indices"]) if kind == "csr" else (arrays["indices"], lines)
            return tuple(int(n) for n in arrays["shape"]), *ends, arrays["data"]
        raise ConfigError(f"{path}: a sparse matrix of format {kind}; valid are csr and csc")
    if len(arrays) != 1:
        raise ConfigError(f"{path}: it holds {', '.join(sorted(arrays)) or 'nothing'}; one array is wanted")
    (matrix,) = arrays.values()
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ConfigError(f"{path}: an array of {matrix.dtype} and shape {matrix.shape} is no matrix of numbers")
    source, destination = np.nonzero(matrix)
    return matrix.shape, source, destination, matrix[source, destination]


def _from_matrix_market(path: Path) -> tuple[Any, ...]:
    entries = read_matrix_market(path).tocoo()
    if entries.data.dtype.kind not in "biuf":
        raise ConfigError(f"{path}: its entries are no real numbers")
    return entries.shape, entries.row, entries.col, entries.data


def _of_motif(name: str, graph: _core.ChannelGraph) -> Flows:
    ranks = _core.motif_ranks(name, graph.terminals)
    first, peer, size = _core.Program.motif(name, {"ranks": ranks}).communication()
    source = np.repeat(np.arange(ranks), np.diff(first))
    return source.astype(np.uint32), peer.astype(np.uint32), size.astype(np.float64)


def _lines(path: Path) -> list[list[str]]:
    try:
        with path.open("rb") as file:
            content = file.read()
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: it is no text, or damaged: {error}") from error
    return [[word.strip() for word in row] for row in csv.reader(text.splitlines())]


def _number(word: str) -> int:
    return int(word) if word.isdecimal() and word.isascii() else -1
